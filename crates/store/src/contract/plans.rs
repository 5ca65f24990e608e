//! Promises about plans: a row of their own and one for each item, which come, change, go and come again.

use super::{Backend, author::Author, graph::name, namespaces, world::World};
use crate::{Reader, memory::MemoryStore, scope::Change, verify};
use relaymesh_core::{
    id::{ItemId, NodeId, PlanId, TaskId},
    kernel::{Refusal, Rows},
    op::{Body, Scope},
    plan::{self, Item, ItemKind, NewItem, PlanRows, Status},
    row::StateHash,
};

/// The scope of a plan.
pub fn plan(number: u128) -> Scope {
    Scope::Plan(PlanId::new(1, number))
}

/// The id of an item.
pub fn item(number: u128) -> ItemId {
    ItemId::new(1, number)
}

impl Author {
    /// Begins a plan with mission 1.
    pub fn begin_plan(&mut self, plan: Scope) -> Result<(), Refusal> {
        let (id, kind, title) = (item(1), ItemKind::Mission, "ship it: é".to_owned());
        let mission = NewItem { id, kind, parent: None, place: 0, title, notes: "with\nlines".to_owned(), task: None };
        self.say_about(plan, plan::Body::AddItem { item: mission })
    }

    /// Adds an item of the next level to one that is there.
    pub fn add_item(&mut self, plan: Scope, number: u128, parent: &Item) -> Result<(), Refusal> {
        let kind = ItemKind::ALL.iter().copied().find(|kind| kind.above() == Some(parent.kind));
        let kind = kind.unwrap_or(ItemKind::Task);
        let task = if kind == ItemKind::Task { Some(TaskId::new(1, number)) } else { None };
        let (id, parent, title) = (item(number), Some(parent.id), format!("item {number}"));
        let item = NewItem { id, kind, parent, place: u64::MAX, title, notes: String::new(), task };
        self.say_about(plan, plan::Body::AddItem { item })
    }

    /// Puts an item somewhere else.
    pub fn set_item(&mut self, plan: Scope, item: &Item, status: Status) -> Result<(), Refusal> {
        self.say_about(plan, plan::Body::SetItemStatus { seen: item.seen(), status, reason: "so it is".to_owned() })
    }

    /// Forgets a plan that is over.
    pub fn purge_plan(&mut self, plan: Scope) -> Result<(), Refusal> {
        self.say_about(plan, Body::PurgeScope {})?;
        self.note_purge(plan);
        Ok(())
    }

    /// The rows of a plan, as of the last command.
    pub fn plan(&self, plan: Scope) -> &PlanRows {
        match &self.scopes[&plan].0 {
            Some(Rows::Plan(rows)) => rows,
            other => panic!("{plan} is {other:?}"),
        }
    }

    /// Plans one item of each level, from 1 to 5, each in the one before it.
    pub fn plan_all(&mut self, plan: Scope) {
        self.begin_plan(plan).unwrap();
        for number in 2..=5 {
            let parent = self.plan(plan).items[&item(number - 1)].clone();
            self.add_item(plan, number, &parent).unwrap();
        }
    }
}

fn stored<R: Reader>(reader: &mut R, plan: Scope) -> Option<PlanRows> {
    reader.scope(plan).unwrap().as_ref().and_then(Rows::plan).cloned()
}

/// A plan comes back with all its items, as they are now, and is there after a restart.
pub fn a_plan_comes_back_with_its_items<B: Backend>() {
    let mut world = World::<B>::new();
    assert_eq!(stored(&mut world.reader(), plan(1)), None);
    world.author.plan_all(plan(1));
    world.commit();
    let task = world.author.plan(plan(1)).items[&item(5)].clone();
    world.author.set_item(plan(1), &task, Status::Active).unwrap();
    assert!(world.author.set_item(plan(1), &task, Status::Done).is_err(), "on a revision of before");
    world.commit();
    for _ in 0..2 {
        let found = stored(&mut world.reader(), plan(1));
        assert_eq!(found.as_ref(), Some(world.author.plan(plan(1))));
        assert!(found.unwrap().items.values().all(|item| item.status == Status::Active));
        let live = [plan(1), plan(2)].map(|scope| world.reader().is_live(scope).unwrap());
        assert_eq!(live, [true, false]);
        world.restart();
    }
}

/// Plans are listed after all other scopes, in pages.
pub fn plans_are_listed_last<B: Backend>() {
    let mut world = World::<B>::new();
    for number in [3, 1, 2] {
        world.author.begin_plan(plan(number)).unwrap();
    }
    world.author.create_namespace("team-a", "").unwrap();
    world.author.lock("app", "x").unwrap();
    world.commit();
    let mut found = world.reader().scopes(None, 2).unwrap();
    assert_eq!(found[1], namespaces::namespace("team-a"));
    for _ in 0..3 {
        found.extend(world.reader().scopes(found.last().copied(), 1).unwrap());
    }
    assert_eq!(found[2..], [plan(1), plan(2), plan(3)]);
    assert_eq!(world.reader().scopes(Some(plan(3)), 9).unwrap(), []);
}

