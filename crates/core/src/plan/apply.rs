//! One op on the rows of its plan.

use super::{
    ITEMS_MAX, add,
    body::Body,
    change, moves, remove,
    spec::ItemKind,
    state::PlanRows,
    status,
    table::{Status, Verb},
};
use crate::{
    id::{ItemId, OpId, PlanId},
    name::Name,
    op::{About, Header},
};

/// Why an op has no effect. It changed nothing; each says what was found.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
pub enum Refusal {
    /// Nothing was ever planned there.
    #[error("there is no such plan")]
    NoPlan,
    /// The op names an item that the plan does not have.
    #[error("there is no {item} in this plan")]
    NoItem {
        /// The item.
        item: ItemId,
    },
    /// A second item with the same id.
    #[error("{item} was added already and is {found}")]
    ItemExists {
        /// The item.
        item: ItemId,
        /// Where it rests.
        found: Status,
    },
    /// A plan has one mission.
    #[error("the plan has a mission: {mission}")]
    SecondMission {
        /// The one that it has.
        mission: ItemId,
    },
    /// Everything but a mission lies in something.
    #[error("a {kind} has to lie in something")]
    NoParent {
        /// The level of what was to be added.
        kind: ItemKind,
    },
    /// It would lie in something that is not of the level above.
    #[error("a {kind} cannot lie in {parent}, which is a {found}")]
    WrongLevel {
        /// The item's level.
        kind: ItemKind,
        /// What it was to lie in.
        parent: ItemId,
        /// That one's level.
        found: ItemKind,
    },
    /// What it lies in, or was to lie in, is over.
    #[error("{parent} is {found}: nothing below it can be open")]
    ParentClosed {
        /// What it lies in.
        parent: ItemId,
        /// Where that rests.
        found: Status,
    },
    /// The plan has as many items as it may.
    #[error("the plan has {count} items, {ITEMS_MAX} are allowed; begin another one")]
    Full {
        /// How many there are.
        count: usize,
    },
    /// Nobody could tell it from others.
    #[error("an item has a title")]
    NoTitle,
    /// Too many words.
    #[error("{chars} characters in the {what} of an item are too many: {max} are allowed")]
    TooLong {
        /// Title or notes.
        what: &'static str,
        /// How many.
        chars: usize,
        /// The most there may be.
        max: usize,
    },
    /// More than text.
    #[error("{found:?} is not possible in the {what} of an item")]
    NotText {
        /// Title or notes.
        what: &'static str,
        /// The first character that is no text.
        found: char,
    },
    /// Only work that somebody does is done by a task.
    #[error("a {kind} is not done by one task: only a task of the plan is linked to one of the mesh")]
    NotATask {
        /// The item's level.
        kind: ItemKind,
    },
    /// The author wrote on a revision of the item that is not the newest one (D23).
    #[error("{item} is {status} at revision {found}, made by {by}; the write was made on another one, number {given}")]
    Stale {
        /// The item.
        item: ItemId,
        /// The newest revision.
        found: u32,
        /// The op that made it.
        by: OpId,
        /// Where the item rests.
        status: Status,
        /// The number of the one that the author saw.
        given: u32,
    },
    /// The transition table has no such move.
    #[error("{item} is {found}: {verb:?} is not possible there")]
    NotPossible {
        /// The item.
        item: ItemId,
        /// What was tried.
        verb: Verb,
        /// Where it rests.
        found: Status,
    },
    /// Something below it is in the way.
    #[error("{child} lies in {item} and is {found}: {verb:?} is not possible as long as it is")]
    NotWithChild {
        /// The item.
        item: ItemId,
        /// What was tried.
        verb: Verb,
        /// The first item right below it that is in the way.
        child: ItemId,
        /// Where that rests.
        found: Status,
    },
    /// Only what nothing lies in is removed: what somebody else has put there meanwhile is not lost unseen.
    #[error("{child} lies in {item}: only what nothing lies in can be removed")]
    NotALeaf {
        /// The item.
        item: ItemId,
        /// The first one that lies in it.
        child: ItemId,
    },
    /// Without its mission there is no plan.
    #[error("{item} is the mission: it is neither moved nor removed")]
    IsMission {
        /// The mission.
        item: ItemId,
    },
    /// The mission is not over.
    #[error("the mission is {found}: only a plan that is done or dropped can be purged")]
    NotOver {
        /// Where it rests.
        found: Status,
    },
    /// The op belongs to another namespace than the plan.
    #[error("the plan belongs to the namespace `{found}`")]
    OtherNamespace {
        /// The plan's.
        found: Name,
    },
}

/// What a verb may know of the op that it applies.
#[derive(Debug, Clone, Copy)]
pub(super) struct At<'a> {
    pub(super) op: OpId,
    pub(super) now_ms: u64,
    pub(super) author: &'a Name,
}

/// Applies `op` to the rows of its plan. Nothing has to be done about it besides; a refusal has changed nothing.
pub fn apply(rows: &mut Option<PlanRows>, op: &About<'_, PlanId, Body>) -> Result<(), Refusal> {
    let header = op.header;
    let at = At { op: header.op_id, now_ms: header.hlc.wall_ms, author: &header.author };
    check_namespace(rows.as_ref(), header)?;
    match op.body {
        Body::AddItem { item } => add::add(rows, op.id, header, item, at)?,
        Body::ChangeItem { seen, title, notes, task } => {
            change::change(there(rows)?, seen, change::Words { title, notes, task: *task }, at)?;
        }
        Body::MoveItem { seen, parent, place } => moves::move_to(there(rows)?, seen, *parent, *place, at)?,
        Body::SetItemStatus { seen, status, .. } => status::set(there(rows)?, seen, *status, at)?,
        Body::RemoveItem { seen } => remove::remove(there(rows)?, seen)?,
    }
    let plan = &mut there(rows)?.plan;
    plan.head = header.hlc;
    plan.rev += 1;
    plan.updated_ms = at.now_ms;
    Ok(())
}

/// Whether the op belongs to the namespace that the rows belong to.
pub(super) fn check_namespace(rows: Option<&PlanRows>, header: &Header) -> Result<(), Refusal> {
    match rows.map(|rows| &rows.plan.namespace).filter(|found| **found != header.namespace) {
        Some(found) => Err(Refusal::OtherNamespace { found: found.clone() }),
        None => Ok(()),
    }
}

pub(super) fn there(rows: &mut Option<PlanRows>) -> Result<&mut PlanRows, Refusal> {
    rows.as_mut().ok_or(Refusal::NoPlan)
}
