//! Whoever listens outlives the engine that it listens to.

use super::{Rig, done, worker};
use crate::driver::{Answer, Command, Error, Until};
use relaymesh_core::{
    id::StepId,
    op::CancelMode,
    task::{Status, request::Request as Asked},
};
use relaymesh_store::Store as _;
use std::sync::mpsc;

#[test]
fn watchers_and_waiters_are_handed_on_to_the_next_engine() {
    let mut rig = Rig::new();
    let (told, events) = mpsc::channel();
    rig.engine.watch(move |event| told.send(event.pos).is_ok());
    let task = rig.single("outside");
    let waits = rig.send(Command::Wait { task });
    rig.settle();
    let mut rig = rig.replace();
    assert!(waits.try_recv().is_err(), "the task has not ended");
    let claim = Command::Claim { step: StepId { task, index: 0 }, worker: worker(1), lease_ms: 1_000 };
    let Ok(Answer::Claimed(hold)) = rig.call(claim) else { panic!("not claimed") };
    rig.call(Command::Finish { hold, outcome: done("1") }).unwrap();
    assert!(matches!(waits.try_recv(), Ok(Ok(Answer::Ended { status: Status::Success, .. }))));
    assert_eq!(events.try_iter().collect::<Vec<_>>(), [1, 2, 3], "submitted, claimed, completed");
}

#[test]
fn what_became_durable_while_the_engine_ended_is_told_by_the_next_one() {
    for is_durable in [true, false] {
        let mut rig = Rig::new();
        let task = rig.single("outside");
        let waits = rig.send(Command::Wait { task });
        let cancel = Command::Cancel { task, mode: CancelMode::Hard, reason: "enough".to_owned() };
        let cancelled = rig.send(cancel);
        let batch = rig.engine.poll_batch().unwrap();
        if is_durable {
            rig.store.as_mut().unwrap().commit(&batch).unwrap();
        }
        let next = rig.submit_command(&Asked::single("echo".parse().unwrap(), None), Until::Accepted);
        let next = rig.send(next);
        let rig = rig.replace();
        for unknown in [cancelled, next] {
            assert!(matches!(unknown.try_recv(), Ok(Err(Error::Indeterminate(_)))));
        }
        let told = waits.try_recv();
        assert_eq!(matches!(told, Ok(Ok(Answer::Ended { status: Status::Cancelled, .. }))), is_durable, "{told:?}");
        assert_eq!(rig.status(task) == Status::Cancelled, is_durable);
    }
}
