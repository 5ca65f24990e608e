//! D7: only the word of whoever has the message now counts.

use super::world::{LEASE_MS, World, asking, content, draft, elsewhere, id};
use crate::{
    hlc::Hlc,
    id::{LeaseToken, WorkerId},
    message::{Body, Refusal, State},
    op::{ExpireReason, HeldMessage},
};

type Word = fn(&mut World, HeldMessage) -> Result<(), Refusal>;

/// All that a holder can say.
const WORDS: [Word; 4] =
    [World::acknowledge, |world, held| world.reply(held, 50), |world, held| world.fail(held, true), World::give_back];

#[track_caller]
fn assert_fenced(world: &World, held: HeldMessage) {
    for word in WORDS {
        let mut world = world.clone();
        let found = world.rows.as_ref().unwrap().messages[&held.message].clone();
        let (message, epoch, given) = (held.message, found.epoch, held.epoch);
        assert_eq!(word(&mut world, held), Err(Refusal::Fenced { message, found: found.state, epoch, given }));
    }
}

#[test]
fn a_word_with_another_token_or_epoch_is_fenced() {
    let mut world = World::new(draft(1));
    assert_fenced(&world, HeldMessage { message: id(1), epoch: 0, token: LeaseToken::new(0, 0) });
    let held = world.take(1);
    assert_fenced(&world, HeldMessage { token: LeaseToken::new(0, 1), ..held });
    for epoch in [0, 2, u32::MAX] {
        assert_fenced(&world, HeldMessage { epoch, ..held });
    }
    world.acknowledge(held).unwrap();
}

#[test]
fn a_word_after_the_end_of_its_delivery_is_fenced() {
    let ends: [Word; 4] = [
        World::give_back,
        |world, held| world.fail(held, true),
        |world, held| world.expire_delivery(held, ExpireReason::OwnerGone),
        World::acknowledge,
    ];
    for end in ends {
        let mut world = World::new(draft(1));
        let old = world.take(1);
        end(&mut world, old).unwrap();
        assert_fenced(&world, old);
        if world.state(1) == State::Queued {
            world.wait(2000);
            let new = world.take(1);
            assert_fenced(&world, old);
            assert_eq!(new.epoch, 2, "the epoch grows whether the delivery counted or not");
            world.acknowledge(new).unwrap();
        }
        assert_fenced(&world, old);
    }
}

#[test]
fn a_stale_answer_completes_nothing() {
    let mut world = World::new(asking(1));
    let old = world.take(1);
    world.wait(LEASE_MS);
    world.expire_delivery(old, ExpireReason::DeadlinePassed).unwrap();
    assert!(matches!(world.reply(old, 2), Err(Refusal::Fenced { .. })));
    assert_eq!(world.rows.as_ref().unwrap().answered().count(), 0);
}

#[test]
fn an_acknowledgement_after_the_deadline_counts_until_somebody_expires_the_delivery() {
    let mut world = World::new(draft(1));
    let held = world.take(1);
    world.wait(10 * LEASE_MS);
    world.acknowledge(held).unwrap();
    let late = world.expire_delivery(held, ExpireReason::DeadlinePassed);
    assert!(matches!(late, Err(Refusal::Fenced { found: State::Done, .. })));
}

#[test]
fn a_lease_that_runs_and_a_process_of_another_node_cannot_be_called_gone() {
    let mut world = World::new(draft(1));
    let held = world.take(1);
    let lease = world.message(1).lease.clone().unwrap();
    world.wait(LEASE_MS - 1);
    let runs = Refusal::LeaseRuns { message: id(1), deadline_ms: lease.deadline_ms, now_ms: world.now_ms + 1 };
    assert_eq!(world.expire_delivery(held, ExpireReason::DeadlinePassed), Err(runs));
    let gone = Body::ExpireDelivery { message: id(1), epoch: 1, reason: ExpireReason::OwnerGone, jitter_ms: 0 };
    let outcome = world.say_as(|header| header.origin = elsewhere(), gone);
    assert_eq!(outcome, Err(Refusal::NotOwner { message: id(1), owner: lease.owner, author: elsewhere() }));
    world.expire_delivery(held, ExpireReason::DeadlinePassed).unwrap();
}

#[test]
fn the_same_worker_renews_and_nobody_else_gets_it_meanwhile() {
    let mut world = World::new(draft(1));
    let held = world.take(1);
    world.wait(500);
    let token = u128::from_be_bytes(held.token.to_bytes());
    world.say(world.deliver_body(1, "bob", 1, token)).unwrap();
    assert_eq!(world.message(1).lease.as_ref().unwrap().deadline_ms, world.now_ms + LEASE_MS);
    assert_eq!((world.message(1).epoch, world.message(1).deliveries), (1, 1), "a renewal is no delivery");
    for (worker, token) in [(2, token), (1, 5)] {
        let refusal = world.say(world.deliver_body(1, "bob", worker, token)).unwrap_err();
        assert!(matches!(refusal, Refusal::Held { worker, epoch: 1, .. } if worker == WorkerId::new(0, 1)));
    }
    world.acknowledge(held).unwrap();
}

#[test]
fn a_back_dated_delivery_cannot_displace_what_its_author_had_seen() {
    let mut world = World::new(draft(1));
    let held = world.take(1);
    world.acknowledge(held).unwrap();
    let (body, seen) = (world.deliver_body(1, "bob", 2, 9), world.rows.as_ref().unwrap().thread.head);
    let dated = Hlc { wall_ms: 5, ..seen };
    assert_eq!(world.say_as(|header| header.hlc = dated, body), Err(Refusal::BackDated { dated, seen }));
}

#[test]
fn a_word_about_a_message_that_is_not_there_is_refused() {
    let held = HeldMessage { message: id(9), epoch: 1, token: LeaseToken::new(0, 0) };
    for word in WORDS {
        assert_eq!(word(&mut World::empty(), held), Err(Refusal::NoThread));
        assert_eq!(word(&mut World::new(draft(1)), held), Err(Refusal::NoMessage { message: id(9) }));
    }
    let mut world = World::new(draft(1));
    let expected = Err(Refusal::NoMessage { message: id(9) });
    assert_eq!(world.deliver(9).map(|_| ()), expected);
    assert_eq!(world.expire(9), expected);
    assert_eq!(world.redrive(9), expected);
    assert_eq!(world.expire_delivery(held, ExpireReason::OwnerGone), expected);
    let reply = Body::ReplyMessage { held, answer: id(2), content: content("x") };
    assert_eq!(world.say(reply), expected);
}

#[test]
fn the_refusal_says_rejected_fenced_and_what_was_found() {
    let mut world = World::new(draft(1));
    let held = world.take(1);
    world.acknowledge(held).unwrap();
    let told = world.acknowledge(held).unwrap_err().to_string();
    let expected =
        format!("rejected_fenced: {} is DONE: epoch 1 has already ended, so the call changed nothing", id(1));
    assert_eq!(told, expected);
}
