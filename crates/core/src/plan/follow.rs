//! What follows from a move of one item, above it and below it. It is part of the same op, so nobody ever sees it undone.

use super::{
    apply::At,
    state::PlanRows,
    table::{Status, Verb},
};
use crate::id::ItemId;
use std::collections::BTreeSet;

/// What the item lies in is begun if the item is, and so on up. Whatever was not only planned stays as it is: above it
/// nothing new has happened.
pub(super) fn begin_above(rows: &mut PlanRows, item: ItemId, at: At<'_>) {
    let above = |rows: &PlanRows, item: ItemId| rows.items.get(&item).filter(|i| i.status.is_begun())?.parent;
    let mut next = above(rows, item);
    while let Some(parent) = next.and_then(|parent| rows.items.get_mut(&parent)) {
        if parent.status != Status::Planned {
            return;
        }
        parent.go(Verb::BeginBelow, at);
        let parent = parent.id;
        next = above(rows, parent);
    }
}

/// Everything below the item is given up with it, level by level.
pub(super) fn drop_below(rows: &mut PlanRows, item: ItemId, at: At<'_>) {
    let mut level = BTreeSet::from([item]);
    while !level.is_empty() {
        let lies_in = |parent: Option<ItemId>| parent.is_some_and(|parent| level.contains(&parent));
        let mut below = BTreeSet::new();
        for item in rows.items.values_mut().filter(|item| lies_in(item.parent)) {
            below.insert(item.id);
            if item.status != Status::Dropped {
                item.go(Verb::DropAbove, at);
            }
        }
        level = below;
    }
}
