//! The ready window: bounded in memory, nothing lost beyond it, lanes respected.

use super::{Rig, done};
use crate::driver::{Command, Config, LifeCommand, Until};
use relaymesh_core::{
    op::{CancelMode, Scope},
    task::{Status, request::Request as Asked},
};
use relaymesh_store::{Reader as _, TaskFilter};
use serde_json::json;

#[test]
fn r18_a_backlog_far_larger_than_the_window_is_worked_off() {
    let mut rig = Rig::with(Config { queue_capacity: 5, slots: 2, ..Config::default() });
    for _ in 0..300 {
        let asked = Asked::single("hold".parse().unwrap(), None);
        let command = rig.submit_command(&asked, Until::Accepted);
        rig.send(command);
    }
    rig.settle();
    for _ in 0..300 {
        assert!(rig.engine.live() <= 5 + 2 + 1, "the backlog is in the store, not in memory");
        let work = rig.begun();
        rig.finish(work.hold, done("1"));
    }
    let ended = TaskFilter { status: Some(Status::Success), ..TaskFilter::default() };
    assert_eq!(rig.disk.reader().tasks(&ended, None, 1_000).unwrap().len(), 300);
    assert_eq!(rig.engine.live(), 0);
}

#[test]
fn r18_the_window_never_holds_more_than_its_capacity() {
    for queue_capacity in 1..14 {
        let mut rig = Rig::with(Config { queue_capacity, slots: 1, ..Config::default() });
        let priorities = ["high", "normal", "low"];
        for n in 0..60 {
            let priority = priorities[n % 3];
            let step = json!({ "id": "a", "agent": "hold", "priority": priority });
            rig.submit(&super::flow(json!({ "name": "one", "steps": [step] })));
        }
        for _ in 0..60 {
            let work = rig.begun();
            rig.finish(work.hold, done("1"));
            let window = rig.engine.sizes().window;
            assert!(window <= queue_capacity, "{window} of {queue_capacity}");
        }
    }
}

#[test]
fn r13_high_runs_before_low_but_low_is_not_starved() {
    let mut rig = Rig::with(Config { queue_capacity: 100, slots: 1, ..Config::default() });
    let mut submit = |priority: &str| {
        let asked = super::flow(
            json!({ "name": priority, "steps": [{ "id": priority, "agent": "hold", "priority": priority }] }),
        );
        rig.submit(&asked)
    };
    submit("normal"); // takes the slot
    for _ in 0..24 {
        submit("low");
    }
    for _ in 0..24 {
        submit("high");
    }
    let mut order = Vec::new();
    for _ in 0..25 {
        let work = rig.begun();
        order.push(rig.rows(work.hold.step.task).task.name.to_string());
        rig.finish(work.hold, done("1"));
    }
    let high = order.iter().filter(|name| *name == "high").count();
    assert!((20..24).contains(&high), "{order:?}");
}

#[test]
fn no_slots_means_accepted_and_not_begun() {
    let mut rig = Rig::with(Config { slots: 0, ..Config::default() });
    let task = rig.single("echo");
    assert_eq!(rig.status(task), Status::Pending);
}

/// Ends attempts one by one until none is left, and gives the agents in the order in which they began.
fn work_off(rig: &mut Rig, places: usize) -> Vec<String> {
    let mut order = Vec::new();
    loop {
        let waiting = rig.levers.lock().unwrap().begun.len();
        assert!(waiting <= places, "{waiting} at once, {places} places");
        if waiting == 0 {
            return order;
        }
        let work = rig.begun();
        order.push(work.agent.to_string());
        rig.finish(work.hold, done("1"));
    }
}

fn ended(rig: &Rig) -> usize {
    let ended = TaskFilter { status: Some(Status::Success), ..TaskFilter::default() };
    rig.disk.reader().tasks(&ended, None, 10_000).unwrap().len()
}

#[test]
fn r20_an_agent_without_a_place_holds_nobody_else_up() {
    let mut rig = Rig::with(Config { queue_capacity: 20, ..Config::default() });
    for _ in 0..500 {
        rig.single("narrow");
    }
    assert_eq!(rig.levers.lock().unwrap().begun.len(), 2, "as many as there are places");
    let other = rig.single("echo");
    assert_eq!(rig.status(other), Status::Success, "nobody waits behind them");
    assert!(rig.engine.live() <= 2 + 16 + 1, "{} are in memory", rig.engine.live());
    assert_eq!(work_off(&mut rig, 2).len(), 500);
    assert_eq!((ended(&rig), rig.engine.live(), rig.engine.sizes().window), (501, 0, 0));
}

#[test]
fn r20_agents_that_share_places_take_turns() {
    let mut rig = Rig::new();
    for agent in ["slim", "narrow"] {
        for _ in 0..50 {
            rig.single(agent);
        }
    }
    let order = work_off(&mut rig, 2);
    let first = order[2..82].iter().filter(|agent| *agent == "narrow").count();
    assert!((38..=42).contains(&first), "{order:?}");
    assert_eq!(order.len(), 100);
}

#[test]
fn what_waits_for_a_place_is_found_again_after_a_restart_and_after_a_full_disk() {
    let mut rig = Rig::with(Config { queue_capacity: 10, ..Config::default() });
    for _ in 0..100 {
        rig.single("narrow");
    }
    let detail = "no room".to_owned();
    rig.disk.fail_next_commit(relaymesh_store::Error::Full { detail }, false);
    let command = rig.submit_command(&Asked::single("narrow".parse().unwrap(), None), Until::Accepted);
    let refused = rig.send(command);
    rig.settle();
    assert!(refused.try_recv().unwrap().is_err());
    rig.pass(10_000);
    let mut rig = rig.crash();
    rig.settle();
    rig.pass(60_000);
    while ended(&rig) < 100 {
        assert!(!work_off(&mut rig, 2).is_empty(), "{} ended", ended(&rig));
        rig.pass(60_000);
    }
    assert_eq!(rig.engine.live(), 0);
}

#[test]
fn r13_an_agent_with_few_places_serves_its_lanes_eight_three_one() {
    let mut rig = Rig::with(Config { queue_capacity: 10, ..Config::default() });
    for priority in ["low", "normal", "high"] {
        for _ in 0..120 {
            let step = json!({ "id": priority, "agent": "narrow", "priority": priority });
            rig.submit(&super::flow(json!({ "name": priority, "steps": [step] })));
        }
    }
    let mut shares = std::collections::BTreeMap::new();
    for n in 0..122 {
        let work = rig.begun();
        if n >= 2 {
            *shares.entry(work.name.to_string()).or_insert(0_usize) += 1;
        }
        rig.finish(work.hold, done("1"));
    }
    let near = |name: &str, share: usize| shares[name].abs_diff(share) <= 2;
    assert!(near("high", 80) && near("normal", 30) && near("low", 10), "{shares:?}");
}

#[test]
fn a_task_that_is_purged_while_its_step_stands_in_the_window_is_let_go_of() {
    let mut rig = Rig::with(Config { slots: 1, ..Config::default() });
    rig.single("hold"); // takes the slot
    let waiting = rig.single("narrow");
    let cancel = Command::Cancel { task: waiting, mode: CancelMode::Hard, reason: String::new() };
    rig.call(cancel).unwrap();
    rig.call(Command::Life(LifeCommand::Purge { scope: Scope::Task(waiting) })).unwrap();
    let work = rig.begun();
    rig.finish(work.hold, done("1"));
    assert_eq!(rig.engine.live(), 0);
}
