//! The table, line by line; and what holds for all writes in all orders.

use super::*;
use crate::fence::{FenceToken, Gate, Stale};
use proptest::prelude::*;
use relaymesh_core::{
    hash::Hash,
    hlc::Hlc,
    id::{IntentId, NodeId},
    op::WriteClass,
};
use std::collections::BTreeMap;

fn node(number: u128) -> NodeId {
    NodeId::new(1, number)
}

fn at(wall_ms: u64) -> Hlc {
    Hlc { wall_ms, logical: 0, node: node(1) }
}

fn content(number: u8) -> Hash {
    Hash([number; 32])
}

fn token(epoch: u64) -> Option<FenceToken> {
    Some(FenceToken { epoch, coordinator: node(9), sequence: 1 })
}

/// A write made at time 50 under epoch 3, without a precondition.
fn write() -> Arriving {
    Arriving {
        intent: IntentId::new(1, 1),
        origin: node(1),
        created: at(50),
        class: WriteClass::Strong,
        fence: token(3),
        precondition: Precondition::default(),
        content: content(1),
    }
}

fn expecting(base: u64) -> Arriving {
    Arriving { precondition: Precondition { base_revision: Some(base), lease_epoch: None }, ..write() }
}

fn in_epoch(epoch: u64) -> Arriving {
    Arriving { precondition: Precondition { base_revision: None, lease_epoch: Some(epoch) }, ..write() }
}

#[test]
fn f9_every_line_of_the_table() {
    let mut gate = Gate::default();
    gate.advance(3, node(9));
    let here = |revision: u64, written: u64, with: u8, known: Option<u8>| Current {
        gate: &gate,
        revision,
        written: (revision > 0).then(|| at(written)),
        content: (revision > 0).then(|| content(with)),
        known: known.map(content),
    };
    let old = Arriving { fence: token(2), ..write() };
    let free = Arriving { class: WriteClass::Queued, fence: None, ..expecting(4) };
    let unfenced = Arriving { fence: None, ..write() };
    use Outcome::{Applied, ConflictRequiresMerge, NoopAlreadyApplied, RejectedFenced, Superseded};
    for (write, current, outcome, why) in [
        (write(), here(4, 90, 7, Some(1)), NoopAlreadyApplied, Why::Repeat),
        (old, here(4, 90, 7, Some(1)), NoopAlreadyApplied, Why::Repeat),
        (write(), here(4, 90, 7, Some(2)), ConflictRequiresMerge, Why::IntentReused),
        (old, here(4, 40, 7, None), RejectedFenced, Why::Stale(Stale::Epoch { given: 2, newest: 3 })),
        (unfenced, here(4, 40, 7, None), RejectedFenced, Why::Unfenced),
        (unfenced, here(4, 40, 7, Some(1)), NoopAlreadyApplied, Why::Repeat),
        (in_epoch(2), here(4, 40, 7, None), RejectedFenced, Why::Epoch { expected: 2, found: 3 }),
        (in_epoch(3), here(4, 40, 7, None), Applied, Why::Clear),
        (write(), here(4, 90, 7, None), Applied, Why::Clear),
        (write(), here(0, 0, 0, None), Applied, Why::Clear),
        (expecting(0), here(0, 0, 0, None), Applied, Why::Clear),
        (expecting(4), here(4, 40, 7, None), Applied, Why::Clear),
        (free, here(4, 40, 7, None), Applied, Why::Clear),
        (expecting(3), here(4, 90, 1, None), NoopAlreadyApplied, Why::SameContent { current: 4 }),
        (expecting(3), here(4, 51, 7, None), Superseded, Why::Newer { base: 3, current: 4 }),
        (expecting(0), here(4, 90, 7, None), Superseded, Why::Newer { base: 0, current: 4 }),
        (expecting(3), here(4, 49, 7, None), ConflictRequiresMerge, Why::Unseen { base: 3, current: 4 }),
        (expecting(3), here(4, 50, 7, None), ConflictRequiresMerge, Why::Unseen { base: 3, current: 4 }),
        (expecting(5), here(4, 49, 7, None), ConflictRequiresMerge, Why::BaseMissing { base: 5, current: 4 }),
        (expecting(1), here(0, 0, 0, None), ConflictRequiresMerge, Why::BaseMissing { base: 1, current: 0 }),
    ] {
        assert_eq!(reconcile(&write, &current), Decision { outcome, why }, "{write:?} on {current:?}");
    }
}

#[test]
fn f9_the_five_words_are_those_of_the_source() {
    let words = ["applied", "noop_already_applied", "superseded", "conflict_requires_merge", "rejected_fenced"];
    assert_eq!(Outcome::ALL.map(Outcome::as_str), words);
    for outcome in Outcome::ALL {
        assert_eq!(serde_json::to_value(outcome).unwrap(), outcome.as_str());
    }
}

/// A node that lands writes on several entities in one realm.
#[derive(Debug, Clone, Default, PartialEq)]
struct Node {
    gate: Gate,
    entities: BTreeMap<u8, Entity>,
}

impl Node {
    fn land(&mut self, on: u8, write: &Arriving) -> Outcome {
        land(self.entities.entry(on).or_default(), &mut self.gate, write).outcome
    }
}

