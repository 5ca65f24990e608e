//! Many tasks at once through the socket of a real daemon.

#![allow(clippy::unwrap_used, reason = "a test that cannot go on should stop")]

use crate::common::{
    house::House,
    wire::{Wire, submit, until},
};
use relaymesh_core::task::Status;
use relaymesh_runtime::driver::{Answer, Until};
use serde_json::{Value, json};
use std::{collections::HashMap, time::Duration};

/// Longer than anything here takes on a busy machine.
const PATIENCE: Duration = Duration::from_secs(240);

/// One step, two in a row, or a fan of three; what each is given is its own.
fn steps(number: u64) -> Value {
    let first = json!({ "id": "a", "agent": "echo", "input": { "n": number } });
    let after = |id: &str| json!({ "id": id, "agent": "hash", "depends_on": ["a"] });
    match number % 4 {
        0 => json!([first, after("b")]),
        1 => json!([first, after("b"), after("c")]),
        _ => json!([first]),
    }
}

fn steps_of(tasks: u64) -> u64 {
    (0..tasks).map(|number| steps(number).as_array().unwrap().len() as u64).sum()
}

#[test]
fn r36_a_thousand_tasks_through_the_socket_end_once_each_and_the_state_is_consistent() {
    const TASKS: u64 = 1_000;
    const CLIENTS: u64 = 8;
    let house = House::new();
    let wires: Vec<Wire> = (0..CLIENTS).map(|_| Wire::to(&house)).collect();
    std::thread::scope(|scope| {
        for (first, wire) in (0..).zip(&wires) {
            // Each task is submitted twice, by two clients: it is one task.
            let own = (0..TASKS).filter(move |n| n % CLIENTS == first || (n + 1) % CLIENTS == first);
            scope.spawn(move || {
                let answers = wire.all(own.map(|number| submit(number, steps(number), Until::Ended)));
                let is_well = |answer: &Answer| matches!(answer, Answer::Ended { status: Status::Success, .. });
                assert!(answers.iter().all(is_well), "{answers:?}");
            });
        }
    });
    let listed = house.run(&["task", "list", "--limit", "1000", "--status", "SUCCESS", "--json"]).lines();
    assert_eq!(listed.len() as u64, TASKS);
    let stats = house.json(&["log", "stats"]);
    assert_eq!((stats["tasks"].as_u64(), stats["steps"].as_u64()), (Some(TASKS), Some(steps_of(TASKS))), "{stats}");
    // A submit for each task, a claim and a completion for each step, and nothing twice.
    let ops = house.run(&["log", "show", "--from", "1", "--limit", "100000", "--json"]).lines();
    let mut kinds: HashMap<String, u64> = HashMap::new();
    for op in &ops {
        *kinds.entry(kind(op)).or_default() += 1;
    }
    let expected = [("ScheduleJob", TASKS), ("ClaimWork", steps_of(TASKS)), ("CompleteJob", steps_of(TASKS))];
    assert_eq!(kinds, expected.map(|(kind, count)| (kind.to_owned(), count)).into());
    assert_eq!(house.run(&["down"]).code, 0);
    for check in ["verify", "rebuild"] {
        let said = house.run(&["log", check]);
        assert_eq!(said.code, 0, "{check}: {}{}", said.stdout, said.stderr);
    }
}

/// The kind of an op, as `log show` prints it.
fn kind(op: &Value) -> String {
    op["kind"].as_str().unwrap_or_else(|| panic!("{op}")).to_owned()
}

/// Everything is queued before anybody can do it: the agent gets its name only then.
#[test]
fn r13_lanes_share_eight_three_one_through_the_daemon_and_low_never_starves() {
    const QUEUED: [(&str, u64); 3] = [("high", 10_000), ("normal", 1_000), ("low", 100)];
    /// Claims that are looked at: the low lane has work for a little longer.
    const LOOKED_AT: usize = 1_080;
    let house = House::new();
    let wire = Wire::to(&house);
    let mut lanes: HashMap<String, &str> = HashMap::new();
    let mut number = 0;
    for (lane, count) in QUEUED {
        let numbers = number..number + count;
        number += count;
        let step = |n: u64| json!([{ "id": "a", "agent": "one", "priority": lane, "input": n }]);
        for answer in wire.all(numbers.map(|n| submit(n, step(n), Until::Accepted))) {
            let Answer::Accepted { task, .. } = answer else { panic!("{answer:?}") };
            lanes.insert(task.to_string(), lane);
        }
    }
    let queued_pos = wire.0.status().unwrap().pos;
    std::fs::write(house.0.root().join("agents.toml"), "[agents.one]\ncommand = [\"true\"]\nconcurrency = 1\n")
        .unwrap();
    // Two ops to a step.
    until("enough have run", PATIENCE, || {
        (wire.0.status().unwrap().pos >= queued_pos + 2 * LOOKED_AT as u64).then_some(())
    });
    let status = house.json(&["status"]);
    assert_eq!(status["low_starvation_count"], 0, "with all lanes full the rule never has to step in: {status}");
    assert_eq!(house.run(&["down"]).code, 0);
    let from = (queued_pos + 1).to_string();
    let ops = house.run(&["log", "show", "--from", &from, "--limit", "3000", "--json"]).lines();
    let claims: Vec<&str> = ops.iter().filter(|op| kind(op) == "ClaimWork").map(|op| lanes[&task_of(op)]).collect();
    let claims = &claims[..LOOKED_AT];
    for (lane, share) in [("high", 8.0), ("normal", 3.0), ("low", 1.0)] {
        let found = claims.iter().filter(|claimed| **claimed == lane).count() as f64;
        let expected = LOOKED_AT as f64 * share / 12.0;
        assert!((found - expected).abs() <= 0.2 * expected, "{lane}: {found} of {LOOKED_AT}");
    }
    let longest = claims.split(|lane| *lane == "low").map(<[&str]>::len).max();
    assert!(longest < Some(100), "a low one waited for {longest:?} others");
}

/// The task that an op is about.
fn task_of(op: &Value) -> String {
    op["scope"]["task"].as_str().unwrap_or_else(|| panic!("{op}")).to_owned()
}
