//! D23: a write is made on the revision that its author saw, or not at all.

use super::world::{World, id, item};
use crate::{
    op::SeenItem,
    plan::{Body, ItemKind, Refusal, Status},
};

/// Every write about the task of the world, by an author who saw it so.
fn writes(seen: SeenItem) -> [Body; 4] {
    [
        Body::ChangeItem { seen, title: "other".to_owned(), notes: String::new(), task: None },
        Body::MoveItem { seen, parent: id(4), place: 3 },
        Body::SetItemStatus { seen, status: Status::Active, reason: String::new() },
        Body::RemoveItem { seen },
    ]
}

#[test]
fn f15_d23_a_write_on_an_old_revision_is_refused_with_what_was_found() {
    let mut world = World::new();
    let old = world.seen(5);
    world.change(5, "newer").unwrap();
    let new = world.item(5).seen();
    let stale = Refusal::Stale { item: id(5), found: 2, by: new.by, status: Status::Planned, given: 1 };
    for body in writes(old) {
        assert_eq!(world.clone().say(body), Err(stale.clone()));
    }
    for body in writes(new) {
        world.clone().say(body).unwrap();
    }
}

#[test]
fn d23_the_right_number_of_somebody_elses_revision_is_refused() {
    let mut world = World::new();
    world.change(5, "mine").unwrap();
    let theirs = SeenItem { by: world.seen(4).by, ..world.seen(5) };
    for body in writes(theirs) {
        let found = world.clone().say(body);
        assert!(matches!(found, Err(Refusal::Stale { found: 2, given: 2, .. })), "{found:?}");
    }
}

#[test]
fn d23_an_item_that_went_and_came_again_is_another_one() {
    let mut world = World::new();
    let first = world.seen(5);
    world.remove(5).unwrap();
    world.add(item(5, ItemKind::Task, 4)).unwrap();
    assert_eq!(world.item(5).rev, first.rev);
    for body in writes(first) {
        assert!(matches!(world.clone().say(body), Err(Refusal::Stale { .. })));
    }
}

#[test]
fn f15_what_happens_to_other_items_makes_no_write_stale() {
    let mut world = World::new();
    let seen = world.seen(4);
    world.add(item(6, ItemKind::Task, 4)).unwrap();
    world.add(item(7, ItemKind::Feature, 3)).unwrap();
    world.change(5, "below it").unwrap();
    world.change(3, "above it").unwrap();
    world.set(5, Status::Blocked).unwrap();
    world.remove(6).unwrap();
    assert_eq!(world.seen(4), seen, "neither siblings nor children nor the parent are its business");
    world.set(5, Status::Active).unwrap();
    assert_ne!(world.seen(4), seen, "that it is begun is");
}
