//! Processes that stand still for longer than anybody should wait: agents, workers from outside, and the daemon itself.

#![allow(clippy::unwrap_used, reason = "a test that cannot go on should stop")]

use crate::common::{
    house::House,
    wire::{Wire, until},
};
use relaymesh_core::id::{TaskId, WorkerId};
use relaymesh_store::Reader as _;
use relaymesh_store_sqlite::SqliteReader;
use serde_json::{Value, json};
use std::{
    process::Command,
    time::{Duration, Instant},
};

/// Longer than anything here takes on a busy machine.
const PATIENCE: Duration = Duration::from_secs(60);

fn house(agents: &str) -> House {
    let house = House::new();
    std::fs::create_dir_all(house.0.root()).unwrap();
    std::fs::write(house.0.root().join("agents.toml"), agents).unwrap();
    house
}

fn signal(pid: &str, name: &str) {
    let sent = Command::new("kill").args([&format!("-{name}"), pid.trim()]).status().unwrap();
    assert!(sent.success(), "kill -{name} {pid}");
}

/// What a process is doing: `S`leeping, s`T`opped; `None` when it is gone.
fn state(pid: &str) -> Option<char> {
    let stat = std::fs::read_to_string(format!("/proc/{}/stat", pid.trim())).ok()?;
    stat.rsplit(") ").next()?.chars().next().filter(|state| *state != 'Z')
}

/// What the attempt of this number wrote into a file of its folder, once it is there.
fn wrote(house: &House, task: TaskId, attempt: u32, file: &str) -> String {
    let path = house.0.root().join(format!("attempts/{task}/a.{attempt}/{file}"));
    until("it has written", PATIENCE, || std::fs::read_to_string(&path).ok().filter(|text| text.ends_with('\n')))
}

fn step(house: &House, task: TaskId) -> Value {
    house.json(&["task", "show", &task.to_string(), "--history"])["steps"][0].clone()
}

/// The daemon renews what its own agents hold as long as it lives: whoever stands still is ended by the step's timeout, although it
/// could not hear the SIGTERM, and the next attempt is made.
#[test]
fn an_agent_that_is_stopped_is_ended_by_its_timeout_and_tried_again() {
    let script = "sh -c 'echo $$ > pid; [ $RELAYMESH_ATTEMPT -gt 1 ] || exec sleep 1000; echo 2'";
    let words = script.split_once(" -c ").map(|(sh, body)| json!([sh, "-c", body.trim_matches('\'')])).unwrap();
    let house = house(&format!("[agents.still]\ncommand = {words}\ngrace_ms = 200\n"));
    let wire = Wire::to(&house);
    let retry = json!({ "max_attempts": 3, "base_backoff_ms": 1 });
    let task = wire.submit(1, json!({ "id": "a", "agent": "still", "timeout_ms": 1_000, "retry": retry }));
    let pid = wrote(&house, task, 1, "pid");
    signal(&pid, "STOP");
    let waited = house.run(&["task", "wait", &task.to_string()]);
    assert_eq!((waited.code, waited.stdout.trim()), (0, "2"), "{}", waited.stderr);
    assert_eq!(state(&pid), None, "it is gone, and nobody had to wake it");
    let step = step(&house, task);
    assert_eq!(step["attempt"], 2, "{step}");
    assert_eq!(step["history"][0]["outcome"], "TIMEOUT", "{step}");
}

/// A worker from outside must speak. One that stood still for longer than its lease has lost it: what it says later is refused, and
/// kept in the journal.
#[test]
fn d7_a_worker_from_outside_that_was_stopped_is_fenced_and_journalled() {
    let house = House::new();
    let wire = Wire::to(&house);
    let retry = json!({ "max_attempts": 3, "base_backoff_ms": 1 });
    let task = wire.submit(1, json!({ "id": "a", "agent": "elsewhere", "retry": retry }));
    let (first, second) = (WorkerId::from_bytes([1; 16]), WorkerId::from_bytes([2; 16]));
    let stale = wire.claim(task, first, 300);
    // It says nothing. Nobody else can have the step before the lease has run out and the step is due again.
    let fresh = until("the lease has run out", PATIENCE, || wire.try_claim(task, second, 60_000).ok());
    assert!(fresh.epoch > stale.epoch);
    let refused = wire.finish(stale).unwrap_err();
    assert!(refused.message.contains("rejected_fenced"), "{refused:?}");
    wire.finish(fresh).unwrap();
    assert_eq!(house.run(&["task", "wait", &task.to_string()]).code, 0);
    assert_eq!(house.run(&["down"]).code, 0);
    let conflicts = SqliteReader::open(&house.0.root()).unwrap().conflicts(10).unwrap();
    let found: Vec<_> = conflicts.iter().map(|conflict| (conflict.verb, conflict.step)).collect();
    assert_eq!(found, [("complete", stale.step)]);
}

/// Stopped for longer than twice the lease: its own attempts go on, and a worker from outside that spoke meanwhile keeps its step.
#[test]
fn r10_a_daemon_that_was_stopped_takes_nothing_from_anybody_when_it_goes_on() {
    const LEASE: Duration = Duration::from_secs(4);
    let house =
        house("[agents.slow]\ncommand = [\"sh\", \"-c\", \"echo $$ > pid; until [ -e go ]; do sleep 0.05; done\"]\n");
    let wire = Wire::to(&house);
    let own: Vec<TaskId> = (1..=3).map(|n| wire.submit(n, json!({ "id": "a", "agent": "slow", "input": n }))).collect();
    let pids: Vec<String> = own.iter().map(|task| wrote(&house, *task, 1, "pid")).collect();
    let worker = WorkerId::from_bytes([1; 16]);
    let theirs: Vec<_> = (11..=13)
        .map(|n| wire.submit(n, json!({ "id": "a", "agent": "elsewhere", "input": n })))
        .map(|task| wire.claim(task, worker, LEASE.as_millis() as u64))
        .collect();
    let daemon = house.pid().unwrap().to_string();
    let stopped = Instant::now();
    signal(&daemon, "STOP");
    until("it has stopped", PATIENCE, || (state(&daemon) == Some('T')).then_some(()));
    // It speaks while nobody listens.
    let speaking = std::thread::scope(|scope| {
        let speaking = scope.spawn(|| wire.heartbeat(worker));
        until("twice the lease has passed", PATIENCE, || (stopped.elapsed() > 2 * LEASE + LEASE / 2).then_some(()));
        signal(&daemon, "CONT");
        speaking.join()
    });
    speaking.unwrap();
    for hold in theirs {
        // Its word counts: nobody has taken the step from it.
        wire.finish(hold).unwrap();
        let found = step(&house, hold.step.task);
        assert_eq!((&found["attempt"], &found["epoch"]), (&json!(1), &json!(1)), "{found}");
    }
    for (task, pid) in own.iter().zip(&pids) {
        assert!(state(pid).is_some(), "it goes on");
        std::fs::write(house.0.root().join(format!("attempts/{task}/a.1/go")), "").unwrap();
        assert_eq!(house.run(&["task", "wait", &task.to_string()]).code, 0);
        let found = step(&house, *task);
        assert_eq!((&found["attempt"], &found["epoch"]), (&json!(1), &json!(1)), "{found}");
    }
    let log = std::fs::read_to_string(house.0.root().join("daemon.log")).unwrap();
    assert!(log.contains("this process was suspended for at least"), "{log}");
}
