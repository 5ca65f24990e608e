//! The conformance table tells the truth: every row of the contract is there once, and a row that claims a proof names
//! tests that exist.
//!
//! A row is `| id | state | proof | note |`. A proof is a test in backticks, `package::module::test_fn` as the test
//! runner shows it, or `package/tests/file.rs::test_fn`. A test is a function with `#[test]`, or a name in a macro
//! call outside functions: a contract suite lists its promises there. If that macro is one of ours, the names in its
//! definition count as well, whichever crate holds it.

use std::collections::{BTreeMap, BTreeSet};

use super::Finding;
use super::source::Source;
use super::tree::Tree;

const TABLE: &str = "docs/conformance.md";
const IDS: [(&str, usize); 7] = [("R", 39), ("F", 19), ("A", 10), ("L", 14), ("V", 11), ("D", 34), ("N", 15)];
const FORMS: &str = "`package::module::test_fn` or `package/tests/file.rs::test_fn`";

pub(super) fn check(tree: &Tree) -> Vec<Finding> {
    let Some(text) = tree.text(TABLE) else {
        return vec![Finding::new(TABLE, 1, "the conformance table is missing", "write it: one row for each id")];
    };
    let mut open: BTreeSet<String> =
        IDS.iter().flat_map(|(kind, count)| (1..=*count).map(move |number| format!("{kind}{number}"))).collect();
    let known = open.clone();
    let proofs = Proofs::of(tree);
    let mut findings = Vec::new();
    for (index, line) in text.lines().enumerate() {
        let cells = cells(line);
        let Some(id) = cells.first().filter(|cell| is_id(cell)) else { continue };
        let mut find = |problem: String, remedy: &str| {
            findings.push(Finding::new(TABLE, index + 1, format!("{id}: {problem}"), remedy));
        };
        if !known.contains(id) {
            find("no such row in the contract".into(), "use the contract's ids");
        } else if !open.remove(id) {
            find("the row is here twice".into(), "keep one");
        }
        let state = cells.get(1).map(String::as_str).unwrap_or_default();
        match state {
            "open" => {}
            "proven" | "partial" => {
                let claims = claims(cells.get(2).map(String::as_str).unwrap_or_default());
                if claims.is_empty() {
                    find(format!("{state}, and no test is named"), &format!("name one as {FORMS}"));
                }
                for claim in claims {
                    if let Err(remedy) = proofs.resolve(&claim) {
                        find(format!("there is no test `{claim}`"), &remedy);
                    }
                }
            }
            _ => find(format!("state \"{state}\" is unknown"), "say proven, partial or open"),
        }
    }
    let missing = |id| Finding::new(TABLE, 1, format!("{id} has no row"), "add it, as open if nothing proves it");
    findings.extend(open.into_iter().map(missing));
    findings
}

fn is_id(cell: &str) -> bool {
    let mut chars = cell.chars();
    chars.next().is_some_and(|c| c.is_ascii_uppercase()) && cell.len() > 1 && chars.all(|c| c.is_ascii_digit())
}

/// The cells of a table row; a `|` in a code span or behind a backslash does not divide.
fn cells(line: &str) -> Vec<String> {
    let Some(row) = line.trim().strip_prefix('|') else { return Vec::new() };
    let mut cells = vec![String::new()];
    let (mut in_code, mut escaped) = (false, false);
    for c in row.chars() {
        in_code ^= c == '`';
        match cells.last_mut() {
            Some(cell) if c != '|' || in_code || escaped => cell.push(c),
            _ => cells.push(String::new()),
        }
        escaped = c == '\\';
    }
    cells.iter().map(|cell| cell.trim().to_string()).collect()
}

/// The code spans of a cell that name something inside something.
fn claims(cell: &str) -> Vec<String> {
    cell.split('`').skip(1).step_by(2).filter(|span| span.contains("::")).map(String::from).collect()
}

/// Where each package lives, and what our own macros say.
struct Proofs<'a> {
    tree: &'a Tree,
    packages: BTreeMap<String, &'a str>,
    definitions: BTreeMap<&'a str, &'a BTreeSet<String>>,
}

