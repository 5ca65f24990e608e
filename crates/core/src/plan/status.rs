//! Set status: an item comes to rest somewhere else, and what follows above and below it is part of the same op.

use super::{
    apply::{At, Refusal},
    follow,
    state::{Item, PlanRows},
    table::{Status, Verb, target},
};
use crate::op::SeenItem;

pub(super) fn set(rows: &mut PlanRows, seen: &SeenItem, to: Status, at: At<'_>) -> Result<(), Refusal> {
    let item = rows.seen(seen)?;
    let (id, found, parent, verb) = (item.id, item.status, item.parent, to.verb());
    if target(found, verb) != Some(to) {
        return Err(Refusal::NotPossible { item: id, verb, found });
    }
    let above = parent.and_then(|parent| rows.items.get(&parent));
    if let Some(parent) = above.filter(|parent| to.is_open() && !parent.status.is_open()) {
        return Err(Refusal::ParentClosed { parent: parent.id, found: parent.status });
    }
    if let Some(child) = rows.children(id).into_iter().find(|child| is_in_the_way(verb, child)) {
        return Err(Refusal::NotWithChild { item: id, verb, child: child.id, found: child.status });
    }
    rows.seen(seen)?.go(verb, at);
    follow::begin_above(rows, id, at);
    if verb == Verb::Drop {
        follow::drop_below(rows, id, at);
    }
    Ok(())
}

/// Nothing open is left behind by what is done, and what is planned once more has nothing that was begun.
fn is_in_the_way(verb: Verb, child: &Item) -> bool {
    match verb {
        Verb::Finish => child.status.is_open(),
        Verb::Plan => child.status.is_begun(),
        // What is dropped takes it along.
        Verb::Drop | Verb::DropAbove | Verb::Begin | Verb::BeginBelow | Verb::Block => false,
    }
}
