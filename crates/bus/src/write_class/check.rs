//! Check: a class that somebody names is the one of the table, or refused.

use super::{
    entity::EntityType,
    table::{Order, class_of},
};
use relaymesh_core::op::WriteClass;

/// The class that was named is not the one that such a write has here. Nothing was written.
#[derive(Debug, Clone, Copy, PartialEq, Eq, thiserror::Error)]
#[error("a write of `{entity}` is {declared} in a {order} mesh and cannot be made {asked}")]
pub struct Refusal {
    /// What was to be written.
    pub entity: EntityType,
    /// The mesh's order.
    pub order: Order,
    /// The class of the table.
    pub declared: WriteClass,
    /// The class that was named.
    pub asked: WriteClass,
}

/// Compares the class that an envelope or a caller names with the table. There is no weaker class to be had by asking for
/// it: `strong` asked as `local` is refused, not granted.
pub fn check(entity: EntityType, order: Order, asked: WriteClass) -> Result<WriteClass, Refusal> {
    let declared = class_of(entity, order);
    if asked == declared { Ok(declared) } else { Err(Refusal { entity, order, declared, asked }) }
}
