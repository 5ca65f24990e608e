//! Every limit has a number and a refusal, and every message is sent once.

use super::world::{World, draft, id, name};
use crate::{
    id::LeaseToken,
    message::{Body, DELIVERIES_MAX, Draft, MESSAGES_MAX, Refusal, State},
    op::{ExpireReason, HeldMessage},
    task::LEASE_MS_MAX,
};

#[test]
fn a_second_message_with_the_same_id_is_refused_with_the_state_of_the_first() {
    let mut world = World::new(draft(1));
    let expected = |found| Err(Refusal::MessageExists { message: id(1), found });
    assert_eq!(world.send(draft(1)), expected(State::Queued));
    let held = world.take(1);
    world.acknowledge(held).unwrap();
    assert_eq!(world.send(Draft { to: name("eve"), ..draft(1) }), expected(State::Done));
}

#[test]
fn what_cannot_be_delivered_is_not_sent() {
    for found in [0, DELIVERIES_MAX + 1] {
        let mut world = World::empty();
        assert_eq!(world.send(Draft { max_deliveries: found, ..draft(1) }), Err(Refusal::Deliveries { found }));
        assert_eq!(world.rows, None);
    }
    assert_eq!(World::empty().send(Draft { ttl_ms: Some(0), ..draft(1) }), Err(Refusal::NoTtl));
    World::new(Draft { ttl_ms: Some(u64::MAX), max_deliveries: DELIVERIES_MAX, ..draft(1) });
}

#[test]
fn a_full_thread_takes_no_more_but_what_is_in_it_can_end() {
    let mut world = World::new(draft(1));
    let rows = world.rows.as_mut().unwrap();
    let one = rows.messages.values().next().unwrap().clone();
    for number in 2..=MESSAGES_MAX as u128 {
        let message = crate::message::Message { draft: draft(number), ..one.clone() };
        rows.messages.insert(id(number), message);
    }
    let full = Refusal::ThreadFull { count: MESSAGES_MAX };
    assert_eq!(world.send(draft(20_000)), Err(full.clone()));
    let held = world.take(1);
    assert_eq!(world.reply(held, 20_000), Err(full), "an answer is a message too");
    world.acknowledge(held).unwrap();
}

#[test]
fn an_op_of_another_scope_or_namespace_is_refused() {
    let mut world = World::empty();
    world.send(draft(1)).unwrap();
    let outcome = world.say_as(|header| header.namespace = name("other"), Body::SendMessage { draft: draft(2) });
    assert_eq!(outcome, Err(Refusal::OtherNamespace { found: name("default") }));
}

#[test]
fn a_delivery_without_end_ends_all_the_same() {
    let mut world = World::new(draft(1));
    let endless = |world: &World| {
        let mut body = world.deliver_body(1, "bob", 1, 7);
        if let Body::DeliverMessage { lease_ms, .. } = &mut body {
            *lease_ms = u64::MAX;
        }
        body
    };
    for _ in ["taken", "renewed"] {
        world.say(endless(&world)).unwrap();
        assert_eq!(world.message(1).lease.as_ref().unwrap().deadline_ms, world.now_ms + LEASE_MS_MAX);
    }
    world.wait(LEASE_MS_MAX);
    let held = HeldMessage { message: id(1), epoch: 1, token: LeaseToken::new(0, 7) };
    world.expire_delivery(held, ExpireReason::DeadlinePassed).unwrap();
}
