//! Without the feature there is no SQLite, and with it there is (A4): asked of cargo itself, as a user would.

use std::{path::Path, process::Command};

/// Every crate that the library is built from, one to a line.
fn tree(features: &[&str]) -> String {
    let cargo = std::env::var_os("CARGO").unwrap_or_else(|| "cargo".into());
    let workspace = Path::new(env!("CARGO_MANIFEST_DIR")).join("../..");
    let fixed = "tree --package relaymesh-bus --edges normal --locked --offline --prefix none --color never";
    let asked = Command::new(cargo).args(fixed.split(' ')).args(features).current_dir(workspace).output();
    let asked = asked.expect("cargo can be run");
    assert!(asked.status.success(), "{}", String::from_utf8_lossy(&asked.stderr));
    let tree = String::from_utf8(asked.stdout).expect("text");
    assert!(tree.contains("relaymesh-core v"), "this is no tree of it: {tree}");
    tree
}

/// What speaks to a database, by the beginning of a name.
const DATABASES: [&str; 5] = ["rusqlite", "libsqlite3-sys", "sqlx", "libsql", "relaymesh-store-sqlite"];

#[test]
fn a4_without_the_feature_there_is_no_sqlite_in_the_tree() {
    let tree = tree(&[]);
    let found: Vec<&str> =
        tree.lines().filter(|line| DATABASES.iter().any(|database| line.starts_with(database))).collect();
    assert_eq!(found, [""; 0]);
}

#[test]
fn a4_with_the_feature_there_is() {
    let tree = tree(&["--features", "sqlite"]);
    for wanted in ["relaymesh-store-sqlite v", "rusqlite v", "libsqlite3-sys v"] {
        assert!(tree.lines().any(|line| line.starts_with(wanted)), "no {wanted} in {tree}");
    }
}
