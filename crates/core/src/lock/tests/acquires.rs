//! V1: who gets a lock, who is told that somebody else has it, and what an acquire does to what has run out.

use super::world::{TTL_MS, World, alone, folded, name, shared, token};
use crate::{
    hlc::Hlc,
    id::{NodeId, RepositoryId},
    lock::{Body, Effect, Mode, Refusal},
    op::Scope,
};

#[test]
fn the_story_of_the_source() {
    let mut world = World::new();
    let first = world.acquire(alone("file:src/lib.rs", 1)).unwrap();
    assert_eq!(first.fence, 1);
    let refusal = world.acquire(alone("file:src/lib.rs", 2)).unwrap_err();
    assert!(matches!(&refusal, Refusal::Conflict { holder, fence: 1, others: 0, .. } if *holder == name("ann")));
    world.release(first).unwrap();
    assert_eq!(world.acquire(alone("file:src/lib.rs", 2)).unwrap().fence, 2, "after the release the other one wins");
}

#[test]
fn locks_conflict_when_they_overlap_and_one_of_them_wants_to_be_alone() {
    let asks: [(&str, &str, bool); 6] = [
        ("src/lib.rs", "src/lib.rs", true),
        ("src/**", "src/net/tcp.rs", true),
        ("src/*.rs", "src/l?b.*", true),
        ("src/*.rs", "src/net/tcp.rs", false),
        ("src/*", "docs/*", false),
        ("Readme", "README", false),
    ];
    for (one, other, overlaps) in asks {
        for (first, second, conflict) in [
            (alone(one, 1), alone(other, 2), overlaps),
            (alone(one, 1), shared(other, 2), overlaps),
            (shared(one, 1), alone(other, 2), overlaps),
            (shared(one, 1), shared(other, 2), false),
        ] {
            let mut world = World::new();
            world.acquire(first).unwrap();
            assert_eq!(world.acquire(second).is_err(), conflict, "{one} {other} {} {}", first.mode, second.mode);
        }
    }
}

#[test]
fn the_wider_way_to_compare_decides() {
    for (first, second) in [
        (folded(alone("Src/README", 1)), alone("src/readme", 2)),
        (alone("Src/README", 1), folded(alone("src/readme", 2))),
        (folded(alone("SRC/**", 1)), alone("src/lib.rs", 2)),
        (alone("ΣΑΣ", 1), folded(alone("σας", 2))),
    ] {
        let mut world = World::new();
        world.acquire(first).unwrap();
        let conflict = world.acquire(second).is_err();
        // Simple lower case is one character for one: a final sigma is another character.
        assert_eq!(conflict, first.key != "ΣΑΣ", "{} {}", first.key, second.key);
    }
}

#[test]
fn the_refusal_names_the_oldest_lock_in_the_way_and_counts_the_others() {
    let mut world = World::new();
    for (number, key) in (1u128..).zip(["a/x", "a/y", "b/x"]) {
        world.acquire(shared(key, number)).unwrap();
    }
    let refusal = world.acquire(alone("a/*", 4)).unwrap_err();
    let text = refusal.to_string();
    assert!(matches!(refusal, Refusal::Conflict { fence: 1, others: 1, mode: Mode::Shared, .. }), "{text}");
    assert!(text.contains("`a/x` is held (shared) by ann") && text.contains("and 1 more"), "{text}");
}

#[test]
fn what_has_run_out_is_taken_over_in_the_same_op() {
    let mut world = World::new();
    let old = world.acquire(alone("src/**", 1)).unwrap();
    world.wait(TTL_MS - 2);
    assert!(matches!(world.acquire(alone("src/lib.rs", 2)), Err(Refusal::Conflict { .. })), "a millisecond too early");
    let new = world.acquire(alone("src/lib.rs", 2)).unwrap();
    assert!(new.fence > old.fence);
    assert_eq!(world.count(), 1);
    let freed = Effect::Freed { key: "src/**".parse().unwrap(), token: token(1), fence: old.fence };
    assert!(world.effects.contains(&freed));
}

