//! Workers from outside: claims, heartbeats, fences, silence, and a clock that jumps.

use super::{Rig, done, failed, worker};
use crate::{
    clock::Jump,
    driver::{Answer, Command, Config, Error, Within},
    world::{Alert, Hold},
};
use relaymesh_core::{
    id::{StepId, TaskId},
    task::{Outcome, Refusal, Status},
};
use relaymesh_store::{Error as StoreError, Reader as _};

const LEASE_MS: u64 = 10_000;

fn claim(rig: &mut Rig, task: TaskId, who: u128) -> Result<Hold, Error> {
    let step = StepId { task, index: 0 };
    let answer = rig.call(Command::Claim { step, worker: worker(who), lease_ms: LEASE_MS })?;
    let Answer::Claimed(hold) = answer else { panic!("not claimed: {answer:?}") };
    Ok(hold)
}

fn finish(rig: &mut Rig, hold: Hold) -> Result<Answer, Error> {
    rig.call(Command::Finish { hold, outcome: done("1") })
}

#[test]
fn a_worker_from_outside_claims_and_completes() {
    let mut rig = Rig::new();
    let task = rig.single("outside");
    let hold = claim(&mut rig, task, 1).unwrap();
    assert!(matches!(claim(&mut rig, task, 2), Err(Error::Refused(Refusal::Held { .. }))));
    finish(&mut rig, hold).unwrap();
    assert_eq!(rig.status(task), Status::Success);
}

#[test]
fn d7_a_silent_worker_loses_its_lease_and_its_late_word_is_fenced_and_journalled() {
    let mut rig = Rig::new();
    let task = rig.single("outside");
    let stale = claim(&mut rig, task, 1).unwrap();
    rig.pass(LEASE_MS);
    assert_eq!(rig.step_status(task, 0), Status::Running, "a full term has not passed");
    rig.pass(1);
    let rows = rig.rows(task);
    assert_eq!((rows.steps[0].status, rows.steps[0].history[0].outcome), (Status::Retrying, Outcome::Abandoned));
    rig.pass(2_000);
    let fresh = claim(&mut rig, task, 2).unwrap();
    assert!(fresh.epoch > stale.epoch);
    for outcome in [done("stale"), failed("stale")] {
        let refused = rig.call(Command::Finish { hold: stale, outcome });
        assert!(matches!(refused, Err(Error::Refused(Refusal::Fenced { given: 1, epoch: 2, .. }))));
    }
    let conflicts = rig.disk.reader().conflicts(10).unwrap();
    assert_eq!(conflicts.iter().map(|c| c.verb).collect::<Vec<_>>(), ["fail", "complete"]);
    assert!(rig.levers.lock().unwrap().stopped.contains(&(stale.step, stale.epoch)), "and it is killed");
    finish(&mut rig, fresh).unwrap();
    assert_eq!(rig.status(task), Status::Success);
}

#[test]
fn r16_a_heartbeat_renews_everything_that_the_worker_holds_without_an_op() {
    let mut rig = Rig::new();
    let tasks = [
        rig.single("outside"),
        rig.submit(&super::flow(serde_json::json!(
        { "name": "two", "steps": [{ "id": "s", "agent": "outside" }] }))),
    ];
    for task in tasks {
        claim(&mut rig, task, 1).unwrap();
    }
    let pos = rig.disk.reader().head().unwrap().pos;
    for _ in 0..5 {
        rig.pass(LEASE_MS - 1);
        rig.call(Command::Heartbeat { worker: worker(1), within: None }).unwrap();
    }
    assert_eq!(tasks.map(|task| rig.step_status(task, 0)), [Status::Running; 2]);
    assert_eq!(rig.disk.reader().head().unwrap().pos, pos, "renewals are not on the log");
    assert_eq!(rig.disk.reader().heartbeat(worker(1)).unwrap(), Some(1_000_000 + 5 * (LEASE_MS - 1)));
    rig.pass(LEASE_MS + 1);
    assert_eq!(tasks.map(|task| rig.step_status(task, 0)), [Status::Retrying; 2]);
}

#[test]
fn a_heartbeat_renews_only_what_its_caller_may_act_for() {
    let mut rig = Rig::new();
    let task = rig.single("outside");
    claim(&mut rig, task, 1).unwrap();
    let within = |namespace: &str, agent: Option<&str>| {
        let namespaces = Some(vec![super::name(namespace)]);
        Some(Within { namespaces, agent: agent.map(super::name) })
    };
    let beat = |rig: &mut Rig, within| rig.call(Command::Heartbeat { worker: worker(1), within }).unwrap();
    for own in [within("default", None), within("default", Some("outside"))] {
        rig.pass(LEASE_MS - 1);
        beat(&mut rig, own);
    }
    rig.pass(LEASE_MS - 1);
    let heard = rig.disk.reader().heartbeat(worker(1)).unwrap();
    for other in [within("elsewhere", None), within("default", Some("another"))] {
        beat(&mut rig, other);
    }
    assert_eq!(rig.disk.reader().heartbeat(worker(1)).unwrap(), heard, "the worker itself was not heard of");
    assert_eq!(rig.step_status(task, 0), Status::Running);
    rig.pass(2);
    assert_eq!(rig.step_status(task, 0), Status::Retrying, "nobody who may has renewed it");
}

