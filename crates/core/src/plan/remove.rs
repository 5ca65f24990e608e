//! Remove: an item that nothing lies in was never meant. Work that is given up is dropped instead, and stays to be seen.
//!
//! Only a leaf goes. Whoever removes a branch has seen its root, and not what somebody else may have put on it meanwhile.

use super::{apply::Refusal, state::PlanRows};
use crate::op::SeenItem;

pub(super) fn remove(rows: &mut PlanRows, seen: &SeenItem) -> Result<(), Refusal> {
    let item = rows.seen(seen)?;
    if item.parent.is_none() {
        return Err(Refusal::IsMission { item: item.id });
    }
    if let Some(child) = rows.children(seen.item).first() {
        return Err(Refusal::NotALeaf { item: seen.item, child: child.id });
    }
    rows.items.remove(&seen.item);
    Ok(())
}
