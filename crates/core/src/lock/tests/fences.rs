//! D22: fences only grow, for ever, and only the word of whoever holds the lock now counts.

use super::world::{TTL_MS, World, alone, token};
use crate::{
    lock::{Body, Refusal},
    op::HeldLock,
};

type Word = fn(&mut World, HeldLock) -> Result<(), Refusal>;

/// All that can be said about a lock that is held.
const WORDS: [Word; 3] = [World::renew, World::release, World::expire];

#[track_caller]
fn assert_fenced(world: &World, held: HeldLock) {
    for word in WORDS {
        let mut world = world.clone();
        world.wait(2 * TTL_MS); // not that an expiry is refused because it is early
        let rows = world.rows.clone().unwrap();
        let found = rows.locks.get(&held.token).map(|lock| lock.fence);
        let expected = Refusal::Fenced { given: held.fence, found, newest: rows.repository.fence };
        assert_eq!(word(&mut world, held), Err(expected));
    }
}

#[test]
fn fences_grow_over_releases_and_never_start_again() {
    let mut world = World::new();
    for expected in 1..=5 {
        let held = world.acquire(alone("a", expected)).unwrap();
        assert_eq!(u128::from(held.fence), expected);
        if expected % 2 == 0 {
            world.release(held).unwrap();
        } else {
            world.wait(TTL_MS);
            world.expire(held).unwrap();
        }
        assert_eq!(world.count(), 0);
        assert_eq!(
            u128::from(world.rows.as_ref().unwrap().repository.fence),
            expected,
            "the counter outlives the lock"
        );
    }
}

#[test]
fn fences_of_different_keys_can_be_compared() {
    let mut world = World::new();
    let first = world.acquire(alone("a/x", 1)).unwrap();
    let second = world.acquire(alone("b/x", 2)).unwrap();
    world.release(first).unwrap();
    let third = world.acquire(alone("a/*", 3)).unwrap();
    assert!(first.fence < second.fence && second.fence < third.fence);
}

#[test]
fn a_displaced_holder_is_fenced_whatever_it_says() {
    let mut world = World::new();
    let old = world.acquire(alone("a", 1)).unwrap();
    world.wait(TTL_MS);
    world.acquire(alone("a", 2)).unwrap();
    assert_fenced(&world, old);
}

#[test]
fn a_holder_whose_lock_is_gone_is_fenced() {
    let mut world = World::new();
    let held = world.acquire(alone("a", 1)).unwrap();
    world.release(held).unwrap();
    assert_fenced(&world, held);
    let again = world.acquire(alone("a", 1)).unwrap();
    assert_fenced(&world, held);
    world.wait(TTL_MS);
    world.expire(again).unwrap();
    assert_fenced(&world, again);
}

#[test]
fn a_word_with_another_token_or_another_fence_is_fenced() {
    let mut world = World::new();
    let held = world.acquire(alone("a", 1)).unwrap();
    assert_fenced(&world, HeldLock { token: token(9), ..held });
    for fence in [0, 2, u64::MAX] {
        assert_fenced(&world, HeldLock { fence, ..held });
    }
    world.renew(held).unwrap();
}

#[test]
fn a_lock_that_runs_cannot_be_called_over() {
    let mut world = World::new();
    let held = world.acquire(alone("a", 1)).unwrap();
    let deadline_ms = world.lock(1).unwrap().deadline_ms;
    world.wait(TTL_MS - 2);
    let now_ms = deadline_ms - 1;
    assert_eq!(world.expire(held), Err(Refusal::Runs { key: "a".parse().unwrap(), deadline_ms, now_ms }));
    world.expire(held).unwrap();
}

#[test]
fn a_renewal_moves_the_deadline_and_keeps_the_fence() {
    let mut world = World::new();
    let held = world.acquire(alone("a", 1)).unwrap();
    world.wait(5 * TTL_MS);
    world.renew(held).unwrap();
    let lock = world.lock(1).unwrap();
    assert_eq!((lock.deadline_ms, lock.fence, lock.rev), (world.now_ms + TTL_MS, held.fence, 2));
    assert!(world.acquire(alone("a", 2)).is_err());
}

#[test]
fn a_word_about_a_repository_without_locks_is_refused() {
    let held = HeldLock { token: token(1), fence: 1 };
    for word in WORDS {
        assert_eq!(word(&mut World::new(), held), Err(Refusal::NoRepository));
    }
}

#[test]
fn the_refusal_says_rejected_fenced_and_what_was_found() {
    let mut world = World::new();
    let held = world.acquire(alone("a", 1)).unwrap();
    let other = HeldLock { fence: 7, ..held };
    let told = world.say(Body::ReleaseLock { held: other }).unwrap_err().to_string();
    assert_eq!(told, "rejected_fenced: the call has fence 7; the lock has fence 1");
    world.release(held).unwrap();
    let told = world.release(held).unwrap_err().to_string();
    assert!(told.ends_with("the lock no longer exists, and the repository is at fence 1"), "{told}");
}
