//! A real disk that fills up: a small tmpfs, tasks until it refuses, then a ballast thrown off.

use crate::harness::{case::Case, process};
use std::{fs, path::Path, process::Command};

/// Commits stop below 16 MiB of free space, so a few MiB more fill up soon.
const DISK: &str = "size=20m";
/// Half of what is free above that limit.
const BALLAST_BYTES: usize = 2 << 20;
/// More submits than fit.
const SUBMITS_MAX: usize = 1_000;
const DISK_FULL: i32 = 7;

pub(crate) fn fill_a_disk() {
    let folder = Case::new();
    let Some(disk) = Disk::mount(&folder.path().join("disk")) else { return };
    let case = Case::under(&disk.0);
    let ballast = disk.0.join("ballast");
    fs::write(&ballast, vec![7; BALLAST_BYTES]).unwrap_or_else(|error| panic!("no ballast: {error}"));

    let accepted = submit_until_full(&case);
    println!("{} submits until the disk was full", accepted.len());
    assert!(!accepted.is_empty() && accepted.len() < SUBMITS_MAX);
    holds(&case, &accepted);

    // To the last byte: even then reads work, and nothing is lost.
    let rest = fs::write(disk.0.join("rest"), vec![7; 32 << 20]);
    assert!(rest.is_err(), "the disk is larger than thought");
    holds(&case, &accepted);
    let refused = submit(&case, SUBMITS_MAX);
    assert_eq!((refused.code(), refused.error_code().as_deref()), (Some(DISK_FULL), Some("disk_full")), "{refused}");
    holds(&case, &accepted);

    for freed in [disk.0.join("rest"), ballast] {
        fs::remove_file(&freed).unwrap_or_else(|error| panic!("cannot free {}: {error}", freed.display()));
    }
    let again = submit(&case, SUBMITS_MAX);
    let accepted_at_last = again.expect(0).unwrap_or_else(|why| panic!("{why}")).lines()[0]["task"].clone();
    let all: Vec<String> = accepted.into_iter().chain(accepted_at_last.as_str().map(str::to_owned)).collect();
    holds(&case, &all);
    case.run(&["log", "verify"]).expect(0).unwrap_or_else(|why| panic!("{why}"));
}

fn submit(case: &Case, number: usize) -> process::Ran {
    let input = format!("\"{number} {}\"", "x".repeat(7_000));
    case.run(&["submit", "--agent", "echo", "--input", &input])
}

fn submit_until_full(case: &Case) -> Vec<String> {
    let mut accepted = Vec::new();
    for number in 0..SUBMITS_MAX {
        let ran = submit(case, number);
        if ran.code() == Some(0) {
            accepted.extend(ran.lines()[0]["task"].as_str().map(str::to_owned));
            continue;
        }
        assert_eq!((ran.code(), ran.error_code().as_deref()), (Some(DISK_FULL), Some("disk_full")), "{ran}");
        break;
    }
    accepted
}

/// Exactly the accepted tasks are there.
fn holds(case: &Case, accepted: &[String]) {
    let listed = case.tasks().unwrap_or_else(|why| panic!("{why}"));
    let mut found: Vec<&str> = listed.iter().filter_map(|task| task["task"].as_str()).collect();
    found.reverse();
    assert_eq!(found, accepted);
}

/// A mounted tmpfs; taken away at the end.
struct Disk(std::path::PathBuf);

impl Disk {
    /// `None` where mounting is not allowed; said loudly.
    fn mount(folder: &Path) -> Option<Self> {
        fs::create_dir(folder).unwrap_or_else(|error| panic!("no folder for a disk: {error}"));
        let ran = process::run(Command::new("mount").args(["-t", "tmpfs", "-o", DISK, "tmpfs"]).arg(folder), None);
        if ran.code() == Some(0) {
            return Some(Self(folder.to_owned()));
        }
        eprintln!("SKIPPED: a full disk needs a tmpfs of its own, and mounting one is not allowed here: {ran}");
        None
    }
}

impl Drop for Disk {
    fn drop(&mut self) {
        // The case's folder on it is still to be removed, by a later drop: detach the disk from the tree at once.
        process::run(Command::new("umount").arg("-l").arg(&self.0), None);
    }
}
