//! Every move of the transition table can be made, and nothing else can.

use super::world::{World, item};
use crate::plan::{
    ItemKind, Refusal,
    Status::{self, Active, Blocked, Done, Dropped, Planned},
    Verb,
    table::{TRANSITIONS, target},
};
use std::collections::BTreeSet;

type Story = fn(&mut World);

/// How the task of the world, number 5, comes to rest in each status.
fn bring(world: &mut World, to: Status) {
    if to != Planned {
        world.set(5, to).unwrap();
    }
    assert_eq!(world.status(5), to);
}

fn begin_below(world: &mut World) {
    world.add(item(6, ItemKind::Task, 4)).unwrap();
    world.set(6, Active).unwrap();
}

/// What somebody says about the item itself.
const VERBS: [(Verb, Status); 5] =
    [(Verb::Plan, Planned), (Verb::Begin, Active), (Verb::Block, Blocked), (Verb::Finish, Done), (Verb::Drop, Dropped)];

/// From where, what, to where; the item that moves, and the op that makes the move.
const FOLLOWING: &[(Status, Verb, Status, u128, Story)] = &[
    (Planned, Verb::BeginBelow, Active, 4, begin_below),
    (Planned, Verb::DropAbove, Dropped, 5, |world| world.set(4, Dropped).unwrap()),
    (Active, Verb::DropAbove, Dropped, 5, |world| world.set(4, Dropped).unwrap()),
    (Blocked, Verb::DropAbove, Dropped, 5, |world| world.set(4, Dropped).unwrap()),
    (Done, Verb::DropAbove, Dropped, 5, |world| world.set(4, Dropped).unwrap()),
];

#[test]
fn f15_an_item_moves_as_the_table_says_or_not_at_all() {
    for from in Status::ALL {
        for (verb, to) in VERBS {
            let mut world = World::new();
            bring(&mut world, from);
            let found = world.set(5, to);
            let item = world.item(5).id;
            match target(from, verb) {
                Some(target) => assert_eq!((found, world.status(5), target), (Ok(()), to, to), "{verb:?} from {from}"),
                None => assert_eq!(found, Err(Refusal::NotPossible { item, verb, found: from })),
            }
            assert_eq!(to.verb(), verb);
        }
    }
}

#[test]
fn f15_what_follows_moves_items_as_the_table_says() {
    for (from, verb, to, number, act) in FOLLOWING {
        let mut world = World::new();
        if *number == 5 {
            bring(&mut world, *from);
        }
        assert_eq!(world.status(*number), *from, "before {verb:?}");
        act(&mut world);
        assert_eq!((world.status(*number), target(*from, *verb)), (*to, Some(*to)), "{verb:?} from {from}");
    }
}

#[test]
fn f15_the_table_has_exactly_these_moves() {
    let own = |verb: Verb| VERBS.iter().any(|(own, _)| *own == verb);
    let told: BTreeSet<_> = FOLLOWING.iter().map(|(from, verb, to, ..)| (*from, *verb, *to)).collect();
    let following: BTreeSet<_> = TRANSITIONS.iter().filter(|(_, verb, _)| !own(*verb)).copied().collect();
    assert_eq!(following, told, "a story for exactly the moves that follow");
    let lines: BTreeSet<_> = TRANSITIONS.iter().map(|(from, verb, _)| (*from, *verb)).collect();
    assert_eq!(lines.len(), TRANSITIONS.len(), "one line for each place and verb");
    #[rustfmt::skip]
    let own_moves = [
        (Planned, vec![Active, Blocked, Done, Dropped]),
        (Active,  vec![Planned, Blocked, Done, Dropped]),
        (Blocked, vec![Planned, Active, Dropped]),
        (Done,    vec![Planned, Active]),
        (Dropped, vec![Planned]),
    ];
    for (from, expected) in own_moves {
        let found: Vec<Status> = VERBS.iter().filter_map(|(verb, _)| target(from, *verb)).collect();
        assert_eq!(found, expected, "from {from}");
    }
}

#[test]
fn statuses_have_names_and_numbers_that_stay() {
    for (number, status) in (0u8..).zip(Status::ALL) {
        assert_eq!(status as u8, number);
        assert_eq!(serde_json::to_value(status).unwrap(), status.as_str());
        assert_eq!(status.to_string(), status.as_str());
    }
    for (number, kind) in (0u8..).zip(ItemKind::ALL) {
        assert_eq!((kind as u8, serde_json::to_value(kind).unwrap()), (number, kind.as_str().into()));
        assert_eq!(kind.above(), number.checked_sub(1).map(|above| ItemKind::ALL[usize::from(above)]));
    }
}
