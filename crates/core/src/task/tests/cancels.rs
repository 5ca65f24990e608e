//! Cancel: hard stops what runs, soft lets it finish, and nothing starts any more.

use super::world::{Say, World, name, step};
use crate::{
    op::{
        CancelMode::{Hard, Soft},
        ExpireReason, Hold,
    },
    task::{
        Effect, Outcome, Refusal,
        Status::{Cancelled, DeadLetter, Failed, Running, Skipped, Success},
        Verb,
    },
};

/// One step done, one running, one retrying, one waiting, one not ready, one compensation.
fn busy() -> (World, Hold<u16>) {
    let mut world = World::new([
        step("done"),
        step("runs"),
        step("retries"),
        step("asks").asks("ok?", Some(1000)),
        step("later").after(&[1]),
        step("undo").undoes(0),
    ]);
    world.run(0);
    let held = world.take(2);
    world.fail(held, true).unwrap();
    let held = world.take(1);
    (world, held)
}

#[test]
fn a_hard_cancel_ends_everything_at_once_and_stops_what_runs() {
    let (mut world, held) = busy();
    world.cancel(Hard).unwrap();
    assert_eq!(world.statuses(), [Success, Cancelled, Cancelled, Cancelled, Cancelled, Cancelled]);
    assert_eq!(world.effects, [Effect::Stop { step: 1, epoch: held.epoch }, Effect::End { status: Cancelled }]);
    assert_eq!((world.ended(), world.step(1).error.as_deref()), (Cancelled, Some("enough")));
    assert_eq!(world.step(1).history[0].outcome, Outcome::Cancelled);
    assert!(world.rows().steps.iter().all(|step| step.due_ms == 0 && !step.ready));
}

#[test]
fn a_soft_cancel_lets_what_runs_finish_and_starts_nothing_more() {
    let (mut world, held) = busy();
    world.cancel(Soft).unwrap();
    assert_eq!(world.statuses(), [Success, Running, Cancelled, Cancelled, Cancelled, Cancelled]);
    assert_eq!((world.ended(), world.effects.len()), (Running, 0));
    world.complete(held).unwrap();
    assert_eq!((world.ended(), world.status(1), world.status(4)), (Cancelled, Success, Cancelled));
}

#[test]
fn a_soft_cancelled_step_never_goes_back_to_the_queue() {
    type End = fn(&mut World, Hold<u16>) -> Result<(), Refusal>;
    let ends: [End; 5] = [
        |world, held| world.fail(held, true),
        |world, held| world.fail(held, false),
        World::give_back,
        |world, held| world.expire(held, ExpireReason::OwnerGone),
        World::time_out,
    ];
    for end in ends {
        let (mut world, held) = busy();
        world.cancel(Soft).unwrap();
        end(&mut world, held).unwrap();
        assert_eq!((world.status(1), world.ended()), (Cancelled, Cancelled));
        world.wait(10_000);
        assert_eq!(world.claimable(), [0u16; 0]);
        for index in 0..6 {
            assert!(matches!(world.claim(index), Err(Refusal::NotPossible { verb: Verb::Claim, .. })));
        }
    }
}

#[test]
fn the_holder_may_still_renew_under_a_soft_cancel() {
    let (mut world, held) = busy();
    world.cancel(Soft).unwrap();
    world.say(world.claim_body(1, 1, held.token, 99_999)).unwrap();
    assert_eq!(world.step(1).lease.as_ref().unwrap().deadline_ms, world.now_ms + 99_999);
}

#[test]
fn a_soft_cancel_with_nothing_running_ends_the_task() {
    let mut world = World::new([step("a"), step("b").after(&[0])]);
    world.cancel(Soft).unwrap();
    assert_eq!(world.effects, [Effect::End { status: Cancelled }]);
}

#[test]
fn a_soft_cancel_can_be_made_hard_and_nothing_can_be_cancelled_twice() {
    let (mut world, _) = busy();
    world.cancel(Soft).unwrap();
    assert_eq!(world.cancel(Soft), Err(Refusal::CancelledAlready));
    world.cancel(Hard).unwrap();
    assert_eq!((world.ended(), world.status(1)), (Cancelled, Cancelled));
    for mode in [Soft, Hard] {
        assert_eq!(world.cancel(mode), Err(Refusal::Ended { found: Cancelled }));
    }
}

#[test]
fn what_has_ended_cannot_be_cancelled() {
    let mut good = World::new([step("a")]);
    good.run(0);
    let mut bad = World::new([step("a")]);
    bad.break_down(0);
    let mut dead = World::new([step("a").attempts(1)]);
    let held = dead.take(0);
    dead.fail(held, true).unwrap();
    for (mut world, found) in [(good, Success), (bad, Failed), (dead, DeadLetter)] {
        let refusal = world.cancel(Hard).unwrap_err();
        assert_eq!(refusal, Refusal::Ended { found });
        assert_eq!(refusal.to_string(), format!("terminal_state:{found}"));
    }
}

#[test]
fn a_cancel_stops_the_undoing_and_a_redrive_goes_on_with_it() {
    for mode in [Soft, Hard] {
        let mut world = World::new([step("a"), step("b").after(&[0]), step("undo-a").undoes(0)]);
        world.run(0);
        world.break_down(1);
        world.cancel(mode).unwrap();
        assert_eq!((world.ended(), world.status(2)), (Cancelled, Cancelled));
        world.redrive().unwrap();
        assert_eq!(world.claimable(), [2]);
        world.run(2);
        assert_eq!(world.ended(), Failed);
    }
}

#[test]
fn a_running_compensation_finishes_under_a_soft_cancel() {
    let mut world = World::new([step("a"), step("b").after(&[0]), step("undo-a").undoes(0)]);
    world.run(0);
    world.break_down(1);
    let held = world.take(2);
    world.cancel(Soft).unwrap();
    assert_eq!(world.ended(), Running);
    world.complete(held).unwrap();
    assert_eq!((world.ended(), world.status(2)), (Cancelled, Success));
}

#[test]
fn a_cancel_undoes_nothing() {
    let (mut world, _) = busy();
    world.cancel(Hard).unwrap();
    assert_eq!((world.claimable(), world.status(5)), (vec![], Cancelled));
    assert!(matches!(world.claim(5), Err(Refusal::NotPossible { name: step, .. }) if step == name("undo")));
    assert_ne!(world.status(5), Skipped);
}
