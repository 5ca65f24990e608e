//! Attempts: failing, retrying, giving up, timing out, cancelling, compensating.

use super::{Rig, done, failed, flow};
use crate::{
    driver::{Answer, Command, Until},
    world::{Alert, Outcome as Ended},
};
use relaymesh_core::{
    id::TaskId,
    op::CancelMode,
    task::{Outcome, Status},
};
use serde_json::json;

#[test]
fn r19_a_failure_is_tried_again_when_it_is_due_and_then_given_up() {
    let mut rig = Rig::new();
    let task = rig.submit(&flow(json!({ "name": "f", "steps": [
        { "id": "f", "agent": "fail", "retry": { "max_attempts": 3, "base_backoff_ms": 1000, "max_backoff_ms": 60000 } },
    ]})));
    assert_eq!(rig.step_status(task, 0), Status::Retrying);
    rig.pass(999);
    assert_eq!(rig.rows(task).steps[0].attempt, 1, "not before the backoff");
    rig.pass(500 + 1);
    assert_eq!(rig.rows(task).steps[0].attempt, 2);
    rig.pass(3_000);
    let rows = rig.rows(task);
    assert_eq!((rows.task.status, rows.steps[0].attempt, rows.steps[0].epoch), (Status::DeadLetter, 3, 3));
    assert_eq!(rows.steps[0].error.as_deref(), Some("asked to"));
    assert_eq!(rig.engine.wake_at(), None, "nothing is left to wait for");
}

#[test]
fn a_redrive_starts_over_with_a_higher_epoch() {
    let mut rig = Rig::new();
    let task = rig.submit(&flow(json!({ "name": "f", "steps": [
        { "id": "f", "agent": "hold", "retry": { "max_attempts": 1, "base_backoff_ms": 1, "max_backoff_ms": 1 } },
    ]})));
    let first = rig.begun();
    rig.finish(first.hold, failed("no"));
    assert_eq!(rig.status(task), Status::DeadLetter);
    let answer = rig.call(Command::Redrive { task, reason: "again".to_owned() });
    assert_eq!(answer, Ok(Answer::Done { status: Status::Running }));
    let second = rig.begun();
    assert_eq!((second.attempt, second.hold.epoch), (1, 2));
    rig.finish(second.hold, done("1"));
    assert_eq!(rig.status(task), Status::Success);
}

#[test]
fn an_attempt_that_takes_too_long_is_stopped_and_its_late_word_is_fenced() {
    let mut rig = Rig::new();
    let task = rig.submit(&flow(json!({ "name": "t", "steps": [
        { "id": "t", "agent": "hold", "timeout_ms": 500, "retry": { "max_attempts": 1, "base_backoff_ms": 1, "max_backoff_ms": 1 } },
    ]})));
    let work = rig.begun();
    rig.pass(499);
    assert_eq!(rig.step_status(task, 0), Status::Running);
    rig.pass(1);
    let rows = rig.rows(task);
    assert_eq!((rows.task.status, rows.steps[0].history[0].outcome), (Status::DeadLetter, Outcome::Timeout));
    assert_eq!(rig.levers.lock().unwrap().stopped, [(work.hold.step, 1)]);
    rig.finish(work.hold, done("too late"));
    assert_eq!(rig.rows(task), rows, "a fenced word changes nothing");
    assert_eq!(relaymesh_store::Reader::conflicts(&mut rig.disk.reader(), 10).unwrap().len(), 1);
}

#[test]
fn a_hard_cancel_stops_what_runs_and_a_soft_one_does_not() {
    for (mode, stopped, status) in [(CancelMode::Hard, 1, Status::Cancelled), (CancelMode::Soft, 0, Status::Running)] {
        let mut rig = Rig::new();
        let task = rig.single("hold");
        let work = rig.begun();
        rig.call(Command::Cancel { task, mode, reason: "enough".to_owned() }).unwrap();
        assert_eq!(rig.status(task), status);
        assert_eq!(rig.levers.lock().unwrap().stopped.len(), stopped);
        rig.finish(work.hold, done("1"));
        assert_eq!(rig.status(task), Status::Cancelled);
    }
}

#[test]
fn r4_compensations_run_in_reverse_order() {
    let mut rig = Rig::new();
    let once = json!({ "max_attempts": 1, "base_backoff_ms": 1, "max_backoff_ms": 1 });
    let task = rig.submit(&flow(json!({ "name": "saga", "steps": [
        { "id": "book", "agent": "echo", "input": 1, "compensate": "unbook" },
        { "id": "pay", "agent": "echo", "depends_on": ["book"], "compensate": "refund" },
        { "id": "ship", "agent": "fail", "depends_on": ["pay"], "retry": once },
        { "id": "unbook", "agent": "hold" },
        { "id": "refund", "agent": "hold" },
    ]})));
    for expected in ["refund", "unbook"] {
        let work = rig.begun();
        assert_eq!(rig.rows(task).steps[usize::from(work.hold.step.index)].spec.name.as_str(), expected);
        assert!(rig.levers.lock().unwrap().begun.is_empty(), "one after the other");
        rig.finish(work.hold, done("1"));
    }
    assert_eq!(rig.status(task), Status::DeadLetter);
}

