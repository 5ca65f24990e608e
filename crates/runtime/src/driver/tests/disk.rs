//! A disk that is full, and one whose word nobody knows.

use super::{Rig, done, worker};
use crate::{
    driver::{Answer, Command, Config, Error, Until},
    world::{Alert, Finished},
};
use relaymesh_core::{
    id::StepId,
    task::{Status, request::Request as Asked},
};
use relaymesh_store::{Error as StoreError, Reader as _};

fn full() -> StoreError {
    StoreError::Full { detail: "no space left".to_owned() }
}

fn poisoned() -> StoreError {
    StoreError::Poisoned { detail: "sync failed".to_owned() }
}

fn echo() -> Asked {
    Asked::single("echo".parse().unwrap(), None)
}

#[test]
fn d32_a_full_disk_rejects_the_batch_and_what_stood_on_it_and_goes_on_later() {
    let mut rig = Rig::new();
    let before = rig.single("echo");
    let pos = rig.disk.reader().head().unwrap().pos;
    let first = rig.submit_command(&echo(), Until::Accepted);
    let second = rig.submit_command(&echo(), Until::Ended);
    let a = rig.send(first.clone());
    let batch = rig.engine.poll_batch().unwrap();
    let b = rig.send(second);
    let repeat = rig.send(first.clone());
    rig.disk.fail_next_commit(full(), false);
    let result = relaymesh_store::Store::commit(rig.store.as_mut().unwrap(), &batch);
    rig.engine.handle_committed(result);
    rig.engine.tell();
    rig.settle();
    for answered in [a, b, repeat] {
        assert!(matches!(answered.recv().unwrap(), Err(Error::DiskFull(_))));
    }
    assert_eq!(rig.disk.reader().head().unwrap().pos, pos, "nothing was written");
    assert!(matches!(rig.alerts()[..], [Alert::DiskFull(_)]));
    assert_eq!(rig.status(before), Status::Success);
    assert!(matches!(rig.call(first), Ok(Answer::Accepted { merged: false, .. })), "room again");
}

#[test]
fn d32_an_outcome_that_found_no_room_is_told_again() {
    let mut rig = Rig::new();
    let task = rig.single("hold");
    let work = rig.begun();
    rig.disk.fail_next_commit(full(), false);
    rig.finish(work.hold, done("7"));
    assert_eq!(rig.step_status(task, 0), Status::Running);
    rig.pass(1_000);
    assert_eq!(rig.status(task), Status::Success);
    assert_eq!(rig.rows(task).steps[0].epoch, 1, "the same attempt, not another one");
}

#[test]
fn d32_a_worker_whose_word_found_no_room_is_still_watched() {
    let mut rig = Rig::new();
    let task = rig.single("outside");
    let claim = Command::Claim { step: StepId { task, index: 0 }, worker: worker(1), lease_ms: 1_000 };
    let Ok(Answer::Claimed(hold)) = rig.call(claim) else { panic!("not claimed") };
    rig.disk.fail_next_commit(full(), false);
    let refused = rig.call(Command::Finish { hold, outcome: done("1") });
    assert!(matches!(refused, Err(Error::DiskFull(_))));
    rig.pass(1_000);
    rig.pass(1_001);
    assert_eq!(rig.step_status(task, 0), Status::Retrying, "it fell silent and lost its lease");
}

#[test]
fn d32_a_recovery_that_found_no_room_is_made_again() {
    let mut rig = Rig::new();
    let task = rig.single("hold");
    let mut rig = rig.crash();
    rig.disk.fail_next_commit(full(), false);
    rig.settle();
    assert_eq!(rig.step_status(task, 0), Status::Running);
    rig.pass(1_000);
    assert_eq!(rig.step_status(task, 0), Status::Retrying, "not stranded");
}

