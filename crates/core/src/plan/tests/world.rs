//! A plan, a clock and somebody who writes in it.

use crate::{
    hlc::HlcClock,
    id::{ItemId, NodeId, OpId, PlanId, TaskId},
    name::Name,
    op::{About, Header, Scope, SeenItem, WriteClass},
    plan::{
        Body, Item, ItemKind, NewItem, PlanRows, Refusal, Status, apply, purge,
        table::{TRANSITIONS, target},
        validate,
    },
};

pub(super) fn name(text: &str) -> Name {
    text.parse().unwrap()
}

pub(super) fn id(number: u128) -> ItemId {
    ItemId::new(0, number)
}

pub(super) fn item(number: u128, kind: ItemKind, parent: u128) -> NewItem {
    NewItem {
        id: id(number),
        kind,
        parent: (parent > 0).then(|| id(parent)),
        place: 10,
        title: format!("{kind} {number}"),
        notes: String::new(),
        task: None,
    }
}

#[derive(Clone)]
pub(super) struct World {
    pub(super) rows: Option<PlanRows>,
    pub(super) now_ms: u64,
    clock: HlcClock,
    seq: u64,
}

impl World {
    pub(super) fn empty() -> Self {
        Self { rows: None, now_ms: 1_000_000, clock: HlcClock::new(NodeId::new(0, 1)), seq: 0 }
    }

    /// One item of each level, each in the one before it: the mission is 1, the task is 5.
    pub(super) fn new() -> Self {
        let mut world = Self::empty();
        for (number, kind) in (1..).zip(ItemKind::ALL) {
            world.add(item(number, kind, number - 1)).unwrap();
        }
        world
    }

    pub(super) fn say(&mut self, body: Body) -> Result<(), Refusal> {
        self.say_as(|_| {}, body)
    }

    pub(super) fn say_as(&mut self, change: impl Fn(&mut Header), body: Body) -> Result<(), Refusal> {
        let mut header = self.header();
        change(&mut header);
        let Scope::Plan(id) = header.scope else { panic!("{} is something else", header.scope) };
        let op = About { pos: self.seq, header: &header, id, body: &body };
        let before = self.rows.clone();
        let outcome = apply(&mut self.rows, &op);
        match (&outcome, &self.rows) {
            (Ok(()), Some(rows)) => check(before.as_ref(), rows, &op),
            (Ok(()), None) => panic!("the rows are gone"),
            (Err(refusal), _) => assert_eq!(self.rows, before, "refused ({refusal}) and changed all the same"),
        }
        outcome
    }

    /// The header of the next op.
    pub(super) fn header(&mut self) -> Header {
        self.now_ms += 1;
        self.seq += 1;
        Header {
            op_id: OpId::new(self.now_ms, u128::from(self.seq)),
            origin: NodeId::new(0, 1),
            origin_epoch: 1,
            seq: self.seq,
            hlc: self.clock.tick(self.now_ms).unwrap(),
            author: name("alice"),
            source: name("test"),
            namespace: name("default"),
            scope: Scope::Plan(PlanId::new(0, 1)),
            write_class: WriteClass::Strong,
            causal_deps: Vec::new(),
            via: None,
        }
    }

    pub(super) fn rows(&self) -> &PlanRows {
        self.rows.as_ref().unwrap()
    }

    pub(super) fn item(&self, number: u128) -> &Item {
        &self.rows().items[&id(number)]
    }

    pub(super) fn status(&self, number: u128) -> Status {
        self.item(number).status
    }

    /// The statuses of the items from 1 on.
    pub(super) fn statuses(&self) -> Vec<Status> {
        (1..).map_while(|number| self.rows().items.get(&id(number))).map(|item| item.status).collect()
    }

    /// What an author cites who has seen everything; of what is not there, something.
    pub(super) fn seen(&self, number: u128) -> SeenItem {
        let there = self.rows.as_ref().and_then(|rows| rows.items.get(&id(number)));
        there.map_or(SeenItem { item: id(number), rev: 1, by: OpId::new(0, 0) }, Item::seen)
    }

    pub(super) fn add(&mut self, item: NewItem) -> Result<(), Refusal> {
        self.say(Body::AddItem { item })
    }

    pub(super) fn change(&mut self, number: u128, title: &str) -> Result<(), Refusal> {
        self.link(number, title, None)
    }

    pub(super) fn link(&mut self, number: u128, title: &str, task: Option<TaskId>) -> Result<(), Refusal> {
        let (seen, title) = (self.seen(number), title.to_owned());
        self.say(Body::ChangeItem { seen, title, notes: "notes".to_owned(), task })
    }

    pub(super) fn move_to(&mut self, number: u128, parent: u128, place: u64) -> Result<(), Refusal> {
        self.say(Body::MoveItem { seen: self.seen(number), parent: id(parent), place })
    }

    pub(super) fn set(&mut self, number: u128, status: Status) -> Result<(), Refusal> {
        self.say(Body::SetItemStatus { seen: self.seen(number), status, reason: "so".to_owned() })
    }

    pub(super) fn remove(&mut self, number: u128) -> Result<(), Refusal> {
        self.say(Body::RemoveItem { seen: self.seen(number) })
    }

    pub(super) fn purge(&mut self) -> Result<(), Refusal> {
        let header = self.header();
        let before = self.rows.clone();
        let outcome = purge(&mut self.rows, &header);
        match &outcome {
            Ok(()) => assert_eq!(self.rows, None, "the rows are gone"),
            Err(refusal) => assert_eq!(self.rows, before, "refused ({refusal}) and changed all the same"),
        }
        outcome
    }
}

/// What holds between the rows before an op and the rows after it.
fn check(before: Option<&PlanRows>, after: &PlanRows, op: &About<'_, PlanId, Body>) {
    validate(after).unwrap_or_else(|invalid| panic!("{invalid} after {:?}\n{after:#?}", op.body.kind()));
    assert_eq!(after.plan.rev, before.map_or(0, |rows| rows.plan.rev) + 1, "the revision counts the ops");
    assert_eq!(after.plan.head, op.header.hlc, "the head is the newest op that took effect");
    for (id, new) in &after.items {
        let Some(old) = before.and_then(|rows| rows.items.get(id)) else {
            assert_eq!((new.rev, new.by, new.status), (1, op.header.op_id, Status::Planned), "{id} is new");
            continue;
        };
        if new == old {
            continue;
        }
        assert_eq!((new.rev, new.by), (old.rev + 1, op.header.op_id), "{id}: one op, one revision");
        assert_eq!((old.kind, &old.author, old.created_ms), (new.kind, &new.author, new.created_ms), "{id}: for life");
        let moves = || {
            TRANSITIONS
                .iter()
                .any(|(from, verb, to)| (*from, *to) == (old.status, new.status) && target(*from, *verb).is_some())
        };
        assert!(old.status == new.status || moves(), "{id}: from {} to {}", old.status, new.status);
    }
    let gone = before.map_or(0, |rows| rows.items.keys().filter(|id| !after.items.contains_key(*id)).count());
    assert_eq!(gone, usize::from(matches!(op.body, Body::RemoveItem { .. })), "only what is removed goes");
}
