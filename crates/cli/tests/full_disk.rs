//! A disk that fills up under a running daemon and has room again: refused, readable, and accepted without a restart.

#![cfg(target_os = "linux")]
#![allow(clippy::unwrap_used, reason = "a test that cannot go on should stop")]

mod common;

use common::{
    house::House,
    wire::{Wire, submit, until},
};
use relaymesh_api::error::Code;
use relaymesh_core::task::Status;
use relaymesh_runtime::driver::{Answer, Command as Ask, Until};
use serde_json::json;
use std::{path::PathBuf, process::Command, time::Duration};

const PATIENCE: Duration = Duration::from_secs(60);
/// Commits stop below 16 MiB of free space, so a few MiB more fill up soon.
const DISK: &str = "size=22m,mode=0700";
const BALLAST_BYTES: usize = 2 << 20;
/// More submits than fit.
const SUBMITS_MAX: u64 = 2_000;
const DISK_FULL: i32 = 7;

/// A house whose root is a disk of its own. The daemon goes before the disk does.
struct Small {
    house: House,
    disk: Disk,
}

struct Disk(PathBuf);

impl Small {
    /// `None` where mounting is not allowed; said loudly.
    fn new() -> Option<Self> {
        let house = House::new();
        let root = house.0.root();
        std::fs::create_dir(&root).unwrap();
        let ran = Command::new("mount").args(["-t", "tmpfs", "-o", DISK, "tmpfs"]).arg(&root).output().unwrap();
        if !ran.status.success() {
            let why = String::from_utf8_lossy(&ran.stderr);
            eprintln!("SKIPPED: a full disk needs a tmpfs of its own, and mounting one is not allowed here: {why}");
            return None;
        }
        Some(Self { house, disk: Disk(root) })
    }
}

impl Drop for Disk {
    fn drop(&mut self) {
        let _ = Command::new("umount").arg("-l").arg(&self.0).status();
        // The house could not remove its folder while the disk was there.
        let _ = self.0.parent().map(std::fs::remove_dir_all);
    }
}

#[test]
fn a_full_disk_refuses_and_reads_and_goes_on_without_a_restart_when_there_is_room() {
    let Some(small) = Small::new() else { return };
    let house = &small.house;
    let ballast = small.disk.0.join("ballast");
    std::fs::write(&ballast, vec![7; BALLAST_BYTES]).unwrap();
    let wire = Wire::to(house);
    let pid = house.pid();
    let long = "x".repeat(7_000);
    let step = |n: u64| json!([{ "id": "a", "agent": "echo", "input": format!("{n} {long}") }]);
    let mut accepted = Vec::new();
    let refused = (0..SUBMITS_MAX).find_map(|n| match wire.0.call(submit(n, step(n), Until::Accepted)) {
        Ok(Answer::Accepted { task, .. }) => {
            accepted.push(task);
            None
        }
        Ok(other) => panic!("{other:?}"),
        Err(error) => Some(error),
    });
    assert_eq!(refused.expect("it fills up").code, Code::DiskFull);
    assert!(!accepted.is_empty());

    let input = format!("\"{long}\"");
    let said = house.run(&["submit", "--agent", "echo", "--input", &input]);
    assert_eq!(said.code, DISK_FULL, "{}", said.stderr);
    assert!(said.stderr.contains("error[disk_full]"), "{}", said.stderr);
    let first = accepted[0].to_string();
    for reads in [&["task", "show", &first][..], &["task", "list"], &["status"], &["log", "show"]] {
        let said = house.run(reads);
        assert_eq!(said.code, 0, "{reads:?}: {}", said.stderr);
    }
    let alert = house.json(&["status"])["alert"].as_str().unwrap_or_default().to_owned();
    assert!(alert.contains("waiting for space"), "{alert}");

    std::fs::remove_file(&ballast).unwrap();
    until("it accepts again", PATIENCE, || {
        let said = house.run(&["submit", "--agent", "echo", "--input", "1", "--wait"]);
        assert!([0, DISK_FULL].contains(&said.code), "{}", said.stderr);
        (said.code == 0).then_some(())
    });
    assert_eq!(house.pid(), pid, "nobody had to start it again");
    let ended = wire.all(accepted.into_iter().map(|task| Ask::Wait { task }));
    let is_well = |answer: &Answer| matches!(answer, Answer::Ended { status: Status::Success, .. });
    assert!(ended.iter().all(is_well), "what was accepted is done: {ended:?}");
    assert_eq!(house.run(&["down"]).code, 0);
    let verified = house.run(&["log", "verify"]);
    assert_eq!(verified.code, 0, "{}{}", verified.stdout, verified.stderr);
}
