//! D7: only the word of whoever holds the step now counts.

use super::world::{Say, World, name, result, step};
use crate::{
    id::LeaseToken,
    op::{CancelMode, ExpireReason, Hold},
    task::{Refusal, Status},
};

type Word = fn(&mut World, Hold<u16>) -> Result<(), Refusal>;

/// All that a holder can say.
const WORDS: [Word; 3] = [World::complete, |world, held| world.fail(held, true), World::give_back];

#[track_caller]
fn assert_fenced(world: &World, held: Hold<u16>) {
    for word in WORDS {
        let mut world = world.clone();
        let before = world.rows.clone();
        let expected = Refusal::Fenced {
            name: world.step(held.step).spec.name.clone(),
            found: world.status(held.step),
            epoch: world.step(held.step).epoch,
            given: held.epoch,
        };
        assert_eq!(word(&mut world, held), Err(expected));
        assert_eq!(world.rows, before);
    }
}

#[test]
fn a_word_with_another_token_is_fenced() {
    let mut world = World::new([step("a")]);
    let held = world.take(0);
    assert_fenced(&world, Hold { token: LeaseToken::new(1, 1), ..held });
    world.complete(held).unwrap();
}

#[test]
fn a_word_with_another_epoch_is_fenced() {
    let mut world = World::new([step("a")]);
    let held = world.take(0);
    for epoch in [0, 2, u32::MAX] {
        assert_fenced(&world, Hold { epoch, ..held });
    }
}

#[test]
fn a_word_from_before_a_yield_is_fenced_even_with_the_same_token() {
    let mut world = World::new([step("a")]);
    let old = world.take(0);
    world.give_back(old).unwrap();
    world.say(world.claim_body(0, 1, old.token, 1000)).unwrap();
    assert_fenced(&world, old);
    world.complete(Hold { epoch: 2, ..old }).unwrap();
}

#[test]
fn a_word_before_any_claim_is_fenced() {
    let world = World::new([step("a")]);
    assert_fenced(&world, Hold { step: 0, epoch: 0, token: LeaseToken::new(1, 1) });
}

#[test]
fn a_word_after_an_expiry_is_fenced() {
    let mut world = World::new([step("a")]);
    let held = world.take(0);
    world.wait(20_000);
    world.expire(held, ExpireReason::DeadlinePassed).unwrap();
    assert_fenced(&world, held);
    world.wait(1000);
    let new = world.take(0);
    assert_fenced(&world, held);
    world.complete(new).unwrap();
    assert_fenced(&world, held);
}

#[test]
fn a_word_after_a_cancel_is_fenced() {
    let mut world = World::new([step("a")]);
    let held = world.take(0);
    world.cancel(CancelMode::Hard).unwrap();
    assert_fenced(&world, held);
    world.redrive().unwrap();
    assert_fenced(&world, held);
    let new = world.take(0);
    assert_fenced(&world, held);
    world.complete(new).unwrap();
}

#[test]
fn a_second_completion_is_fenced_and_the_first_result_stays() {
    let mut world = World::new([step("a"), step("b").after(&[0])]);
    let held = world.take(0);
    world.complete(held).unwrap();
    assert_fenced(&world, held);
    assert_eq!(world.step(0).result, Some(result(0)));
}

#[test]
fn a_completion_after_the_deadline_counts_until_somebody_expires_the_lease() {
    let mut world = World::new([step("a")]);
    let held = world.take(0);
    world.wait(1_000_000);
    world.complete(held).unwrap();
    assert_eq!(world.ended(), Status::Success);
    assert!(matches!(world.expire(held, ExpireReason::DeadlinePassed), Err(Refusal::Fenced { .. })));
}

#[test]
fn a_word_about_a_step_that_is_not_there_is_refused() {
    let mut world = World::new([step("a")]);
    let held = Hold { step: 1, ..world.take(0) };
    let expected = Err(Refusal::NoStep { step: 1, count: 1 });
    for word in WORDS {
        assert_eq!(word(&mut world, held), expected);
    }
    assert_eq!(world.claim(1).map(|_| ()), expected);
    assert_eq!(world.expire(held, ExpireReason::OwnerGone), expected);
    assert_eq!(world.time_out(held), expected);
    assert_eq!(world.approve(1, "ok?"), expected);
    assert_eq!(world.deny(1, "ok?"), expected);
}

#[test]
fn the_refusal_says_rejected_fenced_and_what_was_found() {
    let mut world = World::new([step("a")]);
    let held = world.take(0);
    world.give_back(held).unwrap();
    let refusal = world.complete(held).unwrap_err();
    let told = "rejected_fenced: step `a` is PENDING: epoch 1 has already ended, so the call changed nothing";
    assert_eq!(refusal.to_string(), told);
    let again = world.take(0);
    let told = "rejected_fenced: step `a` is RUNNING: the call is from epoch 1, but the current epoch is 2";
    assert_eq!(world.complete(held).unwrap_err().to_string(), told);
    let other = Hold { token: held.token, ..again };
    let told = "rejected_fenced: step `a` is RUNNING: the token of the call is not that of epoch 2";
    assert_eq!(world.complete(other).unwrap_err().to_string(), told);
    assert!(matches!(refusal, Refusal::Fenced { name: step, .. } if step == name("a")));
}
