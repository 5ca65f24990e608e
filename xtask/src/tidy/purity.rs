//! The kernel and the store traits compute: no clock, no files, no threads, no order that differs from run to run.
//! A replay, a peer and the simulator reach the same rows only because of that.
//!
//! clippy.toml bans some of it by type; this check bans whole modules, inside macros as well. Test code is free.

use super::Finding;
use super::source::Mention;
use super::tree::Tree;

const PURE_FOLDERS: [&str; 4] = ["crates/core/src/", "crates/store/src/", "crates/bus/src/", "crates/mesh/src/"];
/// The store of an embedded bus, behind a feature.
const NOT_PURE: &str = "crates/bus/src/sqlite/";

/// A run of path segments, and what to do instead.
const BANNED: [(&str, &str); 19] = [
    ("time::Instant", "take the time as an argument"),
    ("SystemTime", "take the time as an argument"),
    ("std::time::*", "name what you use; a clock may hide behind the star"),
    ("std::fs", "do I/O in a store crate or in the runtime"),
    ("std::net", "do I/O in the runtime"),
    ("std::thread", "start threads in the runtime"),
    ("std::env", "take settings as arguments"),
    ("std::process", "start and end processes in the runtime or the binary"),
    ("std::*", "name what you use; I/O may hide behind the star"),
    ("HashMap", "use BTreeMap: its order is the same in every run"),
    ("HashSet", "use BTreeSet: its order is the same in every run"),
    ("hash_map", "use BTreeMap: its order is the same in every run"),
    ("hash_set", "use BTreeSet: its order is the same in every run"),
    ("std::collections::*", "name what you use; a HashMap may hide behind the star"),
    ("println!", "return what is to be said; the binary prints"),
    ("print!", "return what is to be said; the binary prints"),
    ("eprintln!", "return what is to be said; the binary prints"),
    ("eprint!", "return what is to be said; the binary prints"),
    ("dbg!", "remove it"),
];

pub(super) fn check(tree: &Tree) -> Vec<Finding> {
    let mut findings = Vec::new();
    for (path, source) in tree.sources() {
        let in_pure = PURE_FOLDERS.iter().any(|folder| path.starts_with(folder)) && !path.starts_with(NOT_PURE);
        let is_pure = in_pure && !source.is_test;
        for mention in &source.mentions {
            if is_pure && !mention.in_test {
                findings.extend(impure(path, mention));
            }
            if mention.path == "unsafe" {
                findings.push(Finding::new(
                    path,
                    mention.line,
                    "unsafe code",
                    "find a safe way, or a crate that has one",
                ));
            }
        }
        for line in &source.unsafe_allowed {
            let remedy = "remove it: the workspace forbids unsafe code";
            findings.push(Finding::new(path, *line, "allow(unsafe_code)", remedy));
        }
    }
    findings.extend(lints(tree));
    findings
}

fn impure(path: &str, mention: &Mention) -> Option<Finding> {
    let held = format!("::{}::", mention.path);
    let by_name = BANNED.iter().find(|(banned, _)| held.contains(&format!("::{banned}::")));
    let by_crate = mention.path.starts_with("rand::").then_some(&("rand", "take random bytes as an argument"));
    let (banned, remedy) = by_name.or(by_crate)?;
    Some(Finding::new(path, mention.line, format!("{banned} in a pure crate"), *remedy))
}

/// Every package inherits the workspace's lints.
fn lints(tree: &Tree) -> Vec<Finding> {
    let inherits = |text: &str| {
        let mut section = "";
        text.lines().map(str::trim).any(|line| {
            if line.starts_with('[') {
                section = line;
            }
            let line = line.replace(' ', "");
            (section == "[lints]" && line == "workspace=true") || line == "lints.workspace=true"
        })
    };
    let manifests = tree.texts_named("Cargo.toml").filter(|(_, text)| text.contains("[package]") && !inherits(text));
    manifests
        .map(|(path, _)| {
            Finding::new(path, 1, "the workspace's lints do not apply here", "add [lints] workspace = true")
        })
        .collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    fn found(path: &str, text: &str) -> Vec<String> {
        check(&Tree::of(&[(path, text)])).iter().map(ToString::to_string).collect()
    }

    const CORE: &str = "crates/core/src/task/claim.rs";

    #[test]
    fn every_banned_thing_is_found() {
        for (banned, _) in BANNED {
            let code =
                if banned.ends_with('!') { format!("fn f() {{ {banned}(1) }}") } else { format!("use {banned};") };
            assert_eq!(found(CORE, &code).len(), 1, "{code}");
            assert_eq!(found("crates/store/src/memory.rs", &code).len(), 1, "{code}");
            assert_eq!(found("crates/runtime/src/lib.rs", &code).len(), 0, "{code}");
        }
    }

    #[test]
    fn disguises_are_seen_through() {
        assert_eq!(
            found(CORE, "use std::{\n    fs,\n    io,\n};"),
            ["crates/core/src/task/claim.rs:2: std::fs in a pure crate; do I/O in a store crate or in the runtime"]
        );
        assert_eq!(found(CORE, "fn f() { assert!(std::time::Instant::now() > x); }").len(), 1);
        assert_eq!(found(CORE, "use std::time; fn f() { time::Instant::now(); }").len(), 1);
        assert_eq!(found(CORE, "fn f() -> u8 { rand::random() }").len(), 1);
    }

    #[test]
    fn pure_code_comments_and_tests_pass() {
        let pure = "//! std::fs\nuse std::collections::BTreeMap; // HashMap\nfn f(rand: u8) -> &str { \"println!\" }\n\
                    #[cfg(test)] mod tests { use std::collections::HashMap; }";
        assert_eq!(found(CORE, pure), [""; 0]);
        assert_eq!(found("crates/core/src/task/tests.rs", "use std::fs;"), [""; 0]);
        let declared =
            [("crates/core/src/lib.rs", "#[cfg(test)] mod world;"), ("crates/core/src/world.rs", "use std::fs;")];
        assert_eq!(check(&Tree::of(&declared)), []);
    }

    #[test]
    fn unsafe_is_found_everywhere() {
        assert_eq!(found("crates/cli/tests/a.rs", "fn f() { unsafe { g() } }").len(), 1);
        assert_eq!(found("crates/cli/src/main.rs", "#![allow(dead_code, unsafe_code)]").len(), 1);
        assert_eq!(found("crates/cli/src/main.rs", "#![forbid(unsafe_code)] // unsafe"), [""; 0]);
    }

    #[test]
    fn lints_are_inherited() {
        assert_eq!(found("crates/x/Cargo.toml", "[package]\nname = \"x\"\n[lints]\nworkspace = true\n"), [""; 0]);
        assert_eq!(found("crates/x/Cargo.toml", "[package]\nname = \"x\"\nversion.workspace = true\n").len(), 1);
        assert_eq!(found("Cargo.toml", "[workspace]\n"), [""; 0]);
    }
}
