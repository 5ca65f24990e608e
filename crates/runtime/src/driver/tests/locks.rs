//! Locks through the engine: durable, fenced, taken over when they have run out, never counted anew.

use super::{Answered, Rig, name, worker};
use crate::{
    clock::Jump,
    driver::{Answer, Command, Config, Error, LockCommand},
    world::Alert,
};
use relaymesh_core::{
    id::{RepositoryId, StepId},
    lock::{Case, EDIT_TTL_MS, Mode, Refusal},
    op::{HeldLock, Scope},
    task::Status,
};
use relaymesh_store::{Reader as _, Store as _};

fn acquire(holder: &str, key: &str) -> Command {
    Command::Lock(LockCommand::Acquire {
        namespace: name("default"),
        repository: "app".parse().unwrap(),
        key: key.parse().unwrap(),
        mode: Mode::Exclusive,
        case: Case::Sensitive,
        holder: name(holder),
        token: None,
        ttl_ms: EDIT_TTL_MS,
        purpose: String::new(),
    })
}

fn release(held: HeldLock) -> Command {
    Command::Lock(LockCommand::Release { namespace: name("default"), repository: "app".parse().unwrap(), held })
}

fn held(answer: Result<Answer, Error>) -> HeldLock {
    match answer {
        Ok(Answer::Locked { held, .. }) => held,
        other => panic!("not locked: {other:?}"),
    }
}

fn locks(rig: &Rig) -> usize {
    let scope = Scope::Repository(RepositoryId::of(&name("default"), "app"));
    let rows = rig.disk.reader().scope(scope).unwrap().unwrap();
    rows.repository().unwrap().locks.len()
}

#[test]
fn v1_a_lock_keeps_out_whoever_overlaps_until_it_is_released() {
    let mut rig = Rig::new();
    let first = held(rig.call(acquire("ann", "src/**")));
    let refused = rig.call(acquire("ben", "src/lib.rs"));
    assert!(matches!(refused, Err(Error::Lock(Refusal::Conflict { .. }))), "{refused:?}");
    held(rig.call(acquire("ben", "docs/a.md")));
    assert_eq!(rig.call(release(first)), Ok(Answer::Released));
    let second = held(rig.call(acquire("ben", "src/lib.rs")));
    assert!(second.fence > first.fence);
    let stale = HeldLock { fence: first.fence, ..second };
    assert!(matches!(rig.call(release(stale)), Err(Error::Lock(Refusal::Fenced { .. }))));
    assert_eq!(rig.engine.sizes().scopes, 0, "nothing of it stays in memory");
}

#[test]
fn an_answer_about_a_lock_waits_for_its_commit() {
    let mut rig = Rig::new();
    let ann: Answered = rig.send(acquire("ann", "a"));
    let ben: Answered = rig.send(acquire("ben", "a"));
    assert!(rig.engine.poll_batch().is_some());
    assert!(ann.try_recv().is_err() && ben.try_recv().is_err());
}

#[test]
fn d22_fences_grow_over_restarts_and_when_no_lock_is_left() {
    let mut rig = Rig::new();
    let mut fences = Vec::new();
    for _ in 0..3 {
        let lock = held(rig.call(acquire("ann", "a")));
        fences.push(lock.fence);
        rig.call(release(lock)).unwrap();
        assert_eq!(locks(&rig), 0);
        rig = rig.crash();
    }
    assert_eq!(fences, [1, 2, 3]);
}

#[test]
fn a_lock_that_has_run_out_is_swept_and_can_be_taken_at_once() {
    let mut rig = Rig::new();
    let first = held(rig.call(acquire("ann", "a")));
    rig.pass(EDIT_TTL_MS - 1);
    assert_eq!(locks(&rig), 1);
    rig.pass(1);
    assert_eq!(locks(&rig), 0, "swept when it is due, without a poll");
    let second = held(rig.call(acquire("ben", "a")));
    assert!(second.fence > first.fence);
    // Taken over before any sweep: the clock moves, and the acquire is the first that hears of it.
    {
        let mut levers = rig.levers.lock().unwrap();
        levers.wall_ms += EDIT_TTL_MS;
        levers.mono_ms += EDIT_TTL_MS;
    }
    let third = held(rig.call(acquire("cat", "a")));
    assert!(third.fence > second.fence);
}

