//! Numbers are used once, and what waits keeps its order and its bounds.

use super::*;
use crate::sign::Fingerprint;
use proptest::{collection::vec, prelude::*};
use relaymesh_core::canonical::MAX_SAFE_INTEGER;

fn peer(number: u8) -> Fingerprint {
    Fingerprint([number; 32])
}

fn item(number: u8, not_before_ms: u64, expires_ms: u64) -> Item {
    Item { peer_fp: peer(number), message: vec![number; 10], not_before_ms, expires_ms, attempts: 0, reason: None }
}

fn ids(due: &[(OutboxId, Item)]) -> Vec<u64> {
    due.iter().map(|(id, _)| id.0).collect()
}

fn small() -> Outbox {
    Outbox::new(Limits { items_max: 4, items_per_peer_max: 3, bytes_max: 100, attempts_max: 3 })
}

#[test]
fn a3_numbers_begin_with_one() {
    let (kept, block) = reserve(Sender::default(), 3).unwrap();
    assert_eq!((kept.reserved, block), (3, Block { epoch: 0, first: 1, last: 3 }));
    let mut sequences = Sequences::default();
    assert_eq!(sequences.poll_next(), None, "nothing is reserved yet");
    sequences.handle_reserved(block);
    let given: Vec<_> = std::iter::from_fn(|| sequences.poll_next()).collect();
    assert_eq!(given, [(0, 1), (0, 2), (0, 3)]);
}

#[test]
fn a_new_epoch_is_later_and_counts_from_one() {
    let sender = Sender { epoch: 5, reserved: 70 };
    assert_eq!(sender.begin(5), None);
    assert_eq!(sender.begin(4), None);
    assert_eq!(sender.begin(1 << 53), None, "no JSON number");
    assert_eq!(sender.begin(9), Some(Sender { epoch: 9, reserved: 0 }));
}

#[test]
fn numbers_end_where_json_ends_and_are_never_given_twice() {
    let sender = Sender { epoch: 1, reserved: MAX_SAFE_INTEGER - 2 };
    let (sender, block) = reserve(sender, 10).unwrap();
    assert_eq!((block.first, block.last), (MAX_SAFE_INTEGER - 1, MAX_SAFE_INTEGER));
    assert_eq!(reserve(sender, 1), Err(Exhausted { epoch: 1 }));
    let (_, one) = reserve(Sender::default(), 0).unwrap();
    assert_eq!((one.first, one.last), (1, 1), "a block of nothing would be asked for again for ever");
}

#[test]
fn of_each_peer_only_the_first_is_due_and_the_longest_due_comes_first() {
    let mut outbox = small();
    for one in [item(1, 50, 900), item(1, 0, 900), item(2, 40, 900)] {
        outbox.enqueue(one).unwrap();
    }
    assert_eq!(ids(&outbox.due(39, 9)), [0; 0]);
    assert_eq!(ids(&outbox.due(49, 9)), [3], "the second of peer 1 is ready and waits for the first");
    assert_eq!(ids(&outbox.due(50, 9)), [3, 1]);
    assert_eq!(ids(&outbox.due(50, 1)), [3]);
    assert!(outbox.remove(OutboxId(1)).is_some());
    assert_eq!(outbox.remove(OutboxId(1)), None);
    assert_eq!(ids(&outbox.due(50, 9)), [2, 3]);
}

#[test]
fn a_failed_try_waits_with_its_reason_and_is_given_up_after_so_many() {
    let mut outbox = small();
    let id = outbox.enqueue(item(1, 0, 900)).unwrap();
    assert_eq!(outbox.fail(id, &"x".repeat(5_000), 70), Failed::Waits);
    assert_eq!(ids(&outbox.due(69, 9)), [0; 0]);
    let again = &outbox.due(70, 9)[0].1;
    assert_eq!((again.attempts, again.reason.as_ref().map(String::len)), (1, Some(200)));
    assert_eq!(outbox.hurry(&peer(1), 20), Some(id));
    assert_eq!(ids(&outbox.due(20, 9)), [1], "the peer is back");
    assert_eq!(outbox.hurry(&peer(1), 500), None);
    assert_eq!(ids(&outbox.due(20, 9)), [1], "nothing is put off by it");
    assert_eq!(outbox.fail(id, "refused", 0), Failed::Waits);
    assert!(matches!(outbox.fail(id, "refused", 0), Failed::GivenUp(item) if item.attempts == 3));
    assert_eq!(outbox.fail(id, "refused", 0), Failed::Unknown);
    assert!(outbox.is_empty());
}

