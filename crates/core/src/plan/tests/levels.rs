//! The tree: what lies in what, and what becomes of those who would bend it.

use super::world::{World, id, item, name};
use crate::{
    id::{PlanId, TaskId},
    plan::{Body, ItemKind, NewItem, Refusal, Status},
};

#[test]
fn f15_a_plan_begins_with_its_mission_and_has_one() {
    let mut world = World::empty();
    for kind in &ItemKind::ALL[1..] {
        assert_eq!(world.add(item(9, *kind, 8)), Err(Refusal::NoPlan));
    }
    assert_eq!(world.add(item(9, ItemKind::Mission, 8)), Err(Refusal::NoItem { item: id(8) }));
    world.add(item(1, ItemKind::Mission, 0)).unwrap();
    let plan = &world.rows().plan;
    assert_eq!((plan.id, plan.mission, plan.rev), (PlanId::new(0, 1), id(1), 1));
    assert_eq!((&plan.author, &plan.namespace), (&name("alice"), &name("default")));
    assert_eq!(world.add(item(2, ItemKind::Mission, 0)), Err(Refusal::SecondMission { mission: id(1) }));
    assert_eq!(
        world.add(item(1, ItemKind::Mission, 0)),
        Err(Refusal::ItemExists { item: id(1), found: Status::Planned })
    );
}

#[test]
fn f15_an_item_lies_in_one_of_the_level_above_and_in_nothing_else() {
    for (parent, above) in (1..).zip(ItemKind::ALL) {
        for kind in &ItemKind::ALL[1..] {
            let mut world = World::new();
            let expected = match kind.above() == Some(above) {
                true => Ok(()),
                false => Err(Refusal::WrongLevel { kind: *kind, parent: id(parent), found: above }),
            };
            assert_eq!(world.add(item(9, *kind, parent)), expected);
        }
    }
    let mut world = World::new();
    assert_eq!(world.add(item(9, ItemKind::Slice, 0)), Err(Refusal::NoParent { kind: ItemKind::Slice }));
    assert_eq!(world.add(item(9, ItemKind::Slice, 77)), Err(Refusal::NoItem { item: id(77) }));
}

#[test]
fn f15_a_move_stays_on_its_level_and_takes_along_what_lies_below() {
    let mut world = World::new();
    world.add(item(6, ItemKind::Milestone, 1)).unwrap();
    world.add(item(7, ItemKind::Slice, 6)).unwrap();
    world.move_to(3, 6, 5).unwrap();
    assert_eq!((world.item(3).parent, world.item(4).parent), (Some(id(6)), Some(id(3))));
    let children: Vec<_> = world.rows().children(id(6)).iter().map(|child| child.id).collect();
    assert_eq!(children, [id(3), id(7)]);
    for (number, parent, found) in
        [(3, 1, ItemKind::Mission), (3, 7, ItemKind::Slice), (3, 3, ItemKind::Slice), (3, 5, ItemKind::Task)]
    {
        let refusal = Refusal::WrongLevel { kind: ItemKind::Slice, parent: id(parent), found };
        assert_eq!(world.move_to(number, parent, 1), Err(refusal));
    }
    assert_eq!(world.move_to(3, 77, 1), Err(Refusal::NoItem { item: id(77) }));
    assert_eq!(world.move_to(1, 6, 1), Err(Refusal::IsMission { item: id(1) }));
}

#[test]
fn f15_only_a_leaf_is_removed_and_never_the_mission() {
    let mut world = World::new();
    for number in 2..5 {
        let refusal = Refusal::NotALeaf { item: id(number), child: id(number + 1) };
        assert_eq!(world.remove(number), Err(refusal));
    }
    for number in [5, 4, 3, 2] {
        world.remove(number).unwrap();
    }
    assert_eq!(world.remove(1), Err(Refusal::IsMission { item: id(1) }));
    assert_eq!(world.remove(5), Err(Refusal::NoItem { item: id(5) }));
    assert_eq!(world.rows().items.len(), 1);
}

#[test]
fn f15_a_task_of_the_plan_may_say_which_task_of_the_mesh_does_it() {
    let mut world = World::new();
    let task = Some(TaskId::new(1, 1));
    world.link(5, "do it", task).unwrap();
    assert_eq!((world.item(5).task, world.item(5).title.as_str()), (task, "do it"));
    for (number, kind) in (1..5).zip(ItemKind::ALL) {
        assert_eq!(world.link(number, "not this", task), Err(Refusal::NotATask { kind }));
    }
    let linked = NewItem { task, ..item(9, ItemKind::Feature, 3) };
    assert_eq!(world.add(linked), Err(Refusal::NotATask { kind: ItemKind::Feature }));
}

#[test]
fn what_is_said_elsewhere_or_of_something_else_is_refused() {
    let mut world = World::new();
    let change = || Body::RemoveItem { seen: World::new().seen(5) };
    let found = world.say_as(|header| header.namespace = name("other"), change());
    assert_eq!(found, Err(Refusal::OtherNamespace { found: name("default") }));
    assert_eq!(World::empty().say(change()), Err(Refusal::NoPlan));
}

#[test]
fn f15_a_plan_is_purged_when_its_mission_is_over() {
    assert_eq!(World::empty().purge(), Err(Refusal::NoPlan));
    for status in [Status::Planned, Status::Active, Status::Blocked] {
        let mut world = World::new();
        if status != Status::Planned {
            world.set(1, status).unwrap();
        }
        assert_eq!(world.purge(), Err(Refusal::NotOver { found: status }));
    }
    let mut dropped = World::new();
    dropped.set(1, Status::Dropped).unwrap();
    dropped.purge().unwrap();
    let mut done = World::new();
    for number in [5, 4, 3, 2, 1] {
        done.set(number, Status::Done).unwrap();
    }
    done.purge().unwrap();
    assert_eq!((dropped.rows, done.rows), (None, None));
}
