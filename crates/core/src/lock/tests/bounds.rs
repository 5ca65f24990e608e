//! Every limit has a number and a refusal.

use super::world::{Ask, TTL_MS, World, alone};
use crate::lock::{Body, LOCKS_MAX, Refusal, TTL_MS_MAX, TTL_MS_MIN};

#[test]
fn a_lock_lasts_neither_too_short_nor_too_long() {
    let mut world = World::new();
    for found in [0, TTL_MS_MIN - 1, TTL_MS_MAX + 1, u64::MAX] {
        assert_eq!(world.acquire(Ask { ttl_ms: found, ..alone("a", 1) }).map(|_| ()), Err(Refusal::Ttl { found }));
        assert_eq!(world.rows, None, "a refused first acquire leaves no counter behind");
    }
    for ttl_ms in [TTL_MS_MIN, TTL_MS_MAX] {
        let held = world.acquire(Ask { ttl_ms, ..alone("a", 1) }).unwrap();
        for found in [TTL_MS_MIN - 1, TTL_MS_MAX + 1] {
            assert_eq!(world.say(Body::RenewLock { held, ttl_ms: found }), Err(Refusal::Ttl { found }));
        }
    }
}

#[test]
fn a_full_repository_refuses_and_the_dead_make_room() {
    let mut world = World::new();
    let first = world.acquire(alone("first", 0)).unwrap();
    // The rows of a full repository, written down at once.
    world.checked = false;
    let rows = world.rows.as_mut().unwrap();
    let template = rows.locks.values().next().unwrap().clone();
    for number in 1..LOCKS_MAX as u64 {
        let lock = crate::lock::Lock {
            key: format!("k{number}").parse().unwrap(),
            token: super::world::token(number.into()),
            fence: number + 1,
            deadline_ms: template.deadline_ms + if number % 2 == 0 { 0 } else { 10 * TTL_MS },
            ..template.clone()
        };
        rows.locks.insert(lock.token, lock);
    }
    rows.repository.fence = LOCKS_MAX as u64;
    let full = |world: &mut World| world.say(world.body(alone("one-more", 9_999)));
    assert_eq!(full(&mut world), Err(Refusal::TooMany { count: LOCKS_MAX }));
    world.renew(first).unwrap();
    world.acquire(alone("first", 0)).unwrap(); // whoever is in may stay in
    world.wait(TTL_MS - 2);
    full(&mut world).unwrap();
    assert_eq!(world.count(), LOCKS_MAX / 2 + 2, "those that have run out went: all even ones but the first");
    world.acquire(alone("two-more", 10_000)).unwrap();
}

#[test]
fn a_purpose_is_cut_between_characters() {
    let mut world = World::new();
    let mut body = world.body(alone("a", 1));
    if let Body::AcquireLock { purpose, .. } = &mut body {
        *purpose = "é".repeat(1000);
    }
    world.say(body).unwrap();
    assert_eq!(world.lock(1).unwrap().purpose, "é".repeat(256));
}
