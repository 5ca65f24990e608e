//! What authors say about a plan, and what holds of it whatever they say (F15).

use crate::{
    author::{Author, START_MS, plan},
    history::{Move, PLANS, history, moves},
    reference::{answers, arrive, permutations, shuffled},
};
use proptest::prelude::*;
use relaymesh_core::{
    id::{ItemId, OpId, TaskId},
    kernel::{Refusal, Rows},
    op::{Body, Kind, Op, SeenItem},
    plan::{self, Item, ItemKind, NewItem, PlanRows, Status},
};
use relaymesh_mesh::fold::{Fold, NoEffect};
use relaymesh_mesh::rows;

/// What fits the rows as the author sees them, or nonsense when nothing fits.
pub(crate) fn body(author: &Author, one: Move) -> Body {
    let fresh = ItemId::new(author.chain.next_seq(), u128::from_be_bytes(author.node.to_bytes()));
    let Some(rows) = author.view.rows(plan()).and_then(rows::Rows::node).and_then(Rows::plan) else {
        return Body::Plan(plan::Body::AddItem { item: new(fresh, ItemKind::Mission, None, 0) });
    };
    let items: Vec<&Item> = rows.items.values().collect();
    let (any, other) = (items[one.pick % items.len()], items[one.pick / 7 % items.len()]);
    let (seen, place) = (any.seen(), one.gap_ms / 20);
    let leaf = items.iter().rev().find(|item| item.kind != ItemKind::Mission && rows.children(item.id).is_empty());
    match one.what {
        25..=52 => {
            let id = if one.pick.is_multiple_of(13) { other.id } else { fresh };
            let kind = ItemKind::ALL.iter().copied().find(|kind| kind.above() == Some(any.kind));
            let task = if kind == Some(ItemKind::Task) { Some(TaskId::new(0, 1)) } else { None };
            Body::Plan(plan::Body::AddItem {
                item: NewItem { task, ..new(id, kind.unwrap_or(any.kind), Some(any.id), place) },
            })
        }
        53..=58 => change(seen, &one.pick.to_string()),
        59..=66 => {
            let above = items.iter().rev().find(|item| Some(item.kind) == any.kind.above());
            Body::Plan(plan::Body::MoveItem { seen, parent: above.unwrap_or(&other).id, place })
        }
        67..=74 => set(seen, Status::ALL[one.pick / 3 % 5]),
        75..=78 => set(leaf.map_or(seen, |leaf| leaf.seen()), Status::Done),
        79..=84 => Body::Plan(plan::Body::RemoveItem { seen: leaf.map_or(seen, |leaf| leaf.seen()) }),
        85..=87 => change(SeenItem { rev: seen.rev.saturating_sub(1), ..seen }, "stale"),
        88..=89 => change(SeenItem { by: other.by, ..seen }, "of another op"),
        98 => Body::PurgeScope {},
        _ => set(seen, Status::Active),
    }
}

fn new(id: ItemId, kind: ItemKind, parent: Option<ItemId>, place: u64) -> NewItem {
    NewItem { id, kind, parent, place, title: format!("{kind}"), notes: String::new(), task: None }
}

fn change(seen: SeenItem, title: &str) -> Body {
    Body::Plan(plan::Body::ChangeItem { seen, title: title.to_owned(), notes: String::new(), task: None })
}

fn set(seen: SeenItem, status: Status) -> Body {
    Body::Plan(plan::Body::SetItemStatus { seen, status, reason: String::new() })
}

fn id(number: u128) -> ItemId {
    ItemId::new(0, number)
}

fn rows(fold: &Fold) -> &PlanRows {
    fold.rows(plan()).and_then(rows::Rows::node).and_then(Rows::plan).expect("something was planned")
}

fn seen(author: &Author, number: u128) -> SeenItem {
    rows(&author.view).items[&id(number)].seen()
}

fn refused(fold: &Fold, op: &Op) -> Option<plan::Refusal> {
    match fold.no_effect(plan(), op.header.op_id) {
        Some(NoEffect::Refused(rows::Refusal::Node(Refusal::Plan(refusal)))) => Some(refusal.clone()),
        None => None,
        Some(other) => panic!("{other}"),
    }
}

/// Two authors who both know of one item of each level, from 1 to 5.
fn two_authors() -> (Author, Author, Vec<Op>) {
    let (mut one, mut other) = (Author::new(1), Author::new(2));
    let add = |author: &mut Author, number: u128| {
        let kind = ItemKind::ALL[number as usize - 1];
        let parent = (number > 1).then(|| id(number - 1));
        author.say(plan(), START_MS, plan::Body::AddItem { item: new(id(number), kind, parent, 10) })
    };
    let ops: Vec<Op> = (1..=5).map(|number| add(&mut one, number)).collect();
    ops.iter().for_each(|op| other.hear(op, START_MS));
    (one, other, ops)
}

