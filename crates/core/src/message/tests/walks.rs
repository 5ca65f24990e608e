//! Random walks. The world checks every step of the way; at the end everything can be brought to rest.

use super::world::{World, asking, draft, id, mortal};
use crate::{
    message::State,
    op::{ExpireReason, HeldMessage},
};
use proptest::{collection::vec, prelude::*};

proptest! {
    #[test]
    fn whatever_happens_the_rows_stay_valid_and_everything_can_be_done(
        moves in vec((0..12u8, 0..6u128, 0..30_000u64), 0..80),
    ) {
        let mut world = World::new(draft(1));
        let mut known: Vec<HeldMessage> = Vec::new();
        let mut next = 100;
        for (what, number, gap_ms) in moves {
            world.wait(gap_ms / 8);
            next += 1;
            let any = known.get(number as usize % known.len().max(1)).copied();
            // Refusals are welcome: the world checks that they change nothing.
            match (what, any) {
                (0, _) => drop(world.send(mortal(number))),
                (1, _) => drop(world.send(asking(number))),
                (2..=4, _) | (_, None) => {
                    let ids: Vec<u128> =
                        world.rows.as_ref().unwrap().messages.keys().map(|id| u128::from_be_bytes(id.to_bytes())).collect();
                    known.extend(world.deliver(ids[number as usize % ids.len()]));
                }
                (5, Some(held)) => drop(world.acknowledge(held)),
                (6, Some(held)) => drop(world.reply(held, next)),
                (7, Some(held)) => drop(world.fail(held, gap_ms % 4 > 0)),
                (8, Some(held)) => drop(world.give_back(held)),
                (9, Some(held)) => {
                    let gone = if gap_ms % 2 == 0 { ExpireReason::OwnerGone } else { ExpireReason::DeadlinePassed };
                    drop(world.expire_delivery(held, gone));
                }
                (10, _) => drop(world.expire(number)),
                (_, _) => drop(world.redrive(number)),
            }
        }
        finish(&mut world);
        prop_assert!(world.rows.as_ref().unwrap().messages.values().all(|message| message.state == State::Done));
    }
}

/// Delivers and acknowledges whatever there is, after a redrive where it takes one.
fn finish(world: &mut World) {
    world.wait(1_000_000);
    let ids: Vec<_> = world.rows.as_ref().unwrap().messages.keys().copied().collect();
    for message in ids {
        let number = u128::from_be_bytes(message.to_bytes());
        assert_eq!(id(number), message);
        let row = world.message(number).clone();
        if let Some(lease) = row.lease {
            let held = HeldMessage { message, epoch: row.epoch, token: lease.token };
            world.acknowledge(held).unwrap();
        }
        let _ = world.expire(number);
        let _ = world.redrive(number);
        if let Ok(held) = world.deliver(number) {
            world.acknowledge(held).unwrap();
        }
    }
}