impl<'a> Proofs<'a> {
    fn of(tree: &'a Tree) -> Proofs<'a> {
        let packages = tree.packages().into_iter().map(|(name, folder)| (name.replace('-', "_"), folder)).collect();
        let macros = tree.sources().flat_map(|(_, source)| &source.macros);
        let definitions = macros.filter_map(|m| Some((m.defines.as_deref()?, &m.words))).collect();
        Proofs { tree, packages, definitions }
    }

    /// On failure: what to do.
    fn resolve(&self, claim: &str) -> Result<(), String> {
        let (place, test) = claim.rsplit_once("::").unwrap_or(("", claim));
        let (package, rest) = match place.find(['/', ':']) {
            Some(at) => (&place[..at], place[at..].trim_start_matches(['/', ':'])),
            None => (place, ""),
        };
        let Some(folder) = self.packages.get(&package.replace('-', "_")) else {
            return Err(format!("\"{package}\" is no package of ours: name the test as {FORMS}"));
        };
        let mut elsewhere = Vec::new();
        for (path, source) in self.tree.sources().filter(|(path, _)| path.starts_with(folder)) {
            let inside = &path[folder.len()..];
            let file_modules = modules_of(inside);
            // A macro may wrap its tests in modules of its own, so only the file's part of the path is known.
            let is_listed_here = if rest.ends_with(".rs") {
                inside == rest
            } else {
                let claimed: Vec<&str> = rest.split("::").filter(|part| !part.is_empty()).collect();
                claimed.starts_with(&file_modules)
            };
            if is_listed_here && self.lists(source, test) {
                return Ok(());
            }
            for function in source.functions.iter().filter(|f| f.is_test && f.name == test) {
                let modules = [file_modules.clone(), function.modules.iter().map(String::as_str).collect()].concat();
                if inside == rest || modules.join("::") == rest {
                    return Ok(());
                }
                elsewhere.push(format!("`{package}::{}`", [modules, vec![test]].concat().join("::")));
            }
        }
        if elsewhere.is_empty() {
            return Err("write the test, or call the row open".into());
        }
        Err(format!("it is now {}", elsewhere.join(" or ")))
    }

    /// Is `test` a word of a macro call in this file, or of the definition of such a macro?
    fn lists(&self, source: &'a Source, test: &str) -> bool {
        let mut seen: BTreeSet<&str> = BTreeSet::new();
        let calls = source.macros.iter();
        let mut words: Vec<&str> =
            calls.flat_map(|m| m.words.iter().map(String::as_str).chain([m.name.as_str()])).collect();
        while let Some(word) = words.pop() {
            if word == test {
                return true;
            }
            if seen.insert(word) {
                words.extend(self.definitions.get(word).into_iter().flat_map(|words| words.iter()).map(String::as_str));
            }
        }
        false
    }
}

/// The module path of a file inside its package: `src/task/claim.rs` is `task::claim`, `tests/cli.rs` is `cli`.
fn modules_of(inside: &str) -> Vec<&str> {
    let path = inside.trim_end_matches(".rs");
    let mut parts: Vec<&str> = path.split('/').skip(1).collect();
    if matches!(parts.last(), Some(&("lib" | "main" | "mod"))) {
        parts.pop();
    }
    parts
}

#[cfg(test)]
mod tests {
    use super::*;

    const SUITE: &str = "macro_rules! contract_suite { ($fresh:expr) => { $crate::promises! { $fresh; keeps_order } } }\n\
                         macro_rules! promises { () => { #[test] fn x() {} } }";
    const CODE: [(&str, &str); 6] = [
        ("crates/core/Cargo.toml", "[package]\nname = \"relaymesh-core\"\n"),
        ("crates/core/src/task/claim.rs", "fn helper() { assert!(not_a_test()); } mod tests { #[test] fn wins() {} }"),
        ("crates/core/tests/fold.rs", "proptest! { #[test] fn replays(x in 0..9) {} }"),
        ("crates/store/src/contract/mod.rs", SUITE),
        ("crates/sqlite/Cargo.toml", "[package]\nname = \"relaymesh-store-sqlite\"\n"),
        ("crates/sqlite/tests/contract.rs", "relaymesh_store::contract_suite!(fresh());"),
    ];

    /// A whole table, all rows open but for `changed`.
    fn found(changed: &str) -> Vec<String> {
        let mut table = String::from("| id | state | proof | note |\n|---|---|---|---|\n");
        for (kind, count) in IDS {
            (1..=count).for_each(|number| table += &format!("| {kind}{number} | open | | |\n"));
        }
        let table = table.replace("| R1 | open | | |\n", changed);
        let files = [CODE.as_slice(), &[(TABLE, &table)]].concat();
        check(&Tree::of(&files)).iter().map(ToString::to_string).collect()
    }

    #[test]
    fn rows_whose_proof_exists_pass() {
        for proof in [
            "`relaymesh-core::task::claim::tests::wins`",
            "`relaymesh_core::task::claim::tests::wins` and `relaymesh-core::fold::replays`",
            "`relaymesh-core/src/task/claim.rs::wins`",
            "`relaymesh-core/tests/fold.rs::replays` with `cargo xtask test`",
            "`relaymesh-store-sqlite::contract::keeps_order`",
            "`relaymesh-store-sqlite/tests/contract.rs::keeps_order`",
        ] {
            for state in ["proven", "partial"] {
                assert_eq!(found(&format!("| R1 | {state} | {proof} | a \\| b |\n")), [""; 0], "{proof}");
            }
        }
    }

    #[test]
    fn rows_whose_proof_is_missing_are_found() {
        for proof in [
            "",
            "by hand",
            "`relaymesh-core::task::claim::tests::loses`",
            "`relaymesh-core::task::claim::helper`",
            "`relaymesh-core::task::claim::not_a_test`",
            "`relaymesh-core/tests/fold.rs::wins`",
            "`relaymesh-none::wins`",
            "`relaymesh-core::keeps_order`",
            "`relaymesh-core::fold::replays` `relaymesh-core::fold::forgets`",
        ] {
            assert_eq!(found(&format!("| R1 | proven | {proof} | |\n")).len(), 1, "{proof}");
        }
    }

    #[test]
    fn a_moved_test_is_pointed_out() {
        let found = found("| R1 | proven | `relaymesh-core::claim::wins` | |\n");
        assert!(found[0].starts_with("docs/conformance.md:3: R1: there is no test"), "{found:?}");
        assert!(found[0].ends_with("it is now `relaymesh-core::task::claim::tests::wins`"), "{found:?}");
    }

    #[test]
    fn each_id_has_one_row_and_a_known_state() {
        assert!(found("")[0].contains("R1 has no row"));
        assert!(found("| R1 | open | | |\n| R1 | open | | |\n")[0].contains("twice"));
        assert!(found("| R1 | done | | |\n")[0].contains("unknown"));
        assert!(found("| R1 | open | | |\n| R40 | open | | |\n")[0].contains("no such row"));
    }

    #[test]
    fn a_missing_table_is_found() {
        assert_eq!(check(&Tree::of(&CODE)).len(), 1);
    }
}