/// The fold of what was known before, with these in every order of arrival: the same rows and refusals each time.
fn in_any_order(before: &[Op], late: &[Op]) -> Fold {
    let all = [before, late].concat();
    let expected = Fold::of(all.clone());
    for order in permutations(late) {
        let found = arrive(before.iter().cloned().chain(order.clone()));
        assert_eq!(answers(&found, &all), answers(&expected, &all));
        let found = arrive(order.into_iter().chain(before.iter().rev().cloned()));
        assert_eq!(answers(&found, &all), answers(&expected, &all), "with what they stand on coming last");
    }
    expected
}

#[test]
fn f15_what_is_removed_and_added_to_at_the_same_time_is_one_or_the_other() {
    for remove_first in [true, false] {
        let (mut one, mut other, mut before) = two_authors();
        let leaf =
            one.say(plan(), START_MS, plan::Body::AddItem { item: new(id(9), ItemKind::Feature, Some(id(3)), 1) });
        other.hear(&leaf, START_MS);
        before.push(leaf);
        let removing = Body::Plan(plan::Body::RemoveItem { seen: seen(&one, 9) });
        let adding = Body::Plan(plan::Body::AddItem { item: new(id(8), ItemKind::Task, Some(id(9)), 1) });
        let (first_ms, second_ms) = (START_MS + 5, START_MS + 6);
        let removed = one.say(plan(), if remove_first { first_ms } else { second_ms }, removing);
        let added = other.say(plan(), if remove_first { second_ms } else { first_ms }, adding);
        let fold = in_any_order(&before, &[removed.clone(), added.clone()]);
        let (no_removal, no_addition) = (refused(&fold, &removed), refused(&fold, &added));
        if remove_first {
            assert_eq!((no_removal, no_addition), (None, Some(plan::Refusal::NoItem { item: id(9) })));
        } else {
            let refusal = plan::Refusal::NotALeaf { item: id(9), child: id(8) };
            assert_eq!((no_removal, no_addition), (Some(refusal), None));
        }
    }
}

#[test]
fn f15_nothing_is_left_open_below_what_somebody_else_finished_or_dropped() {
    for over in [Status::Done, Status::Dropped] {
        let (mut one, mut other, mut before) = two_authors();
        let done = one.say(plan(), START_MS, set(seen(&one, 5), Status::Done));
        other.hear(&done, START_MS);
        before.push(done);
        let closed = one.say(plan(), START_MS + 5, set(seen(&one, 4), over));
        let added =
            other.say(plan(), START_MS + 6, plan::Body::AddItem { item: new(id(8), ItemKind::Task, Some(id(4)), 1) });
        let again = other.say(plan(), START_MS + 7, set(seen(&other, 5), Status::Active));
        let fold = in_any_order(&before, &[closed.clone(), added.clone(), again.clone()]);
        let parent_closed = plan::Refusal::ParentClosed { parent: id(4), found: over };
        assert_eq!((refused(&fold, &closed), refused(&fold, &added)), (None, Some(parent_closed.clone())));
        let why = refused(&fold, &again);
        match over {
            Status::Dropped => assert!(matches!(why, Some(plan::Refusal::Stale { found: 3, given: 2, .. })), "{why:?}"),
            Status::Done | Status::Planned | Status::Active | Status::Blocked => assert_eq!(why, Some(parent_closed)),
        }
    }
}

#[test]
fn f15_d23_of_two_concurrent_changes_the_earlier_counts_and_nothing_that_stands_on_the_other() {
    let (mut one, mut other, before) = two_authors();
    let early = one.say(plan(), START_MS + 5, change(seen(&one, 5), "early"));
    let late = other.say(plan(), START_MS + 6, change(seen(&other, 5), "late"));
    // Its author has not heard of the early one, and counts its own: the number is that of the early one's revision.
    let on_top = other.say(plan(), START_MS + 7, change(seen(&other, 5), "later still"));
    let fold = in_any_order(&before, &[early.clone(), late.clone(), on_top.clone()]);
    let stale =
        |given| plan::Refusal::Stale { item: id(5), found: 2, by: early.header.op_id, status: Status::Planned, given };
    assert_eq!([&early, &late, &on_top].map(|op| refused(&fold, op)), [None, Some(stale(1)), Some(stale(2))]);
    assert_eq!(rows(&fold).items[&id(5)].title, "early");
}

#[test]
fn f15_concurrent_adds_and_moves_all_count_and_have_one_order() {
    let (mut one, mut other, before) = two_authors();
    let place = |author: &Author| rows(&author.view).place_after(id(4), None).expect("there is room");
    let add = |author: &mut Author, at_ms, number| {
        let item = new(id(number), ItemKind::Task, Some(id(4)), place(author));
        author.say(plan(), at_ms, plan::Body::AddItem { item })
    };
    let first = add(&mut one, START_MS + 6, 8);
    let second = add(&mut other, START_MS + 5, 7);
    let moved = one.say(plan(), START_MS + 8, plan::Body::MoveItem { seen: seen(&one, 5), parent: id(4), place: 99 });
    let beside = other.say(plan(), START_MS + 7, set(seen(&other, 7), Status::Active));
    let late = [first, second, moved, beside];
    let fold = in_any_order(&before, &late);
    assert_eq!(late.map(|op| refused(&fold, &op)), [const { None }; 4]);
    let order: Vec<ItemId> = rows(&fold).children(id(4)).iter().map(|child| child.id).collect();
    assert_eq!(order, [id(7), id(8), id(5)], "those two at one spot, by their ids");
}