#[test]
fn an_acquire_takes_over_only_what_is_in_its_way() {
    let mut world = World::new();
    world.acquire(alone("a", 1)).unwrap();
    world.acquire(alone("b", 2)).unwrap();
    world.wait(TTL_MS);
    world.acquire(alone("b", 3)).unwrap();
    assert!(world.lock(1).is_some() && world.lock(2).is_none());
}

#[test]
fn one_running_lock_in_the_way_saves_those_that_have_run_out() {
    let mut world = World::new();
    world.acquire(shared("a", 1)).unwrap();
    world.wait(TTL_MS);
    world.acquire(shared("a", 2)).unwrap();
    assert!(world.acquire(alone("a", 3)).is_err());
    assert!(world.lock(1).is_some(), "a refusal changes nothing");
}

#[test]
fn the_holder_renews_by_acquiring_again() {
    let mut world = World::new();
    let held = world.acquire(alone("a", 1)).unwrap();
    world.wait(500);
    assert_eq!(world.acquire(alone("a", 1)).unwrap(), held, "the fence stays");
    assert_eq!(world.lock(1).unwrap().deadline_ms, world.now_ms + TTL_MS);
    assert!(world.lock(1).unwrap().acquired_ms < world.now_ms);
    world.wait(2 * TTL_MS);
    assert_eq!(world.acquire(alone("a", 1)).unwrap(), held, "also after the deadline, when nobody took it meanwhile");
}

#[test]
fn a_reader_goes_up_when_nobody_else_reads_and_gets_a_new_fence() {
    let mut world = World::new();
    let first = world.acquire(shared("a", 1)).unwrap();
    let other = world.acquire(shared("a", 2)).unwrap();
    assert!(matches!(world.acquire(alone("a", 1)), Err(Refusal::Conflict { others: 0, fence: 2, .. })));
    world.release(other).unwrap();
    let up = world.acquire(alone("a", 1)).unwrap();
    assert_eq!((up.fence, world.lock(1).unwrap().mode), (3, Mode::Exclusive));
    assert!(matches!(world.renew(first), Err(Refusal::Fenced { given: 1, found: Some(3), newest: 3 })));
    let down = world.acquire(shared("a", 1)).unwrap();
    assert_eq!(down, up, "coming down keeps the fence");
    world.acquire(shared("a", 2)).unwrap();
}

#[test]
fn a_token_is_for_one_lock_of_one_holder() {
    let mut world = World::new();
    world.acquire(alone("a", 1)).unwrap();
    let other = super::world::Ask { holder: "eve", ..alone("a", 1) };
    for ask in [alone("b", 1), other, folded(alone("a", 1))] {
        let refusal = world.acquire(ask).unwrap_err();
        assert_eq!(refusal, Refusal::TokenInUse { key: "a".parse().unwrap(), holder: name("ann") });
    }
}

#[test]
fn a_back_dated_acquire_cannot_go_before_what_its_author_had_seen() {
    let mut world = World::new();
    let held = world.acquire(alone("a", 1)).unwrap();
    world.release(held).unwrap();
    let seen = world.rows.as_ref().unwrap().repository.head;
    let body = world.body(alone("a", 2));
    let dated = Hlc { wall_ms: 5, logical: 0, node: NodeId::new(0, 1) };
    let outcome = world.say_as(|header| header.hlc = dated, body);
    assert_eq!(outcome, Err(Refusal::BackDated { dated, seen }));
}

#[test]
fn an_op_about_another_repository_or_namespace_is_refused() {
    let mut world = World::new();
    let body = world.body(alone("a", 1));
    let (other, named) = (RepositoryId::new(1, 1), RepositoryId::of(&name("default"), super::world::REPOSITORY));
    let scope = Scope::Repository(other);
    let outcome = world.say_as(|header| header.scope = scope, body.clone());
    assert_eq!(outcome, Err(Refusal::OtherRepository { scope, named }));
    let outcome = world.say_as(|header| header.namespace = name("other"), body);
    assert!(matches!(outcome, Err(Refusal::OtherRepository { .. })), "the namespace is part of what names it");

    let held = world.acquire(alone("a", 1)).unwrap();
    let outcome = world.say_as(|header| header.namespace = name("other"), Body::ReleaseLock { held });
    assert_eq!(outcome, Err(Refusal::OtherNamespace { found: name("default") }));
}
