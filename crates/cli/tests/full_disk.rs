//! A disk that fills up under a running daemon and has room again: refused, readable, and accepted without a restart.

#![cfg(target_os = "linux")]
#![allow(clippy::unwrap_used, reason = "a test that cannot go on should stop")]

use crate::common::{
    house::House,
    wire::{Wire, submit, until},
};
use crate::harness::disk::Disk;
use relaymesh_api::error::Code;
use relaymesh_core::{id::TaskId, task::Status};
use relaymesh_runtime::driver::{Answer, Command as Ask, Until};
use serde_json::json;
use std::{
    path::{Path, PathBuf},
    time::Duration,
};

const PATIENCE: Duration = Duration::from_secs(60);
const ROOM_BYTES: u64 = 12 << 20;
const BALLAST_BYTES: usize = 8 << 20;
/// More submits than fit.
const SUBMITS_MAX: u64 = 2_000;
const DISK_FULL: i32 = 7;

#[test]
fn a_full_disk_refuses_and_reads_and_goes_on_without_a_restart_when_there_is_room() {
    fill_up(Disk::mounted);
}

/// The same, whatever may be mounted: there the store stops early, and here it runs into the wall.
#[test]
fn so_does_a_disk_that_is_full_before_anybody_saw_it_coming() {
    fill_up(Disk::bounded);
}

fn fill_up(disk: fn(&Path, u64) -> Option<Disk>) {
    let mut house = House::new();
    let root = house.0.root();
    let _left = Left(house.0.folder.path().to_owned());
    std::fs::create_dir(&root).unwrap();
    let Some(disk) = disk(&root, ROOM_BYTES) else { return };
    house.0.variables = disk.variables(house.0.folder.path());
    {
        // The daemon goes before the disk does.
        let house = house;
        fill(&house);
    }
    drop(disk);
}

/// A house cannot remove its folder while there is a disk in it.
struct Left(PathBuf);

impl Drop for Left {
    fn drop(&mut self) {
        let _ = std::fs::remove_dir_all(&self.0);
    }
}

/// Submits until one is refused, which must be for want of space.
fn fill_up_to_a_refusal(wire: &Wire, n: &mut u64, long: &str, accepted: &mut Vec<TaskId>) {
    let refused = (0..SUBMITS_MAX).find_map(|_| {
        *n += 1;
        let steps = json!([{ "id": "a", "agent": "echo", "input": format!("{n} {long}") }]);
        match wire.0.call(submit(*n, steps, Until::Accepted)) {
            Ok(Answer::Accepted { task, .. }) => {
                accepted.push(task);
                None
            }
            Ok(other) => panic!("{other:?}"),
            Err(error) => Some(error),
        }
    });
    assert_eq!(refused.expect("it fills up").code, Code::DiskFull);
}

fn fill(house: &House) {
    let ballast = house.0.root().join("ballast");
    std::fs::write(&ballast, vec![7; BALLAST_BYTES]).unwrap();
    let wire = Wire::to(house);
    let pid = house.pid();
    let long = "x".repeat(7_000);
    let mut n = 0;
    let mut accepted = Vec::new();
    // A checkpoint beside the writer can make room in the write-ahead log, so that a few more fit after the first refusal.
    let said = until("it is full for everybody", PATIENCE, || {
        fill_up_to_a_refusal(&wire, &mut n, &long, &mut accepted);
        let said = house.run(&["submit", "--agent", "echo", "--input", &format!("\"{n} {long}\"")]);
        assert!([0, DISK_FULL].contains(&said.code), "{}", said.stderr);
        (said.code == DISK_FULL).then_some(said)
    });
    assert!(said.stderr.contains("error[disk_full]"), "{}", said.stderr);
    assert!(!accepted.is_empty());
    let first = accepted[0].to_string();
    for reads in [&["task", "show", &first][..], &["task", "list"], &["log", "show"]] {
        let said = house.run(reads);
        assert_eq!(said.code, 0, "{reads:?}: {}", said.stderr);
    }
    // It answers, and says that it is not ready, whether it sees how much is free or only that nothing can be written.
    until("it says why", PATIENCE, || {
        fill_up_to_a_refusal(&wire, &mut n, &long, &mut accepted);
        let status = house.run(&["status"]);
        assert!([0, DISK_FULL].contains(&status.code) && status.stdout.contains("pid"), "{}", status.stderr);
        let status = house.json(&["status"]);
        let alert = status["alert"].as_str().unwrap_or_default();
        (alert.contains("waiting for space") && status["ready"] == false).then_some(())
    });

    std::fs::remove_file(&ballast).unwrap();
    until("it accepts again", PATIENCE, || {
        let said = house.run(&["submit", "--agent", "echo", "--input", "1", "--wait"]);
        assert!([0, DISK_FULL].contains(&said.code), "{}", said.stderr);
        (said.code == 0).then_some(())
    });
    until("it is ready again", PATIENCE, || (house.run(&["status"]).code == 0).then_some(()));
    assert_eq!(house.pid(), pid, "nobody had to start it again");
    let ended = wire.all(accepted.into_iter().map(|task| Ask::Wait { task }));
    let is_well = |answer: &Answer| matches!(answer, Answer::Ended { status: Status::Success, .. });
    assert!(ended.iter().all(is_well), "what was accepted is done: {ended:?}");
    assert_eq!(house.run(&["down"]).code, 0);
    let verified = house.run(&["log", "verify"]);
    assert_eq!(verified.code, 0, "{}{}", verified.stdout, verified.stderr);
}
