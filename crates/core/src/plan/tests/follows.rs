//! What follows above and below an item is part of the same op.

use super::world::{World, id, item};
use crate::plan::{
    ItemKind, Progress, Refusal,
    Status::{Active, Blocked, Done, Dropped, Planned},
    Verb,
};

#[test]
fn f15_what_is_begun_or_done_begins_everything_above_it() {
    for status in [Active, Done] {
        let mut world = World::new();
        world.set(5, status).unwrap();
        assert_eq!(world.statuses(), [Active, Active, Active, Active, status]);
        assert_eq!(world.rows().plan.rev, 6, "in one op");
    }
    let mut world = World::new();
    world.set(5, Blocked).unwrap();
    assert_eq!(world.statuses(), [Planned, Planned, Planned, Planned, Blocked], "what is blocked has not begun");
}

#[test]
fn f15_what_is_blocked_stays_so_when_something_below_it_begins() {
    let mut world = World::new();
    world.set(3, Blocked).unwrap();
    world.set(5, Active).unwrap();
    assert_eq!(world.statuses(), [Planned, Planned, Blocked, Active, Active]);
    world.set(3, Active).unwrap();
    assert_eq!(world.statuses(), [Active; 5]);
}

#[test]
fn f15_what_is_dropped_takes_everything_below_it_along() {
    let mut world = World::new();
    world.add(item(6, ItemKind::Task, 4)).unwrap();
    world.add(item(7, ItemKind::Task, 4)).unwrap();
    world.add(item(8, ItemKind::Milestone, 1)).unwrap();
    world.set(5, Done).unwrap();
    world.set(6, Blocked).unwrap();
    world.set(7, Dropped).unwrap();
    let dropped = world.seen(7);
    world.set(2, Dropped).unwrap();
    assert_eq!(world.statuses(), [Active, Dropped, Dropped, Dropped, Dropped, Dropped, Dropped, Planned]);
    assert_eq!(world.seen(7), dropped, "what was dropped before is as it was");
    assert_eq!(world.set(4, Planned), Err(Refusal::ParentClosed { parent: id(3), found: Dropped }));
    for number in [2, 3, 4, 5] {
        world.set(number, Planned).unwrap();
    }
    assert_eq!(world.statuses()[5..], [Dropped, Dropped, Planned], "each comes back by itself");
}

#[test]
fn f15_nothing_open_is_left_below_what_is_done() {
    let mut world = World::new();
    for (open, before) in [(Planned, None), (Active, Some(Active)), (Blocked, Some(Blocked))] {
        if let Some(before) = before {
            world.set(5, before).unwrap();
        }
        let refusal = Refusal::NotWithChild { item: id(4), verb: Verb::Finish, child: id(5), found: open };
        assert_eq!(world.set(4, Done), Err(refusal));
    }
    world.add(item(6, ItemKind::Task, 4)).unwrap();
    world.set(5, Dropped).unwrap();
    world.set(6, Done).unwrap();
    world.set(4, Done).unwrap();
    assert_eq!(world.rows().progress(id(4)), Progress { open: 0, done: 1, dropped: 1 });
    let closed = Refusal::ParentClosed { parent: id(4), found: Done };
    assert_eq!(world.set(6, Active), Err(closed.clone()));
    assert_eq!(world.set(5, Planned), Err(closed.clone()));
    assert_eq!(world.add(item(7, ItemKind::Task, 4)), Err(closed));
    world.set(4, Active).unwrap();
    world.set(6, Active).unwrap();
    assert_eq!(world.rows().progress(id(4)), Progress { open: 1, done: 0, dropped: 1 });
}

#[test]
fn f15_nothing_is_planned_once_more_as_long_as_something_in_it_was_begun() {
    let mut world = World::new();
    world.set(5, Active).unwrap();
    let refusal = |found| Refusal::NotWithChild { item: id(4), verb: Verb::Plan, child: id(5), found };
    assert_eq!(world.set(4, Planned), Err(refusal(Active)));
    world.set(5, Done).unwrap();
    assert_eq!(world.set(4, Planned), Err(refusal(Done)));
    world.set(5, Planned).unwrap();
    world.set(4, Planned).unwrap();
    assert_eq!(world.statuses(), [Active, Active, Active, Planned, Planned], "and nothing above it follows");
}

#[test]
fn f15_what_is_moved_begins_what_it_comes_to_lie_in() {
    let mut world = World::new();
    world.add(item(6, ItemKind::Milestone, 1)).unwrap();
    world.add(item(7, ItemKind::Slice, 6)).unwrap();
    world.set(5, Active).unwrap();
    world.move_to(4, 7, 1).unwrap();
    assert_eq!(world.statuses(), [Active; 7]);
}

#[test]
fn f15_nothing_comes_to_lie_in_what_is_over() {
    for over in [Done, Dropped] {
        let mut world = World::new();
        world.add(item(6, ItemKind::Feature, 3)).unwrap();
        world.add(item(7, ItemKind::Task, 6)).unwrap();
        world.set(7, Dropped).unwrap();
        world.set(6, over).unwrap();
        let refusal = Refusal::ParentClosed { parent: id(6), found: over };
        assert_eq!(world.move_to(5, 6, 1), Err(refusal.clone()));
        assert_eq!(world.add(item(8, ItemKind::Task, 6)), Err(refusal));
        world.move_to(7, 6, 99).unwrap();
        assert_eq!(world.item(7).place, 99, "but in there things may change places");
        world.move_to(7, 4, 1).unwrap();
        assert_eq!(world.status(7), Dropped, "and leave it");
    }
}
