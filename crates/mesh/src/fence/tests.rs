//! Epochs that only grow, tokens that are refused, and where writes go.

use super::*;
use proptest::prelude::*;
use relaymesh_core::{
    id::{NodeId, TaskId},
    op::Scope,
};

fn node(number: u128) -> NodeId {
    NodeId::new(1, number)
}

fn token(epoch: u64, coordinator: u128, sequence: u64) -> FenceToken {
    FenceToken { epoch, coordinator: node(coordinator), sequence }
}

#[test]
fn a_token_has_one_spelling() {
    let text = format!("7:{}:99", node(1));
    assert_eq!(text.parse(), Ok(token(7, 1, 99)));
    assert_eq!(token(7, 1, 99).to_string(), text);
    let id = node(1);
    let wrong = ["", "7", "7:99", &format!("07:{id}:99"), &format!("7:{id}:+9"), &format!("7:{id}:9:9"), "7:node_a:99"];
    for text in wrong {
        assert!(text.parse::<FenceToken>().is_err(), "{text}");
    }
}

#[test]
fn f6_a_stale_token_is_refused_with_what_was_seen() {
    let (a, b) = (node(1), node(2));
    let mut gate = Gate::default();
    gate.admit(token(7, 1, 10), a).unwrap();
    for (given, origin, expected) in [
        (token(6, 1, 99), a, Err(Stale::Epoch { given: 6, newest: 7 })),
        (token(0, 1, 99), a, Err(Stale::Never)),
        (token(7, 2, 99), a, Err(Stale::Coordinator { epoch: 7, holder: a, given: b })),
        (token(7, 1, 9), a, Err(Stale::Sequence { origin: a, given: 9, newest: 10 })),
        (token(7, 1, 10), a, Err(Stale::Sequence { origin: a, given: 10, newest: 10 })),
        (token(7, 1, 11), a, Ok(())),
        // Each origin has a sequence of its own.
        (token(7, 1, 1), b, Ok(())),
        // A new epoch starts all of them again, whoever has it.
        (token(8, 2, 1), a, Ok(())),
    ] {
        assert_eq!(gate.check(given, origin), expected, "{given} of {origin}");
        let mut after = gate.clone();
        assert_eq!(after.admit(given, origin), expected);
        assert_eq!(after == gate, expected.is_err(), "a refusal changes nothing");
    }
}

#[test]
fn a_change_of_hands_fences_before_the_new_coordinator_writes() {
    let mut gate = Gate::default();
    gate.admit(token(3, 1, 1), node(1)).unwrap();
    gate.advance(4, node(2));
    assert_eq!(gate.check(token(3, 1, 2), node(1)), Err(Stale::Epoch { given: 3, newest: 4 }));
    gate.advance(2, node(3));
    assert_eq!(gate.epoch(), 4, "an older epoch is no news");
}

#[test]
fn f6_a_restarted_node_coordinates_nothing_until_it_has_a_new_epoch() {
    let mut lease = Lease::default();
    assert_eq!(lease.acquire(node(1), 0, 100), Ok(1));
    assert_eq!(lease.token(node(1), 5, 50), Some(token(1, 1, 5)));
    lease.restart(node(1));
    assert_eq!(lease.token(node(1), 6, 50), None);
    assert_eq!(lease.renew(node(1), 1, 200), Err(Refusal::Fenced { by: node(1), given: 1, newest: 1 }));
    assert_eq!(lease.acquire(node(1), 50, 150), Ok(2));
    assert_eq!(lease.token(node(1), 6, 60), Some(token(2, 1, 6)));
}