#[test]
fn an_approval_opens_the_step_and_silence_denies_it() {
    let asked = flow(json!({ "name": "ask", "steps": [
        { "id": "deploy", "agent": "echo", "input": 1, "approve": { "text": "deploy to production?", "deadline_ms": 1000 } },
    ]}));
    let mut rig = Rig::new();
    let task = rig.submit(&asked);
    assert_eq!(rig.step_status(task, 0), Status::Waiting);
    let rows = rig.rows(task);
    let ask = rows.steps[0].spec.approve.as_ref().unwrap().hash();
    rig.call(Command::Approve { step: rows.step_id(0), ask }).unwrap();
    assert_eq!(rig.status(task), Status::Success);

    let silent = rig.submit(&asked);
    rig.pass(1_000);
    assert_eq!(rig.status(silent), Status::Failed);
    assert_eq!(rig.rows(silent).steps[0].error.as_deref(), Some("denied: no decision before the deadline"));
}

#[test]
fn waiters_hear_of_the_end_once_it_is_durable() {
    let mut rig = Rig::new();
    let asked = flow(json!({ "name": "w", "steps": [{ "id": "w", "agent": "hold" }] }));
    let command = rig.submit_command(&asked, Until::Ended);
    let answered = rig.send(command);
    rig.settle();
    let work = rig.begun();
    rig.engine.handle_finished(crate::world::Finished::new(work.hold, done("1")));
    assert!(answered.try_recv().is_err());
    rig.settle();
    assert!(matches!(answered.try_recv(), Ok(Ok(Answer::Ended { status: Status::Success, .. }))));
}

#[test]
fn closing_gives_back_what_runs_without_counting_the_attempt() {
    let mut rig = Rig::new();
    let task = rig.single("hold");
    rig.engine.handle_close();
    rig.settle();
    let step = &rig.rows(task).steps[0];
    assert_eq!((step.status, step.attempt, step.epoch), (Status::Pending, 0, 1));
    let mut rig = rig.crash();
    rig.settle();
    assert_eq!(rig.begun().hold.epoch, 2);
}

#[test]
fn a_provider_that_turns_an_agent_away_costs_no_attempt_and_is_asked_again_in_time() {
    let mut rig = Rig::new();
    let tasks: Vec<TaskId> = (0..3).map(|_| rig.single("narrow")).collect();
    let until_ms = 1_000_000 + 90_000;
    let limited = || Ended::Limited { reason: "usage limit".to_owned(), until_ms: Some(until_ms), alone: false };
    // Two run, one waits. Both are turned away.
    for _ in 0..2 {
        let hold = rig.begun().hold;
        rig.finish(hold, limited());
    }
    assert!(rig.levers.lock().unwrap().begun.is_empty(), "nobody is asked while it is held");
    for task in &tasks {
        assert_eq!((rig.step_status(*task, 0), rig.rows(*task).steps[0].attempt), (Status::Pending, 0));
    }
    assert_eq!(rig.rows(tasks[0]).steps[0].error.as_deref(), Some("usage limit"));
    assert!(matches!(rig.alerts()[..], [Alert::Held { until_ms: told, .. }, Alert::Held { .. }] if told == until_ms));
    rig.pass(89_999);
    assert!(rig.levers.lock().unwrap().begun.is_empty());
    let soon_ms = rig.levers.lock().unwrap().mono_ms + 1;
    assert_eq!(rig.engine.wake_at(), Some(soon_ms), "nobody else would wake it");
    rig.pass(1);
    for _ in 0..3 {
        let hold = rig.begun().hold;
        rig.finish(hold, done("1"));
    }
    assert!(tasks.iter().all(|task| rig.status(*task) == Status::Success));
    assert!(tasks.iter().all(|task| rig.rows(*task).steps[0].attempt == 1), "only the last attempt counts");
}

#[test]
fn whoever_cannot_be_held_has_failed() {
    let mut rig = Rig::new();
    let task = rig.single("hold");
    let hold = rig.begun().hold;
    rig.finish(hold, Ended::Limited { reason: "usage limit".to_owned(), until_ms: None, alone: false });
    assert_eq!((rig.step_status(task, 0), rig.rows(task).steps[0].attempt), (Status::Retrying, 1));
}
