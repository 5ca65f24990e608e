//! The rows: what a plan and its items are now, as folded from the log.

use super::{
    apply::{At, Refusal},
    spec::ItemKind,
    table::{Status, Verb, target},
};
use crate::{
    hlc::Hlc,
    id::{ItemId, OpId, PlanId, TaskId},
    name::Name,
    op::SeenItem,
};
use serde::{Deserialize, Serialize};
use std::collections::BTreeMap;

/// How far from the last sibling a new one is put at the end: there is room for thirty-two more between any two.
const GAP: u64 = 1 << 32;

/// A plan with its items: all rows of one scope.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct PlanRows {
    /// The plan.
    pub plan: Plan,
    /// Its items, the mission among them.
    pub items: BTreeMap<ItemId, Item>,
}

/// The row of a plan.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct Plan {
    /// Grows by one with every op that took effect here.
    pub rev: u32,
    /// The plan's id.
    pub id: PlanId,
    /// The team or project it belongs to.
    pub namespace: Name,
    /// The root.
    pub mission: ItemId,
    /// Who began it.
    pub author: Name,
    /// When it was begun.
    pub created_ms: u64,
    /// When it last changed.
    pub updated_ms: u64,
    /// The newest op that took effect here.
    pub head: Hlc,
}

/// The row of an item.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct Item {
    /// Grows by one with every op that changed this row.
    pub rev: u32,
    /// The op that made this revision. Whoever writes about the item cites both.
    pub by: OpId,
    /// The item's id.
    pub id: ItemId,
    /// Its level.
    pub kind: ItemKind,
    /// What it lies in. Only a mission has none.
    pub parent: Option<ItemId>,
    /// Where among its siblings: they are in the order of this number, then of their ids.
    pub place: u64,
    /// What people call it: one line.
    pub title: String,
    /// What else there is to say about it.
    pub notes: String,
    /// Where it rests.
    pub status: Status,
    /// Of an item of the lowest level: the task that does it.
    pub task: Option<TaskId>,
    /// Who added it.
    pub author: Name,
    /// When it was added.
    pub created_ms: u64,
    /// When it last changed.
    pub updated_ms: u64,
}

/// How far the items right below one have come.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub struct Progress {
    /// Planned, active or blocked.
    pub open: usize,
    /// Done.
    pub done: usize,
    /// Dropped.
    pub dropped: usize,
}

impl PlanRows {
    /// What lies right below an item, in order.
    pub fn children(&self, item: ItemId) -> Vec<&Item> {
        let mut children: Vec<&Item> = self.items.values().filter(|child| child.parent == Some(item)).collect();
        children.sort_unstable_by_key(|child| (child.place, child.id));
        children
    }

    /// How far what lies right below an item has come.
    pub fn progress(&self, item: ItemId) -> Progress {
        let mut progress = Progress::default();
        for child in self.items.values().filter(|child| child.parent == Some(item)) {
            match child.status {
                Status::Planned | Status::Active | Status::Blocked => progress.open += 1,
                Status::Done => progress.done += 1,
                Status::Dropped => progress.dropped += 1,
            }
        }
        progress
    }

    /// A place in `parent` right behind `after`, or before all others. None when there is no room there: two neighbours
    /// have places without a number between them, and one of them has to be moved first.
    pub fn place_after(&self, parent: ItemId, after: Option<ItemId>) -> Option<u64> {
        let siblings = self.children(parent);
        let index = match after {
            None => 0,
            Some(after) => siblings.iter().position(|sibling| sibling.id == after)? + 1,
        };
        let low = index.checked_sub(1).map_or(0, |before| siblings[before].place);
        match siblings.get(index) {
            None => low.checked_add(GAP),
            Some(next) => (next.place - low >= 2).then(|| low + (next.place - low) / 2),
        }
    }

    /// The item that an author saw, if it is still as it was then.
    pub(super) fn seen(&mut self, seen: &SeenItem) -> Result<&mut Item, Refusal> {
        let item = self.items.get_mut(&seen.item).ok_or(Refusal::NoItem { item: seen.item })?;
        if (item.rev, item.by) == (seen.rev, seen.by) {
            return Ok(item);
        }
        Err(Refusal::Stale { item: item.id, found: item.rev, by: item.by, status: item.status, given: seen.rev })
    }

    /// What an item of this kind is to lie in, if it can.
    pub(super) fn room_in(&self, kind: ItemKind, parent: ItemId) -> Result<(), Refusal> {
        let found = self.items.get(&parent).ok_or(Refusal::NoItem { item: parent })?;
        if kind.above() != Some(found.kind) {
            return Err(Refusal::WrongLevel { kind, parent, found: found.kind });
        }
        if !found.status.is_open() {
            return Err(Refusal::ParentClosed { parent, found: found.status });
        }
        Ok(())
    }
}

impl Item {
    /// What an author who sees it like this cites.
    pub fn seen(&self) -> SeenItem {
        SeenItem { item: self.id, rev: self.rev, by: self.by }
    }

    /// It has changed, because of this op.
    pub(super) fn touch(&mut self, at: At<'_>) {
        self.rev += 1;
        self.by = at.op;
        self.updated_ms = at.now_ms;
    }

    /// Moves the item along the transition table. Verbs have checked that they may before they change anything.
    pub(super) fn go(&mut self, verb: Verb, at: At<'_>) {
        let Some(to) = target(self.status, verb) else {
            panic!("{verb:?} cannot move an item that is {}", self.status)
        };
        self.status = to;
        self.touch(at);
    }
}