#[test]
fn one_coordinator_at_a_time_until_its_deadline() {
    let mut lease = Lease::default();
    lease.acquire(node(1), 0, 100).unwrap();
    assert_eq!(lease.acquire(node(2), 99, 200), Err(Refusal::Held { by: node(1), epoch: 1, deadline_ms: 100 }));
    lease.renew(node(1), 1, 150).unwrap();
    lease.renew(node(1), 1, 120).unwrap();
    assert_eq!(lease.holder(149), Some(Held { by: node(1), deadline_ms: 150 }), "a renewal never shortens");
    assert_eq!(lease.acquire(node(2), 150, 250), Ok(2));
    assert_eq!(lease.release(node(1), 1), Err(Refusal::Fenced { by: node(1), given: 1, newest: 2 }));
    lease.release(node(2), 2).unwrap();
    assert_eq!((lease.epoch, lease.held), (2, None));
    let mut last = Lease { epoch: u64::MAX, held: None };
    assert_eq!(last.acquire(node(1), 0, 1), Err(Refusal::Exhausted { epoch: u64::MAX }));
}

#[test]
fn f18_the_narrowest_realm_that_has_a_coordinator_decides_and_all_are_listed() {
    let scope = Scope::Task(TaskId::new(1, 1));
    let name: relaymesh_core::name::Name = "team".parse().unwrap();
    let mut routing = Routing::default();
    let route = |routing: &Routing, here, now_ms| routing.route(node(here), &name, scope, now_ms);
    assert_eq!(route(&routing, 1, 0), Route::Nobody { last_epoch: 0 });
    routing.lease_mut(Realm::Mesh).acquire(node(1), 0, 1000).unwrap();
    assert_eq!(route(&routing, 1, 0), Route::Here { realm: Realm::Mesh, epoch: 1 });
    assert_eq!(route(&routing, 2, 0), Route::To { node: node(1), realm: Realm::Mesh, epoch: 1 });
    routing.lease_mut(Realm::Namespace(name.clone())).acquire(node(2), 0, 500).unwrap();
    routing.lease_mut(Realm::Scope(scope)).acquire(node(3), 0, 100).unwrap();
    assert_eq!(route(&routing, 1, 0), Route::To { node: node(3), realm: Realm::Scope(scope), epoch: 1 });
    let namespace = Realm::Namespace(name.clone());
    assert_eq!(route(&routing, 1, 100), Route::To { node: node(2), realm: namespace.clone(), epoch: 1 });
    assert_eq!(route(&routing, 1, 500), Route::Here { realm: Realm::Mesh, epoch: 1 });
    assert_eq!(route(&routing, 1, 1000), Route::Nobody { last_epoch: 1 });
    let listed: Vec<_> = routing.list(200).map(|line| (line.realm.to_string(), line.node, line.deadline_ms)).collect();
    assert_eq!(
        listed,
        [
            ("mesh".into(), Some(node(1)), Some(1000)),
            ("namespace team".into(), Some(node(2)), Some(500)),
            (scope.to_string(), None, None),
        ]
    );
}

proptest! {
    /// Whatever is asked in whatever order, epochs only grow, no two nodes hold one, and a gate that has seen a newer one
    /// admits nothing older.
    #[test]
    fn f6_epochs_only_grow_and_no_two_nodes_share_one(
        words in prop::collection::vec((0..4u8, 0..3u128, 0..40u64, 0..6u64), 0..60),
    ) {
        let (mut lease, mut gate) = (Lease::default(), Gate::default());
        let mut owners = std::collections::BTreeMap::new();
        let mut now_ms = 0;
        for (sequence, (verb, who, wait, epoch)) in (1..).zip(words) {
            now_ms += wait;
            let before = (lease.epoch, gate.epoch());
            match verb {
                0 => drop(lease.acquire(node(who), now_ms, now_ms + 50)),
                1 => drop(lease.renew(node(who), epoch, now_ms + 50)),
                2 => drop(lease.release(node(who), epoch)),
                _ => lease.restart(node(who)),
            }
            if let Some(token) = lease.token(node(who), sequence, now_ms) {
                let owner = *owners.entry(token.epoch).or_insert(token.coordinator);
                prop_assert_eq!(owner, token.coordinator);
                gate.admit(token, node(who)).unwrap();
            }
            let stale = FenceToken { epoch: gate.epoch().saturating_sub(1), coordinator: node(who), sequence: u64::MAX };
            prop_assert!(gate.epoch() == 0 || gate.check(stale, node(who)).is_err());
            prop_assert!(lease.epoch >= before.0 && gate.epoch() >= before.1);
        }
    }
}
