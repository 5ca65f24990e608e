//! Nothing lies in `core` that no daemon runs: every module of it is named by the crates that a daemon's work is made of, or
//! stands in a list with the reason why it is there all the same.
//!
//! Rules that only several nodes need are `mesh`. They came into `core` once, one by one, each with a good reason; this keeps them out.

use super::Finding;
use super::tree::Tree;

const LIB: &str = "crates/core/src/lib.rs";
const CRATE: &str = "relaymesh_core";

/// The driver and its agents: what they do not name, no command and no timer of a daemon can write.
const RUNS: [&str; 2] = ["crates/runtime/src/", "crates/agents/src/"];

/// A module that neither names, and why it is in `core`.
type Exception = (&'static str, &'static str);

const EXCEPTIONS: [Exception; 6] = [
    ("checkpoint", "the body of an op that the store's upkeep writes: it is reached through the store"),
    ("hex", "the text of hashes and keys, under modules that the driver names"),
    ("kind", "data: the patterns that registers carry"),
    ("plan", "ops and rows of plans are kept by every store, and no command writes them yet (decision 0032)"),
    ("register", "data: the bodies of ops about registers; their rules are in mesh"),
    ("row", "the bytes of rows, which the store writes"),
];

pub(super) fn check(tree: &Tree) -> Vec<Finding> {
    check_with(tree, &EXCEPTIONS)
}

fn check_with(tree: &Tree, exceptions: &[Exception]) -> Vec<Finding> {
    let text = tree.text(LIB).unwrap_or_default();
    let modules: Vec<(usize, &str)> =
        text.lines().enumerate().filter_map(|(at, line)| Some((at + 1, module(line)?))).collect();
    let mut findings = Vec::new();
    for (line, name) in &modules {
        let excepted = exceptions.iter().any(|(module, _)| module == name);
        match (is_named(tree, name), excepted) {
            (false, false) => {
                let problem = format!("no daemon reaches `{name}`: neither runtime nor agents name it");
                let remedy =
                    "move it to the crate that runs it, or write down why it is here in xtask/src/tidy/reach.rs";
                findings.push(Finding::new(LIB, *line, problem, remedy));
            }
            (true, true) => {
                let problem = format!("`{name}` is reached, and still an exception");
                findings.push(Finding::new(LIB, *line, problem, "take it off the list in xtask/src/tidy/reach.rs"));
            }
            (true, false) | (false, true) => {}
        }
    }
    for (name, _) in exceptions.iter().filter(|(name, _)| modules.iter().all(|(_, module)| module != name)) {
        let problem = format!("`{name}` is an exception and no module of core");
        findings.push(Finding::new(LIB, 1, problem, "take it off the list in xtask/src/tidy/reach.rs"));
    }
    findings
}

fn module(line: &str) -> Option<&str> {
    line.strip_prefix("pub mod ")?.strip_suffix(';')
}

fn is_named(tree: &Tree, module: &str) -> bool {
    let path = format!("{CRATE}::{module}");
    let names =
        |mention: &str| mention.strip_prefix(&path).is_some_and(|rest| rest.is_empty() || rest.starts_with("::"));
    tree.sources().any(|(file, source)| {
        let counts = RUNS.iter().any(|folder| file.starts_with(folder)) && !source.is_test;
        counts && source.mentions.iter().any(|mention| !mention.in_test && names(&mention.path))
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    const RUNTIME: &str = "crates/runtime/src/driver.rs";

    fn found(modules: &str, runtime: (&str, &str), exceptions: &[Exception]) -> Vec<String> {
        let tree = Tree::of(&[(LIB, modules), runtime]);
        check_with(&tree, exceptions).iter().map(ToString::to_string).collect()
    }

    #[test]
    fn a_module_that_the_driver_names_is_reached() {
        assert_eq!(found("pub mod task;\n", (RUNTIME, "use relaymesh_core::{task::Task, x};"), &[]), [""; 0]);
        assert_eq!(found("pub mod task;\n", (RUNTIME, "fn f() { relaymesh_core::task::now() }"), &[]), [""; 0]);
    }

    #[test]
    fn a_module_that_nobody_names_is_found_where_it_is_declared() {
        let nobody = found("pub mod id;\npub mod feed;\n", (RUNTIME, "use relaymesh_core::id::NodeId;"), &[]);
        assert_eq!(nobody.len(), 1);
        assert!(nobody[0].starts_with("crates/core/src/lib.rs:2: no daemon reaches `feed`"), "{nobody:?}");
    }

    #[test]
    fn neither_tests_nor_other_crates_nor_longer_names_count() {
        let tests = "#[cfg(test)]\nmod tests { use relaymesh_core::feed::Feed; }";
        for runtime in [
            (RUNTIME, tests),
            ("crates/runtime/tests/all.rs", "use relaymesh_core::feed::Feed;"),
            ("crates/mesh/src/lib.rs", "use relaymesh_core::feed::Feed;"),
            (RUNTIME, "use relaymesh_core::feeder::Feed;"),
        ] {
            assert_eq!(found("pub mod feed;\n", runtime, &[]).len(), 1, "{runtime:?}");
        }
    }

    #[test]
    fn an_exception_holds_as_long_as_it_is_needed() {
        let plan = [("plan", "why")];
        assert_eq!(found("pub mod plan;\n", (RUNTIME, ""), &plan), [""; 0]);
        assert!(
            found("pub mod plan;\n", (RUNTIME, "use relaymesh_core::plan::Item;"), &plan)[0].contains("is reached")
        );
        assert!(found("", (RUNTIME, ""), &plan)[0].contains("no module of core"));
    }
}
