//! Two buses in one process: they talk, go away and come back. The same stories on every store (A5, A6, A7).

#![allow(clippy::unwrap_used, reason = "a test that cannot go on should stop")]

mod world;

use relaymesh_bus::sign::{Fingerprint, Signer};
use relaymesh_bus::store::{Limits, MeshStore};
use relaymesh_bus::{
    Bus,
    bus::{Draft, Error, Kind, Message, Receipt, Received, Refused, Why},
};
use relaymesh_core::id::NodeId;
use world::{Backend, Memory, Node, Sqlite, draft, nonce, wait};

macro_rules! bus_suite {
    ($($store:ident: $backend:ty,)*) => {$(
        mod $store {
            use super::*;

            #[test]
            fn what_is_sent_arrives_once_in_order_and_signed_by_its_sender() {
                super::what_is_sent_arrives_once_in_order_and_signed_by_its_sender::<$backend>();
            }

            #[test]
            fn a10_a_reply_names_its_request() {
                super::a10_a_reply_names_its_request::<$backend>();
            }

            #[test]
            fn a6_what_is_sent_to_somebody_away_is_spooled_and_delivered_once() {
                super::a6_what_is_sent_to_somebody_away_is_spooled_and_delivered_once::<$backend>();
            }

            #[test]
            fn a6_what_waits_outlives_a_restart_of_its_sender() {
                super::a6_what_waits_outlives_a_restart_of_its_sender::<$backend>();
            }

            #[test]
            fn a5_numbers_go_on_after_a_restart() {
                super::a5_numbers_go_on_after_a_restart::<$backend>();
            }

            #[test]
            fn a5_a_replay_captured_before_a_restart_is_refused_after_it() {
                super::a5_a_replay_captured_before_a_restart_is_refused_after_it::<$backend>();
            }

            #[test]
            fn a_lost_receipt_makes_it_go_again_and_be_taken_once() {
                super::a_lost_receipt_makes_it_go_again_and_be_taken_once::<$backend>();
            }

            #[test]
            fn somebody_who_is_away_holds_up_nobody_else() {
                super::somebody_who_is_away_holds_up_nobody_else::<$backend>();
            }

            #[test]
            fn what_is_over_or_tried_too_often_is_told_once() {
                super::what_is_over_or_tried_too_often_is_told_once::<$backend>();
            }

            #[test]
            fn what_cannot_wait_or_is_too_long_is_refused_and_changes_nothing() {
                super::what_cannot_wait_or_is_too_long_is_refused_and_changes_nothing::<$backend>();
            }

            #[test]
            fn what_is_not_for_us_or_was_changed_is_refused() {
                super::what_is_not_for_us_or_was_changed_is_refused::<$backend>();
            }

            #[test]
            fn whatever_the_link_does_each_message_is_taken_once_and_in_order() {
                super::world::random::whatever_the_link_does::<$backend>();
            }
        }
    )*};
}

bus_suite! { memory: Memory, sqlite: Sqlite, }

fn what_is_sent_arrives_once_in_order_and_signed_by_its_sender<B: Backend>() {
    let (mut alice, mut bob) = (Node::<B>::new(1), Node::<B>::new(2));
    for number in 1..=5 {
        alice.send(&bob, number, 0);
        bob.send(&alice, number + 100, 0);
    }
    for _ in 0..5 {
        alice.deliver(&mut bob, 0);
        bob.deliver(&mut alice, 0);
    }
    assert_eq!((bob.heard(), alice.heard()), (vec![1, 2, 3, 4, 5], vec![101, 102, 103, 104, 105]));
    assert!(bob.incoming.iter().all(|incoming| incoming.from == alice.bus().public_key()));
    assert_eq!((alice.poll(9).parcels.len(), bob.poll(9).parcels.len()), (0, 0), "nothing is left");
}

