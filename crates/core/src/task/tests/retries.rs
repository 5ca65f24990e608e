//! R19: failed steps are tried again when they are due, and not for ever.

use super::world::{Say, World, name, step};
use crate::{
    op::ExpireReason,
    task::{
        Body, Effect, Outcome, Refusal, Status,
        fail::{ERROR_BYTES_MAX, shortened},
        state::HISTORY_MAX,
    },
};

#[test]
fn due_times_double_up_to_the_ceiling_plus_jitter() {
    let mut world = World::new([step("a").attempts(7)]);
    for delay_ms in [100, 200, 400, 800, 1000, 1000] {
        let held = world.take(0);
        world.fail(held, true).unwrap();
        let due_ms = world.now_ms + delay_ms + 7;
        assert_eq!((world.status(0), world.step(0).due_ms), (Status::Retrying, due_ms));
        assert_eq!(world.effects, [Effect::Wake { step: 0, at_ms: due_ms }]);
        world.wait(delay_ms + 7);
    }
    assert_eq!(world.step(0).attempt, 6);
}

#[test]
fn a_retry_cannot_be_claimed_before_it_is_due_and_can_be_then() {
    let mut world = World::new([step("a")]);
    let held = world.take(0);
    world.fail(held, true).unwrap();
    let due_ms = world.step(0).due_ms;
    world.now_ms = due_ms - 2;
    assert_eq!(world.claimable(), [0u16; 0]);
    assert_eq!(world.claim(0), Err(Refusal::NotDue { name: name("a"), due_ms, now_ms: due_ms - 1 }));
    let held = world.take(0);
    assert_eq!((world.now_ms, held.epoch, world.step(0).attempt), (due_ms, 2, 2));
    assert_eq!(world.step(0).due_ms, 0);
}

#[test]
fn the_last_attempt_is_the_last() {
    let mut world = World::new([step("a").attempts(2)]);
    for _ in 0..2 {
        let held = world.take(0);
        world.fail(held, true).unwrap();
        world.wait(2000);
    }
    assert_eq!((world.status(0), world.ended()), (Status::DeadLetter, Status::DeadLetter));
    assert_eq!(world.claim(0).unwrap_err().to_string(), "step `a` is DEAD_LETTER: Claim is not possible in this state");
}

#[test]
fn a_failure_that_another_attempt_would_not_mend_is_not_tried_again() {
    let mut world = World::new([step("a")]);
    world.break_down(0);
    assert_eq!((world.status(0), world.ended()), (Status::Failed, Status::Failed));
    assert_eq!(world.step(0).error.as_deref(), Some("broken"));
}

#[test]
fn expiry_and_time_out_use_up_attempts_and_back_off_like_failures() {
    let mut world = World::new([step("a").attempts(3)]);
    let held = world.take(0);
    world.expire(held, ExpireReason::OwnerGone).unwrap();
    assert_eq!(world.step(0).due_ms, world.now_ms + 100 + 7);
    world.wait(500);
    let held = world.take(0);
    world.time_out(held).unwrap();
    assert_eq!(world.step(0).due_ms, world.now_ms + 200 + 7);
    assert_eq!(world.step(0).error.as_deref(), Some("timed out: it took longer than 5000 ms"));
    world.wait(500);
    let held = world.take(0);
    world.time_out(held).unwrap();
    assert_eq!(world.status(0), Status::DeadLetter);
    let outcomes: Vec<Outcome> = world.step(0).history.iter().map(|attempt| attempt.outcome).collect();
    assert_eq!(outcomes, [Outcome::Abandoned, Outcome::Timeout, Outcome::Timeout]);
}

#[test]
fn a_yield_does_not_use_up_an_attempt_but_the_epoch_grows() {
    let mut world = World::new([step("a").attempts(1)]);
    for round in 1..=5 {
        let held = world.take(0);
        assert_eq!((held.epoch, world.step(0).attempt), (round, 1));
        world.give_back(held).unwrap();
        assert_eq!((world.status(0), world.step(0).attempt), (Status::Pending, 0));
        assert_eq!(world.effects, [Effect::Offer { step: 0 }]);
    }
    world.run(0);
    assert_eq!((world.ended(), world.step(0).epoch), (Status::Success, 6));
}

#[test]
fn history_keeps_the_last_attempts_and_how_they_ended() {
    let mut world = World::new([step("a")]);
    for _ in 0..HISTORY_MAX + 3 {
        let held = world.take(0);
        world.give_back(held).unwrap();
    }
    let history = &world.step(0).history;
    assert_eq!(history.len(), HISTORY_MAX);
    assert_eq!(history.iter().map(|attempt| attempt.epoch).collect::<Vec<_>>(), (4..=19).collect::<Vec<_>>());
    let last = history.last().unwrap();
    assert_eq!((last.outcome, last.started_ms, last.ended_ms), (Outcome::Yielded, world.now_ms - 1, world.now_ms));
}

#[test]
fn long_errors_are_cut_between_characters() {
    let mut world = World::new([step("a")]);
    let held = world.take(0);
    let error = "ü".repeat(ERROR_BYTES_MAX);
    world.say(Body::FailJob { held, retryable: false, jitter_ms: 0, error }).unwrap();
    assert_eq!(world.step(0).error.as_ref().map(String::len), Some(ERROR_BYTES_MAX));
    assert_eq!(shortened(&format!("x{}", "ü".repeat(300))).len(), ERROR_BYTES_MAX - 1);
}

#[test]
fn success_clears_the_error_of_an_earlier_attempt() {
    let mut world = World::new([step("a")]);
    let held = world.take(0);
    world.fail(held, true).unwrap();
    world.wait(1000);
    world.run(0);
    assert_eq!(world.step(0).error, None);
}
