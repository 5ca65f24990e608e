//! Every rule of [`validate()`] broken once: rows that cannot be are found, and by name.

use super::world::{World, id, name};
use crate::{
    id::TaskId,
    plan::{ITEMS_MAX, Item, ItemKind, PlanRows, Status, TITLE_CHARS_MAX, validate},
};

type Broken = (&'static str, fn(&mut PlanRows));

fn set(rows: &mut PlanRows, statuses: [Status; 5]) {
    for (number, status) in (1..).zip(statuses) {
        rows.items.get_mut(&id(number)).unwrap().status = status;
    }
}

fn with(rows: &mut PlanRows, number: u128, change: impl Fn(&mut Item)) {
    change(rows.items.get_mut(&id(number)).unwrap());
}

const BROKEN: &[Broken] = &[
    ("an item lies under its id", |rows| with(rows, 5, |item| item.id = id(6))),
    ("the mission is the only one of its level", |rows| {
        let second = Item { id: id(9), ..rows.items[&id(1)].clone() };
        rows.items.insert(id(9), second);
    }),
    ("the mission is the only one of its level", |rows| with(rows, 1, |item| item.kind = ItemKind::Milestone)),
    ("the mission is the only one of its level", |rows| rows.plan.mission = id(2)),
    ("the mission, and nothing else, lies in nothing", |rows| with(rows, 1, |item| item.parent = Some(id(2)))),
    ("the mission, and nothing else, lies in nothing", |rows| with(rows, 4, |item| item.parent = None)),
    ("an item lies in one of the level above", |rows| with(rows, 4, |item| item.parent = Some(id(2)))),
    ("an item lies in one of the level above", |rows| with(rows, 4, |item| item.kind = ItemKind::Task)),
    // An orphan, one that lies in itself, and two that lie in each other.
    ("an item lies in one of the level above", |rows| drop(rows.items.remove(&id(3)))),
    ("an item lies in one of the level above", |rows| with(rows, 3, |item| item.parent = Some(id(3)))),
    ("an item lies in one of the level above", |rows| with(rows, 3, |item| item.parent = Some(id(4)))),
    ("nothing below what is done is open", |rows| {
        use Status::{Active, Blocked, Done};
        set(rows, [Active, Active, Active, Done, Blocked]);
    }),
    ("everything below what is dropped is dropped", |rows| {
        use Status::{Active, Done, Dropped};
        set(rows, [Active, Active, Active, Dropped, Done]);
    }),
    ("nothing below what is only planned is begun", |rows| {
        use Status::{Active, Planned};
        set(rows, [Active, Planned, Active, Active, Active]);
    }),
    ("words and link are as they may be", |rows| with(rows, 2, |item| item.title = "x".repeat(TITLE_CHARS_MAX + 1))),
    ("words and link are as they may be", |rows| with(rows, 2, |item| item.notes = "\0".to_owned())),
    ("words and link are as they may be", |rows| with(rows, 4, |item| item.task = Some(TaskId::new(1, 1)))),
    ("an item changes after it was added", |rows| with(rows, 2, |item| item.rev = 0)),
    ("an item changes after it was added", |rows| with(rows, 2, |item| item.updated_ms = item.created_ms - 1)),
    ("a plan has a mission", |rows| rows.items.clear()),
    ("no more items than allowed", |rows| {
        for number in 6..=ITEMS_MAX as u128 + 1 {
            let more = Item { id: id(number), ..rows.items[&id(5)].clone() };
            rows.items.insert(id(number), more);
        }
    }),
    ("a plan changes after it was begun", |rows| rows.plan.created_ms = rows.plan.updated_ms + 1),
    ("a plan changed last with its newest op", |rows| rows.plan.head.wall_ms += 1),
];

#[test]
fn f15_every_broken_rule_is_found() {
    for (rule, break_it) in BROKEN {
        let mut rows = World::new().rows().clone();
        validate(&rows).unwrap();
        break_it(&mut rows);
        assert_eq!(validate(&rows).map_err(|invalid| invalid.rule), Err(*rule));
    }
}

#[test]
fn who_did_it_and_where_may_be_anything() {
    let mut rows = World::new().rows().clone();
    with(&mut rows, 3, |item| (item.place, item.author) = (u64::MAX, name("somebody")));
    rows.plan.namespace = name("elsewhere");
    validate(&rows).unwrap();
}