fn a10_a_reply_names_its_request<B: Backend>() {
    let (mut alice, mut bob) = (Node::<B>::new(1), Node::<B>::new(2));
    let ask = Draft { kind: Kind::Request, topic: "time".parse().unwrap(), ..draft(bob.fingerprint(), 1) };
    wait(alice.bus().send(ask, 0)).unwrap();
    alice.deliver(&mut bob, 0);
    let asked = bob.incoming.pop().unwrap();
    assert_eq!((asked.message.kind, asked.message.topic.as_str()), (Kind::Request, "time"));
    let kind = Kind::Reply { to: asked.message.nonce };
    let reply = Draft { kind, body: b"noon".to_vec(), ..draft(asked.from.fingerprint(), 2) };
    wait(bob.bus().send(reply, 0)).unwrap();
    bob.deliver(&mut alice, 0);
    let reply = alice.incoming.pop().unwrap().message;
    assert_eq!((reply.kind, &reply.body[..]), (Kind::Reply { to: nonce(1) }, &b"noon"[..]));
}

fn a6_what_is_sent_to_somebody_away_is_spooled_and_delivered_once<B: Backend>() {
    let (mut alice, mut bob) = (Node::<B>::new(1), Node::<B>::new(2));
    (1..=3).for_each(|number| alice.send(&bob, number, 0));
    // Nobody is there: half a second later, then one, then two (V7), and only the first is tried.
    for (now_ms, next_ms) in [(0, 500), (500, 1_500), (1_500, 3_500)] {
        assert_eq!(alice.fail(now_ms), 1);
        assert_eq!(alice.poll(next_ms - 1).parcels.len(), 0, "not before {next_ms}");
    }
    wait(alice.drain().handle_back(bob.fingerprint(), 1_600)).unwrap();
    let sent: Vec<_> = (0..3).flat_map(|_| alice.deliver(&mut bob, 1_600)).collect();
    assert_eq!((sent.len(), bob.heard()), (3, vec![1, 2, 3]));
    for parcel in &sent {
        assert_eq!(bob.receive(parcel), Receipt::Taken, "it is here, and not taken again");
    }
    assert_eq!(bob.heard(), [1, 2, 3]);
}

fn a6_what_waits_outlives_a_restart_of_its_sender<B: Backend>() {
    let (mut alice, mut bob) = (Node::<B>::new(1), Node::<B>::new(2));
    (1..=3).for_each(|number| alice.send(&bob, number, 0));
    alice.fail(0);
    // On its way when the process ends: nobody knows, so it goes again.
    assert_eq!(alice.poll(600).parcels.len(), 1);
    alice.restart(700);
    for _ in 0..3 {
        alice.deliver(&mut bob, 700);
    }
    assert_eq!(bob.heard(), [1, 2, 3]);
}

fn a5_numbers_go_on_after_a_restart<B: Backend>() {
    let (mut alice, mut bob) = (Node::<B>::new(1), Node::<B>::new(2));
    let mut last = (0, 0);
    for life in 1..=4 {
        for number in 0..3 {
            alice.send(&bob, life * 10 + number, 0);
            let sent = alice.deliver(&mut bob, 0);
            let place = world::place(&sent[0], &bob);
            assert!(place > last && (life == 1 || place.1 > 1), "{place:?} after {last:?}");
            last = place;
        }
        alice.restart(life * 1_000_000);
    }
    assert_eq!(bob.heard().len(), 12, "none of them was refused");
    let epochs = wait(alice.bus().store().sender()).unwrap().epoch;
    assert_eq!(epochs, last.0, "a restart is no new life");
}

fn a5_a_replay_captured_before_a_restart_is_refused_after_it<B: Backend>() {
    let (mut alice, mut bob) = (Node::<B>::new(1), Node::<B>::new(2));
    let mut captured = Vec::new();
    for number in 1..=3 {
        alice.send(&bob, number, 0);
        captured.extend(alice.deliver(&mut bob, 0));
    }
    bob.restart(1_000);
    for bytes in &captured {
        assert!(matches!(wait(bob.bus().receive(bytes, None)), Ok(Received::Again)));
    }
    alice.send(&bob, 4, 0);
    alice.deliver(&mut bob, 0);
    assert_eq!(bob.heard(), [1, 2, 3, 4]);
}

