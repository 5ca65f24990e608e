//! A disk that cannot be read for a moment: nothing is stranded by it, and nobody waits for ever.
//!
//! Live rows are in memory, so most of this needs a roll-back first: it lets go of them.

use super::{Rig, done, worker};
use crate::driver::{Answer, Command, Config, Error, Until};
use relaymesh_core::{
    id::StepId,
    task::{Status, request::Request as Asked},
};
use relaymesh_store::Error as StoreError;
use serde_json::json;

/// Lets the engine forget all rows: the next commit finds no room.
fn forget_rows(rig: &mut Rig) {
    rig.disk.fail_next_commit(StoreError::Full { detail: "no space left".to_owned() }, false);
    let refused = rig.call(Command::Heartbeat { worker: worker(9), within: None });
    assert!(matches!(refused, Err(Error::DiskFull(_))));
}

#[test]
fn whoever_waits_for_a_task_that_never_came_to_be_is_told_although_nothing_can_be_read() {
    let mut rig = Rig::new();
    let command = rig.submit_command(&Asked::single("hold".parse().unwrap(), None), Until::Ended);
    let answered = rig.send(command);
    rig.disk.fail_next_commit(StoreError::Full { detail: "no space left".to_owned() }, false);
    let batch = rig.engine.poll_batch().unwrap();
    let result = relaymesh_store::Store::commit(rig.store.as_mut().unwrap(), &batch);
    rig.disk.fail_reads(1);
    rig.engine.handle_committed(result);
    assert!(matches!(answered.try_recv(), Ok(Err(Error::DiskFull(_)))));
}

#[test]
fn an_outcome_whose_rows_cannot_be_read_is_told_again() {
    let mut rig = Rig::new();
    let task = rig.single("hold");
    let work = rig.begun();
    forget_rows(&mut rig);
    rig.disk.fail_reads(1);
    rig.finish(work.hold, done("7"));
    rig.pass(10_000);
    assert_eq!(rig.status(task), Status::Success);
    assert_eq!(rig.rows(task).steps[0].epoch, 1, "the same attempt, not another one");
}

#[test]
fn a_lease_that_ran_out_while_nothing_could_be_read_still_runs_out() {
    let mut rig = Rig::new();
    let task = rig.single("outside");
    let claim = Command::Claim { step: StepId { task, index: 0 }, worker: worker(1), lease_ms: 500 };
    assert!(matches!(rig.call(claim), Ok(Answer::Claimed(_))));
    forget_rows(&mut rig);
    rig.disk.fail_reads(100);
    rig.pass(600);
    rig.disk.fail_reads(0);
    rig.pass(5_000);
    assert_eq!(rig.step_status(task, 0), Status::Retrying, "not held for ever");
}

#[test]
fn ready_steps_that_could_not_be_read_are_found_later() {
    let mut rig = Rig::with(Config { queue_capacity: 1, slots: 1, ..Config::default() });
    let tasks: Vec<_> = (0..4).map(|_| rig.single("hold")).collect();
    let first = rig.begun();
    rig.disk.fail_reads(100);
    rig.finish(first.hold, done("1"));
    rig.disk.fail_reads(0);
    for _ in 0..10 {
        rig.pass(10_000);
        let next = rig.levers.lock().unwrap().begun.pop_front();
        if let Some(work) = next {
            rig.finish(work.hold, done("1"));
        }
    }
    let ended: Vec<Status> = tasks.into_iter().map(|task| rig.status(task)).collect();
    assert_eq!(ended, [Status::Success; 4]);
}

#[test]
fn an_approval_that_ran_out_while_nothing_could_be_read_is_denied_later() {
    let mut rig = Rig::new();
    let asks = json!({ "name": "asks", "steps": [
        { "id": "a", "agent": "echo", "approve": { "text": "may it?", "deadline_ms": 2_000 } }] });
    let task = rig.submit(&super::flow(asks));
    assert_eq!(rig.step_status(task, 0), Status::Waiting);
    rig.disk.fail_reads(1);
    rig.pass(2_000);
    rig.pass(10_000);
    assert_eq!(rig.status(task), Status::Failed);
}

#[test]
fn more_approvals_than_a_page_run_out_at_once_and_all_are_denied() {
    let mut rig = Rig::new();
    let asks = json!({ "name": "asks", "steps": [
        { "id": "a", "agent": "echo", "approve": { "text": "may it?", "deadline_ms": 2_000 } }] });
    let tasks: Vec<_> = (0..300).map(|_| rig.submit(&super::flow(asks.clone()))).collect();
    rig.pass(2_000);
    assert!(tasks.into_iter().all(|task| rig.status(task) == Status::Failed));
}

#[test]
fn an_input_that_cannot_be_read_for_a_moment_costs_an_attempt_and_not_the_task() {
    let mut rig = Rig::with(Config { slots: 1, ..Config::default() });
    rig.single("hold");
    let waiting = rig.single("hold");
    let first = rig.begun();
    rig.engine.handle_finished(crate::world::Finished::new(first.hold, done("1")));
    let batch = rig.engine.poll_batch().unwrap();
    let result = relaymesh_store::Store::commit(rig.store.as_mut().unwrap(), &batch);
    rig.engine.handle_committed(result);
    rig.engine.tell();
    rig.disk.fail_reads(1);
    while rig.engine.start_some(1) {}
    rig.settle();
    assert_eq!(rig.step_status(waiting, 0), Status::Retrying);
}
