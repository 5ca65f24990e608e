//! What an older program does with a newer store: nothing, and it says so.

#![allow(clippy::unwrap_used, reason = "a test that cannot go on should stop")]

use crate::common::Mesh;
use std::fs;

#[test]
fn a_newer_schema_is_refused_by_every_command_and_nothing_is_touched() {
    let mesh = Mesh::new();
    assert_eq!(mesh.run(&["submit", "--agent", "echo", "--input", "1", "--wait"]).code, 0);
    assert_eq!(mesh.run(&["backup", "b"]).code, 0);
    let database = mesh.root().join("relaymesh.db");
    rusqlite::Connection::open(&database).unwrap().execute_batch("PRAGMA user_version = 99").unwrap();
    let kept = || ["relaymesh.db", "head"].map(|name| fs::read(mesh.root().join(name)).unwrap());
    let before = kept();
    let ways = [
        &["task", "list"][..],
        &["submit", "--agent", "echo"],
        &["up"],
        &["init"],
        &["backup", "c"],
        &["log", "verify"],
        &["log", "recover", "--accept-loss"],
    ];
    for way in ways {
        let refused = mesh.run(&[way, &["--json"]].concat());
        let error = refused.error();
        assert_eq!((refused.code, &error["code"]), (6, &"store_unusable".into()), "{way:?}: {error}");
        let (message, hints) = (error["message"].to_string(), error["hints"].to_string());
        assert!(message.contains("schema 99") && message.contains("newer relaymesh"), "{way:?}: {message}");
        assert!(hints.contains("use the version of relaymesh that made it"), "{way:?}: {hints}");
    }
    assert_eq!(kept(), before, "not a byte");
    assert!(!mesh.folder.path().join("c").exists());
}

/// The other way round: a backup that a newer program made.
#[test]
fn a_backup_of_a_newer_schema_is_refused() {
    let mesh = Mesh::new();
    assert_eq!(mesh.run(&["submit", "--agent", "echo", "--input", "1", "--wait"]).code, 0);
    assert_eq!(mesh.run(&["backup", "b"]).code, 0);
    let manifest = mesh.folder.path().join("b/backup.json");
    let text = fs::read_to_string(&manifest).unwrap();
    fs::write(&manifest, text.replace("\"format\": 1", "\"format\": 2")).unwrap();
    let refused = mesh.run(&["--root", "r", "restore", "b", "--json"]);
    assert_eq!((refused.code, &refused.error()["code"]), (6, &"store_unusable".into()), "{}", refused.stderr);
    assert!(!mesh.folder.path().join("r").exists() && !mesh.folder.path().join("r.new").exists());
}