/// A write of `intent` on one of three entities; few values each, so that they meet.
fn arriving() -> impl Strategy<Value = (u8, Arriving)> {
    let precondition = (prop::option::of(0..4u64), prop::option::of(1..4u64))
        .prop_map(|(base_revision, lease_epoch)| Precondition { base_revision, lease_epoch });
    let fence = prop::option::of((0..4u64, 8..10u128, 1..20u64));
    let class = prop::sample::select(vec![WriteClass::Strong, WriteClass::Queued]);
    (0..3u8, 0..12u128, 1..3u128, 0..30u64, (class, fence), precondition, 0..4u8).prop_map(
        |(on, intent, origin, wall_ms, (class, fence), precondition, with)| {
            let fence = fence.map(|(epoch, coordinator, sequence)| FenceToken {
                epoch,
                coordinator: node(coordinator),
                sequence,
            });
            let origin = node(origin);
            let created = Hlc { wall_ms, logical: 0, node: origin };
            (
                on,
                Arriving {
                    intent: IntentId::new(1, intent),
                    origin,
                    created,
                    class,
                    fence,
                    precondition,
                    content: content(with),
                },
            )
        },
    )
}

proptest! {
    #[test]
    fn f9_one_answer_for_anything_and_only_applied_changes_anything(
        writes in prop::collection::vec(arriving(), 0..40),
    ) {
        let mut here = Node::default();
        for (on, write) in &writes {
            let before = here.clone();
            here.entities.entry(*on).or_default();
            let rev = here.entities[on].revision;
            let outcome = here.land(*on, write);
            prop_assert_eq!(before.clone().land(*on, write), outcome, "the same question has the same answer");
            let grown = here.entities[on].revision - rev;
            prop_assert_eq!(grown == 1, outcome == Outcome::Applied);
            prop_assert!(here.gate.epoch() >= before.gate.epoch());
            if outcome != Outcome::Applied {
                prop_assert_eq!(&here.gate, &before.gate);
                prop_assert_eq!(Some(&here.entities[on]).filter(|e| **e != Entity::default()), before.entities.get(on).filter(|e| **e != Entity::default()));
            }
        }
        for entity in here.entities.values() {
            prop_assert_eq!(entity.applied.len() as u64, entity.revision, "each intent at most once");
        }
    }

    /// Sending anything again, at any later time, changes nothing and is answered as a repeat.
    #[test]
    fn a_repeat_of_what_was_applied_is_a_noop_whatever_came_between(
        writes in prop::collection::vec(arriving(), 1..30),
    ) {
        let mut here = Node::default();
        let mut applied = Vec::new();
        for (on, write) in &writes {
            if here.land(*on, write) == Outcome::Applied {
                applied.push((*on, *write));
            }
        }
        let after = here.clone();
        for (on, write) in applied {
            prop_assert_eq!(here.land(on, &write), Outcome::NoopAlreadyApplied);
        }
        prop_assert_eq!(here, after);
    }

    /// Writes on different entities, of different origins under one epoch, do not see each other: any order is the same.
    #[test]
    fn the_order_of_replay_does_not_matter_between_entities(
        seeds in prop::collection::vec((0..30u64, 0..4u8, prop::option::of(0..2u64)), 2..8),
        order in any::<prop::sample::Index>(),
    ) {
        let writes: Vec<(u8, Arriving)> = seeds.iter().zip(1u8..).map(|(&(wall_ms, with, base_revision), place)| {
            let origin = node(place.into());
            let created = Hlc { wall_ms, logical: 0, node: origin };
            let precondition = Precondition { base_revision, lease_epoch: Some(3) };
            (place, Arriving { intent: IntentId::new(1, place.into()), origin, created, precondition, content: content(with), ..write() })
        }).collect();
        let mut turned = writes.clone();
        turned.rotate_left(order.index(writes.len()));
        turned.reverse();
        let play = |writes: &[(u8, Arriving)]| {
            let mut here = Node::default();
            here.gate.advance(3, node(9));
            let mut outcomes: Vec<_> = writes.iter().map(|(on, write)| (*on, here.land(*on, write))).collect();
            outcomes.sort_unstable();
            (here.entities, outcomes)
        };
        prop_assert_eq!(play(&writes), play(&turned));
    }

    /// Of writes made from one revision exactly one is applied, whichever comes first; the others are told so, one by one.
    #[test]
    fn of_writes_from_one_base_exactly_one_is_applied_in_any_order(
        times in prop::collection::vec(0..30u64, 1..8),
        order in any::<prop::sample::Index>(),
    ) {
        let mut writes: Vec<Arriving> = times.iter().zip(1u8..).map(|(&wall_ms, place)| {
            let origin = node(place.into());
            let created = Hlc { wall_ms, logical: 0, node: origin };
            Arriving { intent: IntentId::new(1, place.into()), origin, created, content: content(place), ..expecting(0) }
        }).collect();
        writes.rotate_left(order.index(times.len()));
        let mut here = Node::default();
        let outcomes: Vec<_> = writes.iter().map(|write| here.land(0, write)).collect();
        prop_assert_eq!(outcomes[0], Outcome::Applied);
        let told = |outcome: &Outcome| matches!(outcome, Outcome::Superseded | Outcome::ConflictRequiresMerge);
        prop_assert!(outcomes[1..].iter().all(told), "{:?}", outcomes);
    }
}