#[test]
fn r10_a_jump_of_the_clock_raises_an_alert_and_puts_reclaim_off_by_one_round() {
    let mut rig = Rig::new();
    let task = rig.single("outside");
    claim(&mut rig, task, 1).unwrap();
    rig.levers.lock().unwrap().jump = Some(Jump { by_ms: 3_600_000 });
    rig.pass(LEASE_MS + 1);
    assert_eq!(rig.step_status(task, 0), Status::Running);
    assert_eq!(rig.alerts(), [Alert::ClockJump(Jump { by_ms: 3_600_000 })]);
    rig.pass(5_000);
    assert_eq!(rig.step_status(task, 0), Status::Retrying, "the next round reclaims it");
}

/// The process was stopped for three terms: what its workers said meanwhile comes after the first tick.
#[test]
fn r10_a_driver_that_comes_late_hears_its_workers_before_it_takes_anything_from_them() {
    let mut rig = Rig::new();
    let (speaks, silent) = (rig.single("outside"), rig.single("outside"));
    let hold = claim(&mut rig, speaks, 1).unwrap();
    claim(&mut rig, silent, 2).unwrap();
    rig.pass(3 * LEASE_MS);
    assert_eq!([speaks, silent].map(|task| rig.step_status(task, 0)), [Status::Running; 2]);
    assert_eq!(rig.alerts(), [Alert::Late { by_ms: 2 * LEASE_MS - 1 }]);
    rig.call(Command::Heartbeat { worker: worker(1), within: None }).unwrap();
    rig.pass(5_000);
    assert_eq!([speaks, silent].map(|task| rig.step_status(task, 0)), [Status::Running, Status::Retrying]);
    finish(&mut rig, hold).unwrap();
}

#[test]
fn a_driver_that_is_always_late_reclaims_all_the_same() {
    let mut rig = Rig::new();
    let task = rig.single("outside");
    claim(&mut rig, task, 1).unwrap();
    rig.pass(3 * LEASE_MS);
    assert_eq!(rig.step_status(task, 0), Status::Running);
    rig.pass(3 * LEASE_MS);
    assert_ne!(rig.step_status(task, 0), Status::Running);
}

#[test]
fn a_yield_gives_the_step_back_at_once() {
    let mut rig = Rig::new();
    let task = rig.single("outside");
    let hold = claim(&mut rig, task, 1).unwrap();
    rig.call(Command::Yield { hold, reason: "rate limited".to_owned() }).unwrap();
    let step = &rig.rows(task).steps[0];
    assert_eq!((step.status, step.attempt, step.epoch), (Status::Pending, 0, 1));
    assert_eq!(claim(&mut rig, task, 2).unwrap().epoch, 2);
}

#[test]
fn a_result_that_is_too_long_is_refused_and_the_step_stays_held() {
    let mut rig = Rig::new();
    let task = rig.single("outside");
    let hold = claim(&mut rig, task, 1).unwrap();
    let refused = rig.call(Command::Finish { hold, outcome: done(&"x".repeat(8 * 1024 + 1)) });
    assert_eq!(refused, Err(Error::TooLong { found: 8 * 1024 + 1, max: 8 * 1024 }));
    assert_eq!(rig.step_status(task, 0), Status::Running);
    finish(&mut rig, hold).unwrap();
}

#[test]
fn d6_a_lease_does_not_run_before_its_claim_is_durable_whatever_the_worker_says_meanwhile() {
    let mut rig = Rig::new();
    let task = rig.single("outside");
    let claim = Command::Claim { step: StepId { task, index: 0 }, worker: worker(1), lease_ms: 1_000 };
    let claimed = rig.send(claim);
    rig.send(Command::Heartbeat { worker: worker(1), within: None });
    rig.pass(5_000); // the disk was busy for so long
    assert!(matches!(claimed.try_recv(), Ok(Ok(Answer::Claimed(_)))));
    assert_eq!(rig.step_status(task, 0), Status::Running, "it was told of the lease only now");
    rig.pass(1_001);
    assert_eq!(rig.step_status(task, 0), Status::Retrying);
}

/// A step that is given back and claimed by this node's own agents in one batch: when that batch is rolled back, nothing is
/// left of the deadline that the worker had.
#[test]
fn d32_a_claim_that_was_rolled_back_leaves_no_deadline_of_the_attempt_before_it() {
    let mut rig = Rig::with(Config { slots: 1, ..Config::default() });
    rig.single("hold");
    let first = rig.begun();
    let task = rig.single("hold");
    let hold = claim(&mut rig, task, 1).unwrap();
    rig.finish(first.hold, done("1"));
    rig.pass(LEASE_MS - 500);
    rig.disk.fail_next_commit(StoreError::Full { detail: "no room".to_owned() }, false);
    let refused = rig.call(Command::Yield { hold, reason: String::new() });
    assert!(matches!(refused, Err(Error::DiskFull(_))), "{refused:?}");
    rig.call(Command::Heartbeat { worker: worker(1), within: None }).unwrap();
    rig.pass(501);
    assert_eq!(rig.step_status(task, 0), Status::Running, "the worker was heard of a moment ago");
    rig.pass(500);
    finish(&mut rig, hold).unwrap();
    assert_eq!(rig.status(task), Status::Success);
}