fn a_lost_receipt_makes_it_go_again_and_be_taken_once<B: Backend>() {
    let (mut alice, mut bob) = (Node::<B>::new(1), Node::<B>::new(2));
    alice.send(&bob, 1, 0);
    let first = alice.poll(0).parcels.remove(0);
    assert_eq!(bob.receive(&first.bytes), Receipt::Taken);
    wait(alice.drain().handle_failed(first.id, "no answer", 0, 0)).unwrap();
    let second = alice.deliver(&mut bob, 500);
    assert!(second[0] != first.bytes, "another number, and the same nonce");
    assert_eq!((bob.heard(), alice.poll(9_000).parcels.len()), (vec![1], 0));
    assert_eq!(bob.receive(&first.bytes), Receipt::Taken, "a late copy of the first try");
    assert_eq!(bob.heard(), [1]);
}

fn somebody_who_is_away_holds_up_nobody_else<B: Backend>() {
    let (mut alice, mut bob, carol) = (Node::<B>::new(1), Node::<B>::new(2), Node::<B>::new(3));
    alice.send(&carol, 1, 0);
    alice.send(&bob, 2, 0);
    alice.send(&bob, 3, 0);
    let polled = alice.poll(0).parcels;
    assert_eq!(polled.iter().map(|parcel| parcel.peer).collect::<Vec<_>>(), [carol.fingerprint(), bob.fingerprint()]);
    assert_eq!(alice.poll(0).parcels.len(), 0, "one at a time for each");
    for parcel in &polled[1..] {
        assert_eq!(bob.receive(&parcel.bytes), Receipt::Taken);
        wait(alice.drain().handle_taken(parcel.id)).unwrap();
    }
    alice.deliver(&mut bob, 0);
    assert_eq!(bob.heard(), [2, 3], "while the one for Carol is still on its way");
}

fn what_is_over_or_tried_too_often_is_told_once<B: Backend>() {
    let (mut alice, bob) = (Node::<B>::with_limits(1, world::small()), Node::<B>::new(2));
    wait(alice.bus().send(Draft { expires_ms: 50, ..draft(bob.fingerprint(), 1) }, 0)).unwrap();
    alice.send(&bob, 2, 0);
    assert_eq!(alice.fail(0), 1);
    let told = alice.poll(50);
    assert_eq!((told.given_up.len(), told.parcels.len()), (1, 1), "the next one goes");
    assert_eq!((&told.given_up[0].why, told.given_up[0].message.as_ref().unwrap().nonce), (&Why::Expired, nonce(1)));
    let mut given_up = wait(alice.drain().handle_failed(told.parcels[0].id, "no", 50, 0)).unwrap();
    for now_ms in [10_000, 20_000] {
        assert_eq!(given_up, None);
        let parcel = alice.poll(now_ms).parcels.remove(0);
        given_up = wait(alice.drain().handle_failed(parcel.id, "nobody home", now_ms, 0)).unwrap();
    }
    let given_up = given_up.unwrap();
    assert_eq!(given_up.why, Why::TriedTooOften { attempts: 3, reason: "nobody home".to_owned() });
    assert_eq!(given_up.message.map(|message| message.nonce), Ok(nonce(2)));
    assert_eq!(alice.poll(900_000), Default::default());
}

fn what_cannot_wait_or_is_too_long_is_refused_and_changes_nothing<B: Backend>() {
    let (mut alice, bob) = (Node::<B>::with_limits(1, world::small()), Node::<B>::new(2));
    (1..=3).for_each(|number| alice.send(&bob, number, 0));
    assert!(matches!(wait(alice.bus().send(draft(bob.fingerprint(), 4), 0)), Err(Error::Full(_))));
    let long = Draft { body: vec![0; 17 << 20], ..draft(bob.fingerprint(), 5) };
    assert!(matches!(wait(alice.bus().send(long, 0)), Err(Error::TooLong { .. })));
    let mut tried = 0;
    while let Some(parcel) = alice.poll(0).parcels.pop() {
        wait(alice.drain().handle_taken(parcel.id)).unwrap();
        tried += 1;
    }
    assert_eq!(tried, 3);
}