#[test]
fn r10_a_jump_of_the_clock_puts_the_sweep_of_locks_off_by_one_round() {
    let mut rig = Rig::new();
    held(rig.call(acquire("ann", "a")));
    rig.levers.lock().unwrap().jump = Some(Jump { by_ms: 3_600_000 });
    rig.pass(EDIT_TTL_MS);
    assert_eq!(locks(&rig), 1);
    assert!(matches!(rig.alerts()[..], [Alert::ClockJump(_)]));
    rig.pass(5_000);
    assert_eq!(locks(&rig), 0);
}

/// By the new time everything has run out, and its holders could not know.
#[test]
fn r10_after_a_jump_of_the_clock_no_lock_is_taken_over_for_one_round() {
    let mut rig = Rig::new();
    held(rig.call(acquire("ann", "a")));
    {
        let mut levers = rig.levers.lock().unwrap();
        levers.wall_ms += 3_600_000;
        levers.jump = Some(Jump { by_ms: 3_600_000 });
    }
    rig.pass(0);
    let refused = rig.call(acquire("ben", "a"));
    assert!(matches!(refused, Err(Error::Lock(Refusal::Conflict { fence: 1, .. }))), "{refused:?}");
    held(rig.call(acquire("ben", "b")));
    rig.pass(5_000);
    held(rig.call(acquire("ben", "a")));
}

/// The clock tells of a jump once. Whoever hears it first, locks or steps, both are put off.
#[test]
fn r10_one_jump_puts_off_locks_and_leases_alike() {
    let mut rig = Rig::new();
    let task = rig.single("outside");
    let step = StepId { task, index: 0 };
    rig.call(Command::Claim { step, worker: worker(1), lease_ms: EDIT_TTL_MS }).unwrap();
    held(rig.call(acquire("ann", "a")));
    rig.levers.lock().unwrap().jump = Some(Jump { by_ms: 3_600_000 });
    rig.pass(EDIT_TTL_MS + 1);
    assert_eq!((locks(&rig), rig.step_status(task, 0)), (1, Status::Running));
    rig.pass(5_000);
    assert_eq!(locks(&rig), 0);
    assert_ne!(rig.step_status(task, 0), Status::Running);
}

#[test]
fn d32_a_full_disk_rejects_the_lock_and_what_stood_on_it() {
    let mut rig = Rig::new();
    let lock = held(rig.call(acquire("ann", "a")));
    rig.disk.fail_next_commit(relaymesh_store::Error::Full { detail: "no room".to_owned() }, false);
    assert!(matches!(rig.call(release(lock)), Err(Error::DiskFull(_))));
    assert_eq!(locks(&rig), 1);
    assert!(matches!(rig.call(acquire("ben", "a")), Err(Error::Lock(Refusal::Conflict { .. }))));
    assert_eq!(rig.call(release(lock)), Ok(Answer::Released));
}

#[test]
fn what_runs_out_together_is_spread_over_batches() {
    let mut rig = Rig::with(Config { batch_ops_max: 4, ..Config::default() });
    for number in 0..20 {
        held(rig.call(acquire("ann", &format!("file-{number}"))));
    }
    assert_eq!(locks(&rig), 20);
    {
        let mut levers = rig.levers.lock().unwrap();
        levers.wall_ms += EDIT_TTL_MS + 1;
        levers.mono_ms += EDIT_TTL_MS + 1;
    }
    let mut batches = Vec::new();
    rig.engine.handle_tick();
    while let Some(batch) = rig.engine.poll_batch() {
        rig.engine.handle_tick();
        assert_eq!(rig.engine.wake_at(), None, "the next look is due, and waits for the store");
        batches.push(batch.ops.len());
        let committed = rig.store.as_mut().unwrap().commit(&batch);
        rig.engine.handle_committed(committed);
        rig.engine.tell();
        rig.engine.handle_tick();
    }
    assert_eq!((batches, locks(&rig)), (vec![4; 5], 0));
}
