//! The order of siblings, and how an author finds a place in it.

use super::world::{World, id, item};
use crate::{
    id::ItemId,
    plan::{ItemKind, NewItem, Refusal},
};
use proptest::{collection::vec, prelude::*};

fn order(world: &World) -> Vec<ItemId> {
    world.rows().children(id(1)).iter().map(|child| child.id).collect()
}

/// Adds a milestone right behind another one, where an author would put it.
fn insert(world: &mut World, number: u128, after: Option<ItemId>) -> Option<Result<(), Refusal>> {
    let place = world.rows().place_after(id(1), after)?;
    Some(world.add(NewItem { place, ..item(number, ItemKind::Milestone, 1) }))
}

#[test]
fn f15_two_who_insert_at_the_same_spot_are_told_apart_by_their_ids() {
    for numbers in [[8, 9], [9, 8]] {
        let mut world = World::new();
        for number in numbers {
            world.add(NewItem { place: 5, ..item(number, ItemKind::Milestone, 1) }).unwrap();
        }
        assert_eq!(order(&world), [id(8), id(9), id(2)]);
        assert_eq!(world.rows().place_after(id(1), Some(id(8))), None, "no number between them");
        world.move_to(9, 1, 8).unwrap();
        assert_eq!(world.rows().place_after(id(1), Some(id(8))), Some(6));
    }
}

#[test]
fn places_at_the_ends_are_found_too() {
    let mut world = World::new();
    assert_eq!(world.rows().place_after(id(1), Some(id(2))), Some(10 + (1 << 32)));
    assert_eq!(world.rows().place_after(id(1), None), Some(5));
    assert_eq!(world.rows().place_after(id(1), Some(id(3))), None, "that one lies elsewhere");
    assert_eq!(world.rows().place_after(id(5), None), Some(1 << 32), "nothing lies there yet");
    world.move_to(2, 1, u64::MAX).unwrap();
    assert_eq!(world.rows().place_after(id(1), Some(id(2))), None);
    world.move_to(2, 1, 0).unwrap();
    assert_eq!(world.rows().place_after(id(1), None), None);
}

proptest! {
    #[test]
    fn f15_an_item_comes_to_stand_right_behind_the_one_that_was_named(spots in vec(0..40usize, 1..40)) {
        let mut world = World::empty();
        world.add(item(1, ItemKind::Mission, 0)).unwrap();
        let mut expected: Vec<ItemId> = Vec::new();
        for (number, spot) in (10u128..).zip(spots) {
            let spot = spot % (expected.len() + 1);
            let after = spot.checked_sub(1).map(|before| expected[before]);
            match insert(&mut world, number, after) {
                Some(added) => { added.unwrap(); expected.insert(spot, id(number)); }
                None => prop_assert!(expected.len() >= 31, "no room among {}", expected.len()),
            }
            prop_assert_eq!(order(&world), expected.clone());
        }
    }
}