#[test]
fn d32_a_full_disk_is_not_tried_again_before_its_time() {
    let mut rig = Rig::with(Config { slots: 1, ..Config::default() });
    rig.single("hold");
    let waiting = rig.single("hold");
    let work = rig.begun();
    rig.disk.fail_next_commit(full(), false);
    rig.engine.handle_finished(Finished::new(work.hold, done("1")));
    assert!(rig.commit_one(), "the outcome and the next claim find no room");
    assert!(!rig.commit_one(), "and nothing is tried before a second has passed");
    rig.pass(1_000);
    rig.pass(1_000);
    assert_eq!(rig.step_status(waiting, 0), Status::Running);
}

#[test]
fn d32_a_durable_claim_whose_work_had_not_begun_when_a_later_batch_found_no_room_is_not_stranded() {
    let mut rig = Rig::new();
    let command = rig.submit_command(&Asked::single("hold".parse().unwrap(), None), Until::Accepted);
    let answered = rig.send(command);
    let batch = rig.engine.poll_batch().unwrap();
    let result = relaymesh_store::Store::commit(rig.store.as_mut().unwrap(), &batch);
    rig.engine.handle_committed(result);
    rig.engine.tell();
    let Ok(Ok(Answer::Accepted { task, .. })) = answered.try_recv() else { panic!("not accepted") };
    // The kernel thread gives the writer its next batch before it begins the work.
    let other = rig.submit_command(&echo(), Until::Accepted);
    let refused = rig.send(other);
    rig.disk.fail_next_commit(full(), false);
    let batch = rig.engine.poll_batch().unwrap();
    let result = relaymesh_store::Store::commit(rig.store.as_mut().unwrap(), &batch);
    rig.engine.handle_committed(result);
    assert!(matches!(refused.try_recv(), Ok(Err(Error::DiskFull(_)))));
    while rig.engine.start_some(1) {}
    rig.pass(1_000);
    let work = rig.begun();
    assert_eq!(work.hold.step.task, task);
    rig.finish(work.hold, done("1"));
    assert_eq!(rig.status(task), Status::Success);
}

#[test]
fn d2_a_poisoned_store_tells_everybody_indeterminate_and_accepts_nothing_more() {
    for applied in [false, true] {
        let mut rig = Rig::new();
        let command = rig.submit_command(&echo(), Until::Accepted);
        rig.disk.fail_next_commit(poisoned(), applied);
        assert!(matches!(rig.call(command.clone()), Err(Error::Indeterminate(_))));
        assert!(rig.engine.poisoned().is_some());
        let other = rig.submit_command(&echo(), Until::Accepted);
        assert!(matches!(rig.send(other).recv().unwrap(), Err(Error::Indeterminate(_))));
        let mut rig = rig.crash();
        let Ok(Answer::Accepted { merged, .. }) = rig.call(command) else {
            panic!("settled by the key after a restart")
        };
        assert_eq!(merged, applied);
        assert_eq!(rig.disk.reader().counts().unwrap().0, 1, "once, whatever the disk did");
    }
}

#[test]
fn a_store_that_disagrees_stops_the_node() {
    let mut rig = Rig::new();
    rig.disk.fail_next_commit(StoreError::Conflict { detail: "row 1 is there already".to_owned() }, false);
    let command = rig.submit_command(&echo(), Until::Accepted);
    assert!(matches!(rig.call(command), Err(Error::Indeterminate(_))));
    assert!(rig.engine.poisoned().is_some());
}

/// Found by the simulator, seed 9696.
#[test]
fn d32_whoever_waits_for_a_redrive_that_found_no_room_is_told_how_the_task_had_ended() {
    let mut rig = Rig::new();
    let task = rig.single("hold");
    rig.call(Command::Cancel { task, mode: relaymesh_core::op::CancelMode::Hard, reason: "enough".to_owned() })
        .unwrap();
    let redriven = rig.send(Command::Redrive { task, reason: "again".to_owned() });
    let waits = rig.send(Command::Wait { task });
    rig.engine.poll_batch().unwrap();
    rig.engine.handle_committed(Err(full()));
    assert!(matches!(redriven.try_recv(), Ok(Err(_))));
    let told = waits.try_recv();
    assert!(matches!(told, Ok(Ok(Answer::Ended { status: Status::Cancelled, .. }))), "{told:?}");
}
