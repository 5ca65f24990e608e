//! The ready window: bounded in memory, nothing lost beyond it, lanes respected.

use super::{Rig, done};
use crate::driver::{Config, Until};
use relaymesh_core::task::{Status, request::Request as Asked};
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
