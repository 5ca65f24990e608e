//! A disk that fills up: tasks until it refuses, then a ballast thrown off.

use crate::harness::{case::Case, disk::Disk, process::Ran};
use std::{ffi::OsString, fs, path::Path};

const ROOM_BYTES: u64 = 4 << 20;
/// Half of it.
const BALLAST_BYTES: usize = 2 << 20;
/// More submits than fit.
const SUBMITS_MAX: usize = 1_000;
const DISK_FULL: i32 = 7;

pub(crate) fn fill_a_disk(disk: fn(&Path, u64) -> Option<Disk>) {
    let case = Case::new();
    fs::create_dir(case.root()).unwrap_or_else(|error| panic!("no folder for a disk: {error}"));
    let Some(disk) = disk(&case.root(), ROOM_BYTES) else { return };
    let small = Small { variables: disk.variables(case.path()), case: &case };
    let ballast = case.file("ballast");
    fs::write(&ballast, vec![7; BALLAST_BYTES]).unwrap_or_else(|error| panic!("no ballast: {error}"));

    let accepted = small.submit_until_full();
    println!("{} submits until the disk was full", accepted.len());
    assert!(!accepted.is_empty() && accepted.len() < SUBMITS_MAX);
    small.holds(&accepted);

    // To the last byte: even then reads work, and nothing is lost.
    let rest = disk.fill("rest");
    small.holds(&accepted);
    small.is_refused(&small.submit(SUBMITS_MAX));
    small.holds(&accepted);

    for freed in [rest, ballast] {
        fs::remove_file(&freed).unwrap_or_else(|error| panic!("cannot free {}: {error}", freed.display()));
    }
    let again = small.submit(SUBMITS_MAX);
    let accepted_at_last = again.expect(0).unwrap_or_else(|why| panic!("{why}")).lines()[0]["task"].clone();
    let all: Vec<String> = accepted.into_iter().chain(accepted_at_last.as_str().map(str::to_owned)).collect();
    small.holds(&all);
    small.run(&["log", "verify"]).expect(0).unwrap_or_else(|why| panic!("{why}"));
}

/// A case on a small disk.
struct Small<'a> {
    case: &'a Case,
    variables: Vec<(&'static str, OsString)>,
}

impl Small<'_> {
    fn run(&self, arguments: &[&str]) -> Ran {
        self.case.run_with(&self.variables, arguments)
    }

    fn submit(&self, number: usize) -> Ran {
        let input = format!("\"{number} {}\"", "x".repeat(7_000));
        self.run(&["submit", "--agent", "echo", "--input", &input])
    }

    fn submit_until_full(&self) -> Vec<String> {
        let mut accepted = Vec::new();
        for number in 0..SUBMITS_MAX {
            let ran = self.submit(number);
            if ran.code() == Some(0) {
                accepted.extend(ran.lines()[0]["task"].as_str().map(str::to_owned));
                continue;
            }
            self.is_refused(&ran);
            break;
        }
        accepted
    }

    fn is_refused(&self, ran: &Ran) {
        assert_eq!((ran.code(), ran.error_code().as_deref()), (Some(DISK_FULL), Some("disk_full")), "{ran}");
    }

    /// Exactly the accepted tasks are there.
    fn holds(&self, accepted: &[String]) {
        let listed = self.run(&["task", "list", "--limit", "1000"]);
        let listed = listed.expect(0).unwrap_or_else(|why| panic!("{why}")).lines();
        let mut found: Vec<&str> = listed.iter().filter_map(|task| task["task"].as_str()).collect();
        found.reverse();
        assert_eq!(found, accepted);
    }
}
