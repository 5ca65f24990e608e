//! Random walks. The world checks every step of the way; at the end the plan can be brought to its end, either way.

use super::world::{World, id, item};
use crate::{
    id::ItemId,
    op::SeenItem,
    plan::{Body, ItemKind, NewItem, Status},
};
use proptest::{collection::vec, prelude::*};

fn numbers(world: &World) -> Vec<u128> {
    let number = |id: &ItemId| u128::from_be_bytes(id.to_bytes());
    world.rows().items.keys().map(number).collect()
}

proptest! {
    #[test]
    fn f15_whatever_happens_the_plan_stays_valid_and_can_be_brought_to_an_end(
        moves in vec((0..12u8, 0..64usize, 0..64usize, 0..100u64), 0..120),
    ) {
        let mut world = World::new();
        let mut old: Vec<SeenItem> = Vec::new();
        let mut next = 100;
        for (what, one, other, place) in moves {
            next += 1;
            let there = numbers(&world);
            let (one, parent) = (there[one % there.len()], there[other % there.len()]);
            old.push(world.seen(one));
            // Refusals are welcome: the world checks that they change nothing.
            match what {
                0..=3 => {
                    let level = world.item(parent).kind as usize + 1;
                    let kind = ItemKind::ALL.get(level).copied().unwrap_or(ItemKind::Slice);
                    drop(world.add(NewItem { place, ..item(next, kind, parent) }));
                }
                4 => drop(world.change(one, "other words")),
                5..=6 => drop(world.move_to(one, parent, place)),
                7..=9 => drop(world.set(one, Status::ALL[other % 5])),
                10 => drop(world.remove(one)),
                _ => {
                    let seen = old[other % old.len()];
                    drop(world.say(Body::SetItemStatus { seen, status: Status::Active, reason: String::new() }));
                }
            }
        }
        finish(&mut world.clone());
        drop_all(&mut world);
    }
}

/// Finishes whatever is open, from the leaves up.
fn finish(world: &mut World) {
    let mut all = numbers(world);
    all.sort_by_key(|number| std::cmp::Reverse(world.item(*number).kind));
    for number in all {
        if world.status(number) == Status::Blocked {
            world.set(number, Status::Active).unwrap();
        }
        if world.status(number).is_open() {
            world.set(number, Status::Done).unwrap();
        }
    }
    world.purge().unwrap();
}

/// Gives the mission up, and everything with it.
fn drop_all(world: &mut World) {
    if !world.rows().items[&id(1)].status.is_open() {
        return;
    }
    world.set(1, Status::Dropped).unwrap();
    assert!(world.rows().items.values().all(|item| item.status == Status::Dropped));
    world.purge().unwrap();
}
