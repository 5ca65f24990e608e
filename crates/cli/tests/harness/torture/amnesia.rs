//! An older copy put back: a backup, a snapshot of the machine, a file manager's undo.
//!
//! The sidecar was not put back, so it remembers more than the database does, and the store says so. If the sidecar is put
//! back as well, all files agree that the older day is today: no program can tell from the files of one folder alone. Only
//! somebody else who remembers can: a client with its request id, later a peer with its copy of the log.

use crate::harness::{
    case::{Case, copy_folder},
    known::Known,
};
use std::fs;

pub(crate) fn put_an_older_copy_back() {
    let case = Case::new();
    submit(&case, "\"older\"");
    let older = case.copy();
    let (older_known, epoch) = (Known::of(&older), origin_epoch(&case));
    submit(&case, "\"newer\"");

    for name in ["relaymesh.db", "relaymesh.db-wal", "relaymesh.db-shm"] {
        let _ = fs::remove_file(case.file(name));
        if older.file(name).exists() {
            fs::copy(older.file(name), case.file(name))
                .unwrap_or_else(|error| panic!("cannot put {name} back: {error}"));
        }
    }
    let before = case.path().join("before");
    copy_folder(&case.root(), &before).unwrap_or_else(|error| panic!("cannot keep a copy: {error}"));
    for command in [&["submit", "--agent", "echo"][..], &["log", "verify"]] {
        let ran = case.run(command);
        assert_eq!((ran.code(), ran.error_code().as_deref()), (Some(6), Some("amnesia")), "{ran}");
        let hints = ran.error().map(|error| error["hints"].to_string()).unwrap_or_default();
        assert!(hints.contains("relaymesh log recover"), "{hints}");
    }
    assert_eq!(Known::of(&case), older_known, "reads go on");
    case.run(&["log", "recover"]).expect(4).unwrap_or_else(|why| panic!("without a yes: {why}"));

    let recovered = case.run(&["log", "recover", "--accept-loss"]);
    let said = recovered.expect(0).unwrap_or_else(|why| panic!("{why}")).lines();
    assert_eq!(said[0]["origin_epoch"].as_u64(), Some(epoch + 1), "{recovered}");
    assert!(said[0]["lost"].is_array(), "{recovered}");
    submit(&case, "\"after\"");
    assert!(older_known.is_same_below(&Known::of(&case), 1), "what is left is what was put back");
    assert_eq!(origin_epoch(&case), epoch + 1);
    case.run(&["log", "rebuild"]).expect(0).unwrap_or_else(|why| panic!("{why}"));
}

fn submit(case: &Case, input: &str) {
    let ran = case.run(&["submit", "--agent", "echo", "--input", input, "--wait"]);
    ran.expect(0).unwrap_or_else(|why| panic!("{why}"));
}

fn origin_epoch(case: &Case) -> u64 {
    let ran = case.run(&["log", "verify"]);
    let lines = ran.expect(0).unwrap_or_else(|why| panic!("{why}")).lines();
    lines[0]["origin_epoch"].as_u64().unwrap_or_else(|| panic!("no epoch: {ran}"))
}
