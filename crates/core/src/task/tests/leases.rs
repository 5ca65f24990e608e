//! Leases: who may take, keep, and take away a step (L3, D6, D19, D21).

use super::world::{LEASE_MS, Say, World, elsewhere, here, name, step};
use crate::{
    hlc::Hlc,
    id::{LeaseToken, WorkerId},
    op::{ExpireReason, Hold},
    task::{Body, Effect, LEASE_MS_MAX, Outcome, Refusal, Status},
};

fn expire_body(held: Hold<u16>, reason: ExpireReason) -> Body {
    Body::ExpireWork { step: held.step, epoch: held.epoch, reason, jitter_ms: 0 }
}

#[test]
fn a_claim_leases_the_step_until_its_time_plus_the_duration() {
    let mut world = World::new([step("a")]);
    let held = world.take(0);
    let lease = world.step(0).lease.as_ref().unwrap();
    assert_eq!((lease.owner, lease.worker, lease.token), (here(), WorkerId::new(0, 1), held.token));
    assert_eq!((lease.claimed_ms, lease.deadline_ms), (world.now_ms, world.now_ms + LEASE_MS));
    assert_eq!(world.effects, [Effect::Start { step: 0, epoch: 1 }]);
    assert_eq!((world.status(0), world.ended()), (Status::Running, Status::Running));
}

#[test]
fn a_lease_without_end_ends_all_the_same() {
    let mut world = World::new([step("a")]);
    let token = LeaseToken::new(1, 1);
    for lease_ms in [u64::MAX, LEASE_MS_MAX + 1, LEASE_MS_MAX] {
        world.say(world.claim_body(0, 1, token, lease_ms)).unwrap();
        assert_eq!(world.step(0).lease.as_ref().unwrap().deadline_ms, world.now_ms + LEASE_MS_MAX, "{lease_ms}");
    }
    let month_ms = 30 * 24 * 60 * 60 * 1_000;
    world.say(world.claim_body(0, 1, token, month_ms)).unwrap();
    assert_eq!(world.step(0).lease.as_ref().unwrap().deadline_ms, world.now_ms + month_ms);
    world.say(world.claim_body(0, 1, token, u64::MAX)).unwrap();
    world.wait(LEASE_MS_MAX);
    let held = Hold { step: 0, epoch: 1, token };
    world.say_from(elsewhere(), expire_body(held, ExpireReason::DeadlinePassed)).unwrap();
}

#[test]
fn at_the_end_of_time_a_deadline_does_not_overflow() {
    let mut world = World::new([step("a")]);
    world.now_ms = u64::MAX - 9;
    world.say(world.claim_body(0, 1, LeaseToken::new(1, 1), u64::MAX)).unwrap();
    assert_eq!(world.step(0).lease.as_ref().unwrap().deadline_ms, u64::MAX);
}

#[test]
fn a_deadline_that_has_not_passed_cannot_be_called_passed() {
    let mut world = World::new([step("a")]);
    let held = world.take(0);
    let deadline_ms = world.now_ms + LEASE_MS;
    world.now_ms = deadline_ms - 1;
    let expected = Refusal::LeaseRuns { name: name("a"), deadline_ms, now_ms: deadline_ms };
    assert_eq!(world.expire(held, ExpireReason::DeadlinePassed), Err(expected));
    world.expire(held, ExpireReason::DeadlinePassed).unwrap();
    assert_eq!(world.now_ms, deadline_ms + 1);
}

#[test]
fn any_node_may_expire_after_the_deadline_and_the_second_one_changes_nothing() {
    let mut world = World::new([step("a")]);
    let held = world.take(0);
    world.wait(LEASE_MS);
    let body = expire_body(held, ExpireReason::DeadlinePassed);
    world.say_from(elsewhere(), body.clone()).unwrap();
    assert_eq!(world.effects[0], Effect::Stop { step: 0, epoch: 1 });
    assert_eq!(world.step(0).history[0].outcome, Outcome::Abandoned);
    assert!(matches!(world.say(body), Err(Refusal::Fenced { .. })), "concurrent expiries are idempotent");
}