#[test]
fn what_is_over_is_never_due_and_is_told_once() {
    let mut outbox = small();
    for one in [item(1, 0, 100), item(1, 0, 50), item(1, 0, 900)] {
        outbox.enqueue(one).unwrap();
    }
    assert_eq!(ids(&outbox.expire(49)), [0; 0]);
    assert_eq!(ids(&outbox.expire(50)), [2], "also from the middle of a queue");
    assert_eq!(ids(&outbox.due(100, 9)), [0; 0], "the first is over, and nothing goes before it is told");
    assert_eq!(ids(&outbox.expire(100)), [1]);
    assert_eq!(ids(&outbox.due(100, 9)), [3]);
    assert_eq!(ids(&outbox.expire(100)), [0; 0]);
}

#[test]
fn what_was_kept_waits_again_in_its_place_and_ids_go_on() {
    let mut outbox = small();
    let ids = [item(1, 50, 900), item(1, 0, 900), item(2, 40, 900)].map(|one| outbox.enqueue(one).unwrap());
    outbox.remove(ids[2]);
    let kept = ids.iter().filter_map(|id| Some((*id, outbox.item(*id)?.clone())));
    let mut again = Outbox::restore(outbox.limits, ids[2], kept);
    assert_eq!(again, outbox);
    assert_eq!(again.enqueue(item(3, 0, 900)), Ok(OutboxId(4)));
    let full = Limits { items_max: 0, ..outbox.limits };
    let mut less = Outbox::restore(full, ids[1], [(ids[0], item(1, 0, 900))]);
    assert_eq!(
        (less.due(1, 9).len(), less.enqueue(item(1, 0, 900)).is_err()),
        (1, true),
        "nothing is lost to smaller bounds"
    );
}

#[test]
fn bounds_hold_and_a_refusal_changes_nothing() {
    let mut outbox = small();
    for _ in 0..3 {
        outbox.enqueue(item(1, 0, 9)).unwrap();
    }
    let before = outbox.clone();
    assert_eq!(outbox.enqueue(item(1, 0, 9)), Err(Full { what: "items for this peer", found: 4, max: 3 }));
    let large = Item { message: vec![0; 71], ..item(2, 0, 9) };
    assert_eq!(outbox.enqueue(large), Err(Full { what: "bytes", found: 101, max: 100 }));
    assert_eq!(outbox, before);
    outbox.enqueue(item(2, 0, 9)).unwrap();
    assert_eq!(outbox.enqueue(item(3, 0, 9)), Err(Full { what: "items", found: 5, max: 4 }));
    assert_eq!(outbox.len(), 4);
}

proptest! {
    #[test]
    fn over_crashes_no_number_is_used_twice_and_they_grow(steps in vec((1..20_u64, 0..25_usize, any::<bool>()), 1..40)) {
        let (mut durable, mut sequences) = (Sender::default(), Sequences::default());
        let mut last = (0, 0);
        for (count, uses, crash) in steps {
            let (kept, block) = reserve(durable, count).unwrap();
            durable = kept;
            sequences.handle_reserved(block);
            for _ in 0..uses {
                let Some(next) = sequences.poll_next() else { break };
                prop_assert!(next > last, "{:?} after {:?}", next, last);
                last = next;
            }
            if crash {
                sequences = Sequences::default();
            }
        }
    }

    #[test]
    fn whatever_happens_each_peer_is_served_in_order(steps in vec((0..6_u8, 1..4_u8, 0..10_u64), 1..80)) {
        let mut outbox = Outbox::new(Limits { items_max: 12, items_per_peer_max: 6, bytes_max: 200, attempts_max: 3 });
        let mut sent: std::collections::BTreeMap<Fingerprint, OutboxId> = std::collections::BTreeMap::new();
        for (now, (verb, who, time)) in (0_u64..).zip(steps) {
            let due = outbox.due(now, 9);
            match (verb, due.first()) {
                (0 | 1, _) | (_, None) => drop(outbox.enqueue(item(who, now + time, now + 3 * time))),
                (2, Some((id, _))) => drop(outbox.fail(*id, "unreachable", now + time)),
                (3, _) => drop(outbox.expire(now)),
                (4, _) => drop(outbox.hurry(&peer(who), now)),
                (_, Some((id, item))) => {
                    prop_assert!(sent.insert(item.peer_fp, *id).is_none_or(|before| before < *id), "out of order");
                    outbox.remove(*id);
                }
            }
            outbox.validate().unwrap();
        }
    }
}
