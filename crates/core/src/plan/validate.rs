//! What is true of a plan's rows after every op. A broken rule is a bug here.

use super::{
    ITEMS_MAX,
    spec::{self, ItemKind},
    state::{Item, PlanRows},
    table::Status,
};
use crate::id::ItemId;

/// A rule that does not hold.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
#[error("{rule}{}", item.map_or(String::new(), |item| format!(" ({item})")))]
pub struct Invalid {
    /// The rule.
    pub rule: &'static str,
    /// The item that breaks it, if it is about one.
    pub item: Option<ItemId>,
}

/// Checks every rule; the first broken one is the answer.
pub fn validate(rows: &PlanRows) -> Result<(), Invalid> {
    for (id, item) in &rows.items {
        if let Some((_, rule)) = item_rules(rows, *id, item).into_iter().find(|(holds, _)| !holds) {
            return Err(Invalid { rule, item: Some(*id) });
        }
    }
    let mission = rows.items.get(&rows.plan.mission);
    let rules = [
        (mission.is_some_and(|item| item.kind == ItemKind::Mission), "a plan has a mission"),
        (rows.items.len() <= ITEMS_MAX, "no more items than allowed"),
        (rows.plan.created_ms <= rows.plan.updated_ms, "a plan changes after it was begun"),
        (rows.plan.updated_ms == rows.plan.head.wall_ms, "a plan changed last with its newest op"),
    ];
    match rules.into_iter().find(|(holds, _)| !holds) {
        Some((_, rule)) => Err(Invalid { rule, item: None }),
        None => Ok(()),
    }
}

fn item_rules(rows: &PlanRows, id: ItemId, item: &Item) -> [(bool, &'static str); 9] {
    let parent = item.parent.and_then(|parent| rows.items.get(&parent));
    let status = item.status;
    let below = |of: Status, holds: bool| parent.is_none_or(|parent| parent.status != of || holds);
    [
        (id == item.id, "an item lies under its id"),
        ((item.kind == ItemKind::Mission) == (id == rows.plan.mission), "the mission is the only one of its level"),
        (item.parent.is_none() == (id == rows.plan.mission), "the mission, and nothing else, lies in nothing"),
        // One level up with every step: so there is no cycle, and everything ends at the mission.
        (item.kind.above() == parent.map(|parent| parent.kind), "an item lies in one of the level above"),
        (below(Status::Done, !status.is_open()), "nothing below what is done is open"),
        (below(Status::Dropped, status == Status::Dropped), "everything below what is dropped is dropped"),
        (below(Status::Planned, !status.is_begun()), "nothing below what is only planned is begun"),
        (spec::check(item.kind, &item.title, &item.notes, item.task).is_ok(), "words and link are as they may be"),
        (item.rev > 0 && item.created_ms <= item.updated_ms, "an item changes after it was added"),
    ]
}