#[test]
fn an_expiry_of_an_older_epoch_does_not_touch_the_new_lease() {
    let mut world = World::new([step("a")]);
    let old = world.take(0);
    world.give_back(old).unwrap();
    world.take(0);
    world.wait(LEASE_MS * 2);
    assert!(matches!(world.expire(old, ExpireReason::DeadlinePassed), Err(Refusal::Fenced { .. })));
    assert!(matches!(world.time_out(old), Err(Refusal::Fenced { .. })));
}

#[test]
fn only_the_owner_can_know_that_its_process_is_gone_or_took_too_long() {
    let mut world = World::new([step("a")]);
    let held = world.take(0);
    world.wait(LEASE_MS * 2);
    let not_owner = Refusal::NotOwner { name: name("a"), owner: here(), author: elsewhere() };
    let gone = expire_body(held, ExpireReason::OwnerGone);
    let timeout = Body::TimeoutWork { step: 0, epoch: held.epoch, jitter_ms: 0 };
    for body in [gone, timeout] {
        assert_eq!(world.say_from(elsewhere(), body.clone()), Err(not_owner.clone()));
        world.clone().say(body).unwrap();
    }
}

#[test]
fn the_owner_need_not_wait_for_the_deadline_to_say_that_the_process_is_gone() {
    let mut world = World::new([step("a")]);
    let held = world.take(0);
    world.expire(held, ExpireReason::OwnerGone).unwrap();
    assert_eq!(world.status(0), Status::Retrying);
}

#[test]
fn the_holder_renews_by_claiming_again_and_only_the_deadline_moves() {
    let mut world = World::new([step("a")]);
    let held = world.take(0);
    let before = world.step(0).clone();
    world.wait(LEASE_MS * 3);
    world.say(world.claim_body(0, 1, held.token, LEASE_MS)).unwrap();
    let mut expected = before.clone();
    expected.lease.as_mut().unwrap().deadline_ms = world.now_ms + LEASE_MS;
    (expected.rev, expected.updated_ms) = (before.rev + 1, world.now_ms);
    assert_eq!(*world.step(0), expected, "neither epoch nor attempt grew");
    assert_eq!(world.effects, [], "nothing is started twice");
    assert!(matches!(world.expire(held, ExpireReason::DeadlinePassed), Err(Refusal::LeaseRuns { .. })));
    world.complete(held).unwrap();
}

#[test]
fn nobody_else_can_claim_what_is_held_even_after_the_deadline() {
    let mut world = World::new([step("a")]);
    let held = world.take(0);
    let deadline_ms = world.now_ms + LEASE_MS;
    let expected = Refusal::Held { name: name("a"), worker: WorkerId::new(0, 1), epoch: 1, deadline_ms };
    let (other_worker, other_token) =
        (world.claim_body(0, 2, held.token, 1), world.claim_body(0, 1, LeaseToken::new(9, 9), 1));
    assert_eq!(world.say(other_worker), Err(expected.clone()));
    assert_eq!(world.say(other_token.clone()), Err(expected.clone()));
    world.wait(LEASE_MS * 2);
    assert_eq!(world.say(other_token), Err(expected));
}

#[test]
fn a_claim_that_saw_its_own_time_or_later_is_back_dated() {
    let mut world = World::new([step("a")]);
    let token = world.token();
    for ahead_ms in [1, 2, 1_000_000] {
        let seen = Hlc { wall_ms: world.now_ms + ahead_ms, logical: 0, node: here() };
        let dated = Hlc { wall_ms: world.now_ms + 1, ..seen };
        let body = Body::ClaimWork { step: 0, owner: here(), worker: WorkerId::new(0, 1), token, lease_ms: 1, seen };
        assert_eq!(world.say(body), Err(Refusal::BackDated { dated, seen: Hlc { ..seen } }));
    }
    world.take(0);
}

#[test]
fn epochs_only_grow_also_over_redrives() {
    let mut world = World::new([step("a").attempts(1)]);
    for epoch in 1..=4 {
        let held = world.take(0);
        assert_eq!((held.epoch, world.step(0).attempt), (epoch, 1));
        world.fail(held, true).unwrap();
        world.redrive().unwrap();
        assert_eq!((world.step(0).epoch, world.step(0).attempt), (epoch, 0));
    }
}