#[test]
fn f15_of_two_missions_the_earlier_begins_the_plan() {
    let (mut one, mut other) = (Author::new(1), Author::new(2));
    let begin = |number| Body::Plan(plan::Body::AddItem { item: new(id(number), ItemKind::Mission, None, 0) });
    let late = one.say(plan(), START_MS + 6, begin(1));
    let early = other.say(plan(), START_MS + 5, begin(2));
    let below =
        one.say(plan(), START_MS + 7, plan::Body::AddItem { item: new(id(3), ItemKind::Milestone, Some(id(1)), 1) });
    let fold = in_any_order(&[], &[early.clone(), late.clone(), below.clone()]);
    let second = plan::Refusal::SecondMission { mission: id(2) };
    let nothing = plan::Refusal::NoItem { item: id(1) };
    assert_eq!([&early, &late, &below].map(|op| refused(&fold, op)), [None, Some(second), Some(nothing)]);
}

#[test]
fn f15_a_plan_that_was_begun_again_in_time_is_not_purged() {
    let (mut one, mut other, before) = two_authors();
    let dropped = one.say(plan(), START_MS + 1, set(seen(&one, 1), Status::Dropped));
    other.hear(&dropped, START_MS + 2);
    let again = other.say(plan(), START_MS + 3, set(seen(&other, 1), Status::Planned));
    let purge = one.say(plan(), START_MS + 9, Body::PurgeScope {});
    let before = [before, vec![dropped]].concat();
    let without = in_any_order(&before, std::slice::from_ref(&purge));
    assert_eq!((without.rows(plan()), without.purged(plan())), (None, Some(purge.header.hlc)));
    let fold = in_any_order(&before, &[again, purge.clone()]);
    assert_eq!(refused(&fold, &purge), Some(plan::Refusal::NotOver { found: Status::Planned }));
}

proptest! {
    #![proptest_config(ProptestConfig { cases: 96, ..ProptestConfig::default() })]

    #[test]
    fn f15_whatever_authors_write_at_once_every_order_of_arrival_gives_the_same_valid_plan(
        authors in 2..=4usize, moves in moves(20..120), seeds: [u64; 2],
    ) {
        let moves: Vec<Move> = moves.into_iter().map(|one| Move { machine: PLANS, ..one }).collect();
        let ops: Vec<Op> = history(authors, &moves).into_iter().filter(|op| op.header.scope == plan()).collect();
        let expected = answers(&Fold::of(ops.clone()), &ops);
        for seed in seeds {
            prop_assert_eq!(&answers(&arrive(shuffled(&ops, seed)), &ops), &expected, "seed {}", seed);
        }
    }
}

/// Those histories are worth something only if plans grow in them and authors are in each other's way.
#[test]
fn plans_grow_in_these_histories_and_authors_meet() {
    use proptest::{strategy::ValueTree as _, test_runner::TestRunner};
    let mut runner = TestRunner::deterministic();
    let (mut deepest, mut most, mut stale, mut effective) =
        (ItemKind::Mission, 0, 0, std::collections::BTreeMap::new());
    for _ in 0..60 {
        let moves = moves(60..120).new_tree(&mut runner).expect("a history").current();
        let moves: Vec<Move> = moves.into_iter().map(|one| Move { machine: PLANS, ..one }).collect();
        let ops = history(3, &moves);
        let fold = Fold::of(ops.clone());
        for rows in fold.all_rows().filter_map(rows::Rows::node).filter_map(Rows::plan) {
            most = most.max(rows.items.len());
            deepest = rows.items.values().map(|item| item.kind).fold(deepest, ItemKind::max);
        }
        let why = |op: OpId| fold.no_effect(plan(), op);
        let is_stale = |why: &NoEffect| {
            matches!(why, NoEffect::Refused(rows::Refusal::Node(Refusal::Plan(plan::Refusal::Stale { .. }))))
        };
        let about_plan = || ops.iter().filter(|op| op.header.scope == plan());
        stale += about_plan().filter(|op| why(op.header.op_id).is_some_and(is_stale)).count();
        about_plan()
            .filter(|op| why(op.header.op_id).is_none())
            .for_each(|op| *effective.entry(op.body.kind()).or_insert(0usize) += 1);
    }
    assert!(deepest == ItemKind::Task && most > 8 && stale > 50, "{deepest}, {most} items, {stale} stale");
    let kinds =
        [Kind::AddItem, Kind::ChangeItem, Kind::MoveItem, Kind::SetItemStatus, Kind::RemoveItem, Kind::PurgeScope];
    assert!(kinds.iter().all(|kind| effective.contains_key(kind)), "{effective:?}");
}
