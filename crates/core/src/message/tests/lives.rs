//! How long a message lives, how often it is handed out, and why it is dead.

use super::world::{LEASE_MS, World, draft, id, mortal, name};
use crate::{
    message::{Body, DeadReason, Draft, Effect, Refusal, State},
    op::ExpireReason,
};

#[test]
fn a_lost_delivery_comes_again_after_a_backoff_until_all_are_used_up() {
    let mut world = World::new(Draft { max_deliveries: 3, ..draft(1) });
    for delay_ms in [100, 200] {
        let held = world.take(1);
        world.fail(held, true).unwrap();
        let due_ms = world.now_ms + delay_ms + 7;
        assert_eq!((world.state(1), world.message(1).due_ms), (State::Queued, due_ms));
        assert_eq!(world.effects, [Effect::Wake { message: id(1), at_ms: due_ms }]);
        let early = world.deliver(1).map(|_| ());
        assert_eq!(early, Err(Refusal::NotDue { message: id(1), due_ms, now_ms: world.now_ms }));
        world.wait(delay_ms + 6);
    }
    let held = world.take(1);
    world.wait(LEASE_MS);
    world.expire_delivery(held, ExpireReason::DeadlinePassed).unwrap();
    assert_eq!((world.state(1), world.message(1).dead), (State::Dead, Some(DeadReason::Exhausted)));
    assert!(world.message(1).error.as_ref().unwrap().contains("abandoned"));
}

#[test]
fn a_returned_message_comes_again_at_once_and_the_delivery_does_not_count() {
    let mut world = World::new(Draft { max_deliveries: 1, ..draft(1) });
    for epoch in 1..=5 {
        let held = world.take(1);
        assert_eq!(held.epoch, epoch);
        world.give_back(held).unwrap();
        assert_eq!(world.message(1).deliveries, 0);
    }
}

#[test]
fn what_is_refused_for_good_is_failed_and_not_dead() {
    let mut world = World::new(draft(1));
    let held = world.take(1);
    world.fail(held, false).unwrap();
    assert_eq!((world.state(1), world.message(1).dead), (State::Failed, None));
    assert_eq!(world.message(1).error.as_deref(), Some("broken"));
}

#[test]
fn a_message_that_is_too_old_is_not_delivered_and_dies_when_somebody_says_so() {
    let mut world = World::new(mortal(1));
    let expires_ms = world.message(1).expires_ms;
    assert!(world.effects.contains(&Effect::Wake { message: id(1), at_ms: expires_ms }));
    world.wait(60_000 - 2);
    let early = Refusal::NotTooOld { message: id(1), found: State::Queued, expires_ms, now_ms: expires_ms - 1 };
    assert_eq!(world.expire(1), Err(early));
    let old = world.deliver(1).map(|_| ());
    assert_eq!(old, Err(Refusal::TooOld { message: id(1), expires_ms, now_ms: expires_ms }));
    world.expire(1).unwrap();
    assert_eq!((world.state(1), world.message(1).dead), (State::Dead, Some(DeadReason::Expired)));
    assert_eq!(world.message(1).error.as_deref(), Some("expired"));
}

#[test]
fn a_message_that_becomes_too_old_while_somebody_works_on_it_is_taken_away() {
    let mut world = World::new(mortal(1));
    let held = world.take(1);
    world.wait(60_000);
    world.expire(1).unwrap();
    assert!(world.effects.contains(&Effect::Stop { message: id(1), epoch: 1 }));
    assert!(matches!(world.acknowledge(held), Err(Refusal::Fenced { found: State::Dead, .. })));
}

#[test]
fn a_message_without_a_time_to_live_never_becomes_too_old() {
    let mut world = World::new(draft(1));
    world.wait(u64::MAX / 2);
    let refusal = world.expire(1).unwrap_err();
    assert!(matches!(refusal, Refusal::NotTooOld { expires_ms: 0, .. }));
    assert!(refusal.to_string().ends_with("is QUEUED and never expires"), "{refusal}");
}

#[test]
fn a_redrive_begins_again_with_a_fresh_count_and_a_fresh_life() {
    let mut world = World::new(mortal(1));
    world.use_up(1);
    world.wait(100_000);
    world.redrive(1).unwrap();
    let message = world.message(1);
    assert_eq!((message.deliveries, message.epoch, message.dead), (0, 2, None));
    assert_eq!(message.expires_ms, world.now_ms + 60_000);
    world.wait(60_000);
    world.expire(1).unwrap();
    world.redrive(1).unwrap();
    let held = world.take(1);
    world.acknowledge(held).unwrap();
    let done = world.redrive(1).unwrap_err();
    assert!(matches!(done, Refusal::NotPossible { found: State::Done, .. }), "what is done stays done");
}

#[test]
fn a_message_goes_to_whom_it_is_for() {
    let mut world = World::new(draft(1));
    let refusal = world.say(world.deliver_body(1, "eve", 1, 1));
    let (to, found) = (name("bob"), name("eve"));
    assert_eq!(refusal, Err(Refusal::NotRecipient { message: id(1), to, found }));
}

#[test]
fn a_failure_text_is_cut() {
    let mut world = World::new(draft(1));
    let held = world.take(1);
    world.say(Body::FailMessage { held, retryable: true, jitter_ms: 0, error: "x".repeat(5000) }).unwrap();
    assert_eq!(world.message(1).error.as_ref().unwrap().len(), 512);
}
