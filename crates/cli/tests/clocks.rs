//! A wall clock that is set while the daemon runs: nobody loses a lease, no retry comes early or late, and the operator is told. And one
//! that is wrong when it starts: nothing is deleted by it, nothing is stamped with it, and no token is good again.
//!
//! The daemon runs with a small library before the C library (`common/clock.c`), which gives it the wall clock that the test wants and
//! leaves the others alone. The C compiler that it needs is the one that the build needs.

#![cfg(target_os = "linux")]
#![allow(clippy::unwrap_used, reason = "a test that cannot go on should stop")]

use crate::common::{
    Said,
    house::House,
    web::Web,
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

    fn up(&self) {
        self.with_its_clock(&["up", "--detach"]);
    }

    /// A command that sees the same wall clock as the daemon. The library is named from its folder: a space or a colon in the whole path
    /// would end the name.
    fn with_its_clock(&self, arguments: &[&str]) -> Said {
        let mut command = self.house.command(arguments);
        command.current_dir(library()).env("RELAYMESH_ROOT", self.house.0.root()).env("CLOCK_FILE", &self.file);
        let said = Said::of(command.env("LD_PRELOAD", "./clock.so").output().unwrap());
        assert_eq!(said.code, 0, "{}{}", said.stdout, said.stderr);
        said
    }

    fn down(&self) {
        assert_eq!(self.house.run(&["down"]).code, 0);
    }

    /// A start at that time. The stop waits for the first round of upkeep.
    fn up_and_down(&self, off_ms: i64) {
        self.off_by(off_ms);
        self.up();
        self.down();
    }

    /// The id of an ended task that was submitted with a key.
    fn submit(&self) -> String {
        let said = self.house.run(&["submit", "--agent", "echo", "--input", "1", "--key", "once"]);
        let at = said.stdout.find("tsk_").unwrap_or_else(|| panic!("{}{}", said.stdout, said.stderr));
        let id = said.stdout[at..].chars().take(30).collect::<String>();
        assert_eq!(self.house.run(&["task", "wait", &id]).code, 0);
        id
    }

    fn tasks(&self) -> usize {
        self.house.run(&["task", "list", "--json"]).lines().len()
    }

    /// What is wrong with the clock, as `status` has it.
    fn doubt(&self) -> Option<String> {
        Some(self.house.json(&["status"])["clock_problem"].as_str()?.to_owned())
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

const DAY_MS: i64 = 24 * HOURS_MS;

#[test]
fn r14_a_start_with_the_clock_400_days_ahead_deletes_nothing_until_a_person_confirms_it() {
    let set = Set::new("");
    let first = set.submit();
    set.down();
    set.off_by(400 * DAY_MS);
    set.up();
    let doubt = set.doubt().expect("the operator is told");
    assert!(doubt.contains("relaymesh clock confirm"), "{doubt}");
    let ready = Web::of(&set.house).get("/ready");
    assert!(ready.status == 200 && ready.body.contains("clock_unconfirmed"), "{ready:?}");
    let metrics = set.house.run(&["metrics"]).stdout;
    assert!(metrics.contains("relaymesh_trouble{trouble=\"clock_unconfirmed\"} 1"), "{metrics}");
    let purged = set.with_its_clock(&["purge", "--days", "8", "--yes"]);
    assert!(
        purged.stdout.contains("purged 0") && purged.stderr.contains("clock"),
        "{}{}",
        purged.stdout,
        purged.stderr
    );
    assert_eq!(set.submit(), first, "the key is known");
    let now = SystemTime::now().duration_since(UNIX_EPOCH).unwrap().as_millis() as u64;
    let late = set.house.run(&["submit", "--agent", "echo", "--input", "2", "--wait"]);
    assert_eq!(late.code, 0, "{}", late.stderr);
    let newest = set.house.run(&["task", "list", "--json"]).lines();
    let stamps: Vec<u64> = newest.iter().filter_map(|task| task["created_ms"].as_u64()).collect();
    assert!(stamps.len() == 2 && stamps.iter().all(|stamp| stamp.abs_diff(now) < HOURS_MS as u64), "{stamps:?}");
    set.down();
    let log = std::fs::read_to_string(set.house.0.root().join("daemon.log")).unwrap();
    assert!(log.contains("clock_unconfirmed"), "{log}");
    assert_eq!(set.tasks(), 2, "upkeep has run, and deleted nothing");
    // Put right, everything is as before.
    set.up_and_down(0);
    assert_eq!(set.tasks(), 2);
    set.off_by(400 * DAY_MS);
    set.up();
    set.with_its_clock(&["clock", "confirm", "--yes"]);
    until("the daemon has heeded it", PATIENCE, || set.doubt().is_none().then_some(()));
    set.down();
    set.up_and_down(400 * DAY_MS);
    assert_eq!(set.tasks(), 0, "a year is a year");
}

#[test]
fn r14_a_start_in_1970_deletes_nothing_and_stops_nothing() {
    let set = Set::new("");
    let first = set.submit();
    set.down();
    let now = i64::try_from(SystemTime::now().duration_since(UNIX_EPOCH).unwrap().as_millis()).unwrap();
    set.off_by(-now + 5_000);
    set.up();
    assert!(set.doubt().is_some_and(|doubt| doubt.contains("1970-01-01")));
    assert_eq!(set.submit(), first);
    set.down();
    set.off_by(0);
    set.up();
    assert_eq!((set.doubt(), set.tasks()), (None, 1), "the right time is not suspect");
    assert_eq!(set.house.run(&["log", "verify"]).code, 0);
}

#[test]
fn r22_a_token_that_has_expired_stays_so_when_the_clock_is_set_back() {
    let set = Set::new("");
    let token = set.with_its_clock(&["token", "create", "short", "--scope", "ro", "--ttl", "2s"]).stdout;
    let web = Web::of(&set.house).with(token.trim());
    assert_eq!(web.get("/tasks").status, 200);
    until("it has expired", PATIENCE, || (web.get("/tasks").status == 401).then_some(()));
    for restarts in [false, true] {
        set.off_by(-HOURS_MS);
        if restarts {
            set.down();
            set.up();
        }
        let web = Web::of(&set.house).with(token.trim());
        assert_eq!(web.get("/tasks").status, 401, "with a restart: {restarts}");
    }
    // Killed, nothing was said at the end.
    set.house.kill();
    set.up();
    assert_eq!(Web::of(&set.house).with(token.trim()).get("/tasks").status, 401);
    // One that is made now is good for its time.
    let other = set.with_its_clock(&["token", "create", "other", "--scope", "ro", "--ttl", "1h"]).stdout;
    assert_eq!(Web::of(&set.house).with(other.trim()).get("/tasks").status, 200);
}