/// The state hash is of these rows too, and nothing of them falls due or rests.
pub fn the_state_hash_covers_plans<B: Backend>() {
    let mut world = World::<B>::new();
    world.author.plan_all(plan(1));
    world.author.begin_plan(plan(2)).unwrap();
    world.commit();
    let sum = |world: &World<B>, number| StateHash::of_rows(&Rows::Plan(world.author.plan(plan(number)).clone())).0;
    let mut reader = world.reader();
    assert_eq!(reader.head().unwrap().state.0, sum(&world, 1).wrapping_add(sum(&world, 2)));
    assert_eq!((reader.due_scopes(u64::MAX, 9).unwrap(), reader.rested(u64::MAX, 9).unwrap()), (vec![], vec![]));
    verify::rows(&mut reader, &mut |_| {}).unwrap();
    let task = world.author.plan(plan(1)).items[&item(5)].clone();
    world.author.say_about(plan(1), plan::Body::RemoveItem { seen: task.seen() }).unwrap();
    world.commit();
    let mut reader = world.reader();
    assert_eq!(reader.head().unwrap().state.0, sum(&world, 1).wrapping_add(sum(&world, 2)));
    verify::rows(&mut reader, &mut |_| {}).unwrap();
}

/// An item that is removed and added again between two commits has its first revision again, and is another one.
pub fn an_item_that_went_and_came_again_in_one_batch_is_the_new_one<B: Backend>() {
    let mut world = World::<B>::new();
    world.author.plan_all(plan(1));
    world.commit();
    let rows = world.author.plan(plan(1)).clone();
    let (feature, task) = (&rows.items[&item(4)], &rows.items[&item(5)]);
    world.author.say_about(plan(1), plan::Body::RemoveItem { seen: task.seen() }).unwrap();
    world.author.add_item(plan(1), 5, feature).unwrap();
    world.commit();
    let found = stored(&mut world.reader(), plan(1)).unwrap();
    assert_eq!((found.items[&item(5)].rev, &found), (task.rev, world.author.plan(plan(1))));
    assert_ne!(found.items[&item(5)].by, task.by);
    verify::rows(&mut world.reader(), &mut |_| {}).unwrap();
}

/// An item that is there is not made again by a batch that says that it is new.
pub fn an_item_is_not_created_twice<B: Backend>() {
    let mut world = World::<B>::new();
    world.author.plan_all(plan(1));
    let first = world.commit();
    let again = first.scopes.into_iter().filter(|put| put.part.is_some() && matches!(put.change, Change::Created(_)));
    world.author.begin_plan(plan(2)).unwrap();
    let mut second = world.author.take();
    second.scopes.extend(again.take(1));
    world.refuse(&second);
}

/// A plan that is over can be purged: its rows go, its ops may, and what is left verifies and rebuilds.
pub fn a_purged_plan_is_gone_and_its_ops_may_go<B: Backend>() {
    let mut world = World::<B>::new();
    world.author.plan_all(plan(1));
    world.author.begin_plan(plan(2)).unwrap();
    world.commit();
    assert!(world.author.purge_plan(plan(1)).is_err(), "it is not over");
    let mission = world.author.plan(plan(1)).items[&item(1)].clone();
    world.author.set_item(plan(1), &mission, Status::Dropped).unwrap();
    world.author.purge_plan(plan(1)).unwrap();
    world.author.checkpoint();
    world.commit();
    let mut reader = world.reader();
    assert_eq!((stored(&mut reader, plan(1)), reader.is_live(plan(1)).unwrap()), (None, false));
    assert_eq!(world.author.drop_ops(&mut reader, 99), 7, "its ops, and not those of a plan that is there");
    world.commit();
    world.restart();
    let mut reader = world.reader();
    assert_eq!(reader.snapshot(None, 9).unwrap(), [], "a plan that is there has its ops");
    verify::chain(&mut reader, verify::Checked::default(), &mut |_| {}).unwrap();
    rebuilds(&mut reader, plan(2));
}

/// What the log says of a plan is what its rows say.
pub fn a_plan_is_rebuilt_from_its_ops<B: Backend>() {
    let mut world = World::<B>::new();
    world.author.plan_all(plan(1));
    world.commit();
    let rows = world.author.plan(plan(1)).clone();
    let words = |seen| {
        Body::Plan(plan::Body::ChangeItem { seen, title: "other".to_owned(), notes: name("x").to_string(), task: None })
    };
    world.author.say_about(plan(1), words(rows.items[&item(3)].seen())).unwrap();
    world.author.say_about(plan(1), plan::Body::RemoveItem { seen: rows.items[&item(5)].seen() }).unwrap();
    world.author.set_item(plan(1), &rows.items[&item(2)], Status::Dropped).unwrap();
    world.commit();
    rebuilds(&mut world.reader(), plan(1));
}

fn rebuilds<R: Reader>(reader: &mut R, plan: Scope) {
    let mut rebuilt = MemoryStore::new(NodeId::new(7, 7));
    let report = verify::rebuild(reader, &mut rebuilt, &mut |_| {}).unwrap();
    assert_eq!(report.differences, []);
    let mut copy = crate::Store::reader(&rebuilt).unwrap();
    let found = stored(reader, plan);
    assert!(found.is_some());
    assert_eq!(stored(&mut copy, plan), found);
}