fn what_is_not_for_us_or_was_changed_is_refused<B: Backend>() {
    let (mut alice, mut bob, carol) = (Node::<B>::new(1), Node::<B>::new(2), Node::<B>::new(3));
    alice.send(&bob, 1, 0);
    let bytes = alice.poll(0).parcels.remove(0).bytes;
    let refused = |node: &Node<B>, bytes: &[u8], carrier| {
        matches!(wait(node.bus().receive(bytes, carrier)), Ok(Received::Refused(Refused::Envelope(_))))
    };
    assert!(refused(&carol, &bytes, None), "for somebody else");
    assert!(refused(&bob, &bytes, Some(carol.bus().public_key())), "by somebody else's link");
    for at in 0..bytes.len() {
        let mut bent = bytes.clone();
        bent[at] ^= 1;
        assert!(refused(&bob, &bent, None) && refused(&bob, &bytes[..at], None), "{at}");
    }
    assert_eq!(bob.receive(&bytes), Receipt::Taken, "and none of that has used up its nonce");
    assert_eq!(bob.heard(), [1]);
}

#[test]
fn d17_a_bus_that_forgot_everything_begins_a_new_life_and_is_heard() {
    let mut bob = Node::<Memory>::new(2);
    for life in 1..=3_u64 {
        let mut alice = Node::<Memory>::at(1, Limits::default(), life * 1_000);
        alice.send(&bob, life, 0);
        alice.deliver(&mut bob, 0);
    }
    assert_eq!(bob.heard(), [1, 2, 3]);
}

#[test]
fn a3_a_bus_remembers_in_memory_by_default() {
    let (bus, mut drain) = wait(Bus::in_memory(Signer::from_seed(&[1; 32]), NodeId::new(1, 1), 7)).unwrap();
    wait(bus.send(draft(bus.fingerprint(), 1), 0)).unwrap();
    let parcel = wait(drain.poll(0, 9)).unwrap().parcels.remove(0);
    let header = world::header(&parcel.bytes, bus.fingerprint());
    assert_eq!((header.sender_epoch, header.sequence), (7, 1), "numbers begin with one");
    assert!(matches!(wait(bus.receive(&parcel.bytes, None)), Ok(Received::Message(_))));
}

#[test]
fn what_nobody_can_send_is_given_up_and_told_and_holds_up_nobody() {
    let mut alice = Node::<Memory>::new(1);
    let (peer_fp, bob) = (Fingerprint([9; 32]), Node::<Memory>::new(2));
    let item = relaymesh_bus::outbound::Item {
        peer_fp,
        message: b"of another program".to_vec(),
        not_before_ms: 0,
        expires_ms: 900,
        attempts: 0,
        reason: None,
    };
    wait(alice.bus().store().enqueue(item)).unwrap().unwrap();
    alice.send(&bob, 1, 0);
    let polled = alice.poll(0);
    assert_eq!(polled.parcels.len(), 1);
    assert!(matches!(&polled.given_up[0].why, Why::Unsendable { .. }));
    assert_eq!(polled.given_up[0].message, Err(relaymesh_bus::bus::Unreadable));
    assert_eq!(alice.poll(0), Default::default());
}

#[test]
fn an_envelope_without_a_message_in_it_is_refused_and_uses_up_nothing() {
    let (mut alice, bob) = (Node::<Memory>::new(1), Node::<Memory>::new(2));
    alice.send(&bob, 1, 0);
    let bytes = alice.poll(0).parcels.remove(0).bytes;
    let header = world::header(&bytes, bob.fingerprint());
    let other = relaymesh_bus::envelope::seal(&Signer::from_seed(&[1; 32]), &header, b"\x07").unwrap();
    let refused = wait(bob.bus().receive(&other, None)).unwrap();
    assert!(matches!(&refused, Received::Refused(Refused::Unreadable(_))));
    assert!(matches!(refused.receipt(), Receipt::Refused { reason } if reason.contains("unreadable")));
    assert!(matches!(wait(bob.bus().receive(&bytes, None)), Ok(Received::Message(_))));
    let message = Message::from_payload(header.nonce, 0, b"\x01\x00\x01tx").unwrap();
    assert_eq!((message.kind, message.topic.as_str(), &message.body[..]), (Kind::Note, "t", &b"x"[..]));
}
