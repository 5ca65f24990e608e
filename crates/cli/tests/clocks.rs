//! A wall clock that is set while the daemon runs: nobody loses a lease, no retry comes early or late, and the operator is told.
//!
//! The daemon runs with a small library before the C library (`common/clock.c`), which gives it the wall clock that the test wants and
//! leaves the others alone. The C compiler that it needs is the one that the build needs.

#![cfg(target_os = "linux")]
#![allow(clippy::unwrap_used, reason = "a test that cannot go on should stop")]

use crate::common::{
    Said,
    house::House,
    wire::{Wire, until},
};
use relaymesh_core::id::{TaskId, WorkerId};
use serde_json::{Value, json};
use std::{
    path::{Path, PathBuf},
    process::Command,
    time::{Duration, Instant, SystemTime, UNIX_EPOCH},
};

/// Longer than anything here takes on a busy machine.
const PATIENCE: Duration = Duration::from_secs(60);
/// What a retry waits that must not come early.
const BACKOFF: Duration = Duration::from_secs(60);

const HOURS_MS: i64 = 3_600_000;

/// A house whose daemon has a wall clock of its own.
struct Set {
    house: House,
    file: PathBuf,
}

impl Set {
    fn new(agents: &str) -> Self {
        let house = House::new();
        std::fs::create_dir_all(house.0.root()).unwrap();
        std::fs::write(house.0.root().join("agents.toml"), agents).unwrap();
        let file = house.0.folder.path().join("clock");
        let set = Self { house, file };
        set.off_by(0);
        set.up();
        set
    }

    /// The library is named from its folder: a space or a colon in the whole path would end the name.
    fn up(&self) {
        let mut command = self.house.command(&["up", "--detach"]);
        command.current_dir(library()).env("RELAYMESH_ROOT", self.house.0.root()).env("CLOCK_FILE", &self.file);
        let said = Said::of(command.env("LD_PRELOAD", "./clock.so").output().unwrap());
        assert_eq!(said.code, 0, "{}", said.stderr);
    }

    /// Sets the clock, in one go.
    fn off_by(&self, ms: i64) {
        let new = self.file.with_extension("new");
        std::fs::write(&new, ms.to_string()).unwrap();
        std::fs::rename(new, &self.file).unwrap();
    }

    fn step(&self, task: TaskId) -> Value {
        self.house.json(&["task", "show", &task.to_string(), "--history"])["steps"][0].clone()
    }

    fn until_step(&self, task: TaskId, status: &str) {
        until(status, PATIENCE, || (self.step(task)["status"] == status).then_some(()));
    }
}

/// The folder with the library, compiled by each process for itself; it gets its name last.
fn library() -> &'static Path {
    let folder = Path::new(env!("CARGO_TARGET_TMPDIR"));
    let own = folder.join(format!("clock-{}.so", std::process::id()));
    let source = concat!(env!("CARGO_MANIFEST_DIR"), "/tests/common/clock.c");
    let compiler = std::env::var("CC").unwrap_or_else(|_| "cc".to_owned());
    let ran = Command::new(compiler).args(["-shared", "-fPIC", "-O1", "-o"]).arg(&own).arg(source).output().unwrap();
    assert!(ran.status.success(), "{}", String::from_utf8_lossy(&ran.stderr));
    std::fs::rename(own, folder.join("clock.so")).unwrap();
    folder
}

/// Sets the clock while an agent runs, a worker from outside holds a step, and two retries wait.
fn nobody_is_hurt(off_ms: i64, restarts: bool) {
    let set = Set::new(
        "[agents.slow]\ncommand = [\"sh\", \"-c\", \"echo 1 > begun; until [ -e go ]; do sleep 0.05; done\"]\n\
         [agents.twice]\ncommand = [\"sh\", \"-c\", \"[ $RELAYMESH_ATTEMPT -gt 1 ]\"]\n",
    );
    let wire = Wire::to(&set.house);
    let retry = |ms: u64| json!({ "max_attempts": 3, "base_backoff_ms": ms, "max_backoff_ms": ms });
    let slow = wire.submit(1, json!({ "id": "a", "agent": "slow" }));
    let folder = set.house.0.root().join(format!("attempts/{slow}/a.1"));
    until("it has begun", PATIENCE, || folder.join("begun").exists().then_some(()));
    let worker = WorkerId::from_bytes([1; 16]);
    let theirs = wire.submit(2, json!({ "id": "a", "agent": "elsewhere" }));
    let hold = wire.claim(theirs, worker, 120_000);
    let failed = Instant::now();
    let long = wire.submit(3, json!({ "id": "a", "agent": "twice", "retry": retry(BACKOFF.as_millis() as u64) }));
    set.until_step(long, "RETRYING");
    let short = wire.submit(4, json!({ "id": "a", "agent": "twice", "retry": retry(2_000) }));
    set.until_step(short, "RETRYING");

    set.off_by(off_ms);
    let told = until("the operator is told", PATIENCE, || {
        let alert = set.house.json(&["status"])["alert"].as_str()?.to_owned();
        alert.contains("the system clock was changed by").then_some(alert)
    });
    let by_ms: i64 = told.split_whitespace().find_map(|word| word.parse().ok()).unwrap_or_else(|| panic!("{told}"));
    assert!((by_ms - off_ms).abs() < 1_000, "{told}: it was set by {off_ms} ms");
    until("it is in the log", PATIENCE, || {
        let log = std::fs::read_to_string(set.house.0.root().join("daemon.log")).unwrap();
        log.contains("the system clock was changed by").then_some(())
    });

    // Not late: it has waited its two seconds, whatever the clock says.
    assert_eq!(set.house.run(&["task", "wait", &short.to_string()]).code, 0);
    // Not early: whatever is due by now has been claimed before what was submitted now.
    let probe = wire.submit(5, json!({ "id": "a", "agent": "echo" }));
    assert_eq!(set.house.run(&["task", "wait", &probe.to_string()]).code, 0);
    let waiting = set.step(long);
    assert!(failed.elapsed() < BACKOFF, "this machine is too slow to tell");
    assert_eq!((&waiting["status"], &waiting["attempt"]), (&json!("RETRYING"), &json!(1)), "{waiting}");
    for task in [slow, theirs] {
        let step = set.step(task);
        assert_eq!((&step["status"], &step["epoch"]), (&json!("RUNNING"), &json!(1)), "{step}");
    }
    wire.heartbeat(worker);
    wire.finish(hold).unwrap();
    std::fs::write(folder.join("go"), "").unwrap();
    assert_eq!(set.house.run(&["task", "wait", &slow.to_string()]).code, 0);
    assert_eq!(set.step(slow)["epoch"], 1);
    if restarts {
        assert_eq!(set.house.run(&["down"]).code, 0);
        set.up();
        let after = set.house.run(&["submit", "--agent", "echo", "--input", "6", "--wait"]);
        assert_eq!(after.code, 0, "{}", after.stderr);
        assert_eq!(set.house.run(&["log", "verify"]).code, 0);
    }
}

#[test]
fn r10_two_hours_ahead_cost_nobody_a_lease_and_no_retry_comes_early() {
    nobody_is_hurt(2 * HOURS_MS, false);
}

#[test]
fn r10_two_hours_back_cost_nobody_a_lease_and_no_retry_comes_late() {
    nobody_is_hurt(-2 * HOURS_MS, true);
}

#[test]
fn r10_a_clock_that_says_1970_costs_nobody_anything() {
    let now = SystemTime::now().duration_since(UNIX_EPOCH).unwrap();
    nobody_is_hurt(-i64::try_from(now.as_millis()).unwrap() + 5_000, true);
}
