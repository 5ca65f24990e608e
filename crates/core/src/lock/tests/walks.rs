//! Random walks. The world checks every step of the way; here is what holds over the whole of one.

use super::world::{Ask, TTL_MS, World};
use crate::{
    lock::{Case, Mode},
    op::HeldLock,
};
use proptest::{collection::vec, prelude::*};
use std::collections::BTreeMap;

const KEYS: [&str; 8] = ["a", "A", "b", "a/x", "a/*", "a/**", "**/x", "b/?"];

proptest! {
    #[test]
    fn whatever_happens_no_fence_is_given_twice_and_an_exclusive_holder_is_alone(
        moves in vec((0..10u8, 0..8usize, 1..7u128, any::<(bool, bool)>(), 0..TTL_MS), 0..80),
    ) {
        let mut world = World::new();
        let mut known: Vec<HeldLock> = Vec::new();
        let mut given: BTreeMap<u64, u128> = BTreeMap::new();
        for (what, which, number, (shared, folded), gap_ms) in moves {
            world.wait(gap_ms / 3);
            let ask = Ask {
                key: KEYS[which],
                mode: if shared { Mode::Shared } else { Mode::Exclusive },
                case: if folded { Case::Folded } else { Case::Sensitive },
                holder: "agent",
                token: number,
                ttl_ms: TTL_MS,
            };
            let any = known.get(which % known.len().max(1)).copied();
            // Refusals are welcome: the world checks that they change nothing.
            match (what, any) {
                (0..=4, _) | (_, None) => {
                    if let Ok(held) = world.acquire(ask) {
                        let newest = given.keys().next_back().copied().unwrap_or(0);
                        let before = given.insert(held.fence, number);
                        prop_assert!(before.is_none_or(|token| token == number), "one fence for two");
                        prop_assert!(before.is_some() || held.fence > newest, "a fence that is not the newest");
                        known.push(held);
                    }
                }
                (5..=6, Some(held)) => drop(world.renew(held)),
                (7..=8, Some(held)) => drop(world.release(held)),
                (_, Some(held)) => drop(world.expire(held)),
            }
        }
    }
}
