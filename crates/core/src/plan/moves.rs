//! Move: an item goes to another place, in what it lies in or in another of the same level, with everything below it.
//!
//! It stays on its level, so it can never come to lie below itself, and nothing below it has to be looked at.

use super::{
    apply::{At, Refusal},
    follow,
    state::PlanRows,
};
use crate::{id::ItemId, op::SeenItem};

pub(super) fn move_to(
    rows: &mut PlanRows,
    seen: &SeenItem,
    parent: ItemId,
    place: u64,
    at: At<'_>,
) -> Result<(), Refusal> {
    let item = rows.seen(seen)?;
    let (id, kind, from) = (item.id, item.kind, item.parent.ok_or(Refusal::IsMission { item: item.id })?);
    // Among its siblings it may go anywhere, whatever they lie in: nothing else changes.
    if parent != from {
        rows.room_in(kind, parent)?;
    }
    let item = rows.seen(seen)?;
    (item.parent, item.place) = (Some(parent), place);
    item.touch(at);
    follow::begin_above(rows, id, at);
    Ok(())
}
