//! Death and return: what was durable goes on, what was not is gone, fences only grow.

use super::{Rig, done, worker};
use crate::driver::{Answer, Command, Until};
use relaymesh_core::{
    id::StepId,
    op::Chain,
    task::{Outcome, Status, request::Request as Asked},
};
use relaymesh_store::{Batch, Reader as _, Store as _, verify};

#[test]
fn d6_an_attempt_of_our_own_agents_died_with_the_process() {
    let mut rig = Rig::new();
    let task = rig.single("hold");
    let dead = rig.begun();
    let mut rig = rig.crash();
    rig.settle();
    let rows = rig.rows(task);
    assert_eq!((rows.steps[0].status, rows.steps[0].history[0].outcome), (Status::Retrying, Outcome::Abandoned));
    rig.pass(1_500);
    let again = rig.begun();
    assert_eq!((again.hold.epoch, again.attempt), (2, 2));
    rig.finish(dead.hold, done("from the dead"));
    assert_eq!(rig.step_status(task, 0), Status::Running, "the dead attempt is fenced");
    rig.finish(again.hold, done("1"));
    assert_eq!(rig.status(task), Status::Success);
}

#[test]
fn d6_a_worker_from_outside_gets_one_fresh_full_term() {
    let mut rig = Rig::new();
    let task = rig.single("outside");
    let step = StepId { task, index: 0 };
    let Ok(Answer::Claimed(hold)) = rig.call(Command::Claim { step, worker: worker(1), lease_ms: 1_000 }) else {
        panic!("not claimed")
    };
    rig.pass(900);
    let mut rig = rig.crash();
    rig.pass(1_000);
    assert_eq!(rig.step_status(task, 0), Status::Running);
    rig.call(Command::Finish { hold, outcome: done("1") }).unwrap();
    assert_eq!(rig.status(task), Status::Success);
}

/// After a restore or a loss nobody can tell what became of the lease since: the worker is fenced, and the step is done again.
#[test]
fn a_worker_from_outside_gets_no_term_at_the_first_start_in_a_new_origin_epoch() {
    let mut rig = Rig::new();
    let task = rig.single("outside");
    let step = StepId { task, index: 0 };
    let claim = |lease_ms| Command::Claim { step, worker: worker(1), lease_ms };
    let Ok(Answer::Claimed(hold)) = rig.call(claim(1_000)) else { panic!("not claimed") };
    let mut head = rig.disk.reader().head().unwrap();
    head.chain = Chain { hlc: head.chain.hlc, ..Chain::new(head.chain.origin, head.chain.origin_epoch + 1) };
    drop(rig.store.take());
    rig.disk.open().unwrap().commit(&Batch::new(head)).unwrap();
    let mut rig = rig.crash();
    rig.settle();
    let rows = rig.rows(task);
    assert_eq!((rows.steps[0].status, rows.steps[0].history[0].outcome), (Status::Retrying, Outcome::Abandoned));
    assert!(rig.call(Command::Finish { hold, outcome: done("1") }).is_err(), "it is of an earlier life");
    rig.pass(1_500);
    let Ok(Answer::Claimed(_)) = rig.call(claim(1_000)) else { panic!("not claimed") };
    // From the second start on it is as ever.
    let mut rig = rig.crash();
    rig.settle();
    assert_eq!(rig.step_status(task, 0), Status::Running);
}

#[test]
fn a_task_that_was_decided_and_not_committed_is_gone_and_can_be_sent_again() {
    let mut rig = Rig::new();
    let command = rig.submit_command(&Asked::single("hold".parse().unwrap(), None), Until::Accepted);
    let answered = rig.send(command.clone());
    let _lost = rig.engine.poll_batch();
    let mut rig = rig.crash();
    assert!(answered.try_recv().is_err(), "nobody was told");
    assert!(matches!(rig.call(command), Ok(Answer::Accepted { merged: false, .. })));
}

#[test]
fn retries_approvals_and_backlog_are_taken_up_again() {
    let mut rig = Rig::new();
    let asked = super::flow(serde_json::json!({ "name": "later", "steps": [
        { "id": "retry", "agent": "fail", "retry": { "max_attempts": 2, "base_backoff_ms": 5000, "max_backoff_ms": 5000 } },
    ]}));
    let retry = rig.submit(&asked);
    let ask = super::flow(serde_json::json!({ "name": "ask", "steps": [
        { "id": "a", "agent": "echo", "approve": { "text": "?", "deadline_ms": 9000 } },
    ]}));
    let waiting = rig.submit(&ask);
    let mut rig = rig.crash();
    rig.settle();
    assert_eq!((rig.status(retry), rig.step_status(waiting, 0)), (Status::Running, Status::Waiting));
    rig.pass(7_500);
    assert_eq!(rig.status(retry), Status::DeadLetter);
    rig.pass(1_750);
    assert_eq!(rig.status(waiting), Status::Failed);
}

#[test]
fn the_log_verifies_and_rebuilds_after_every_kind_of_history() {
    let mut rig = Rig::new();
    rig.single("echo");
    rig.single("outside");
    let mut rig = rig.crash();
    let cancelled =
        rig.submit(&super::flow(serde_json::json!({ "name": "c", "steps": [{ "id": "c", "agent": "hold" }] })));
    rig.call(Command::Cancel { task: cancelled, mode: relaymesh_core::op::CancelMode::Hard, reason: String::new() })
        .unwrap();
    let mut reader = rig.disk.reader();
    verify::rows(&mut reader, &mut |_| {}).unwrap();
    let mut scratch = relaymesh_store::memory::MemoryStore::new(reader.head().unwrap().chain.origin);
    let rebuilt = verify::rebuild(&mut reader, &mut scratch, &mut |_| {}).unwrap();
    assert_eq!((rebuilt.tasks, rebuilt.differences.len()), (3, 0));
}
