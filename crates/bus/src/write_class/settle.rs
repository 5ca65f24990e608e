//! Settle: which class a write got, after it was tried. Every answer carries it.

use super::{
    entity::EntityType,
    table::{Order, class_of},
};
use relaymesh_core::op::WriteClass;
use serde::{Deserialize, Serialize};
use std::fmt;

/// How the attempt to order a write ended.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum Ordering {
    /// Whoever has to agree did, durably.
    Agreed,
    /// Nobody who has to agree can have heard of it.
    Unreachable,
    /// Time ran out; some may have agreed (D13).
    TimedOut,
}

/// The class that a write got.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
pub struct Got {
    /// What was written.
    pub entity: EntityType,
    /// The class of the table.
    pub declared: WriteClass,
    /// The class that it got: the declared one, or `queued` instead of `strong`.
    pub class: WriteClass,
    /// Whether it may have taken effect although it is queued; ask again with the same intent.
    pub indeterminate: bool,
}

/// What becomes of a write of `entity` whose ordering ended like this.
///
/// ```text
///               agreed        unreachable   timed out
///  strong       strong        queued        queued, indeterminate
///  append-only  append-only   append-only   append-only
///  queued       queued        queued        queued, indeterminate
///  local        local         local         local
/// ```
pub fn settle(entity: EntityType, order: Order, ordering: Ordering) -> Got {
    use WriteClass::{AppendOnly, Local, Queued, Strong};
    let declared = class_of(entity, order);
    let (class, indeterminate) = match (declared, ordering) {
        (Strong, Ordering::Agreed) => (Strong, false),
        (Strong | Queued, Ordering::TimedOut) => (Queued, true),
        (Strong, Ordering::Unreachable) | (Queued, Ordering::Agreed | Ordering::Unreachable) => (Queued, false),
        // Its author alone decides; the others hear of it later.
        (AppendOnly, Ordering::Agreed | Ordering::Unreachable | Ordering::TimedOut) => (AppendOnly, false),
        (Local, Ordering::Agreed | Ordering::Unreachable | Ordering::TimedOut) => (Local, false),
    };
    Got { entity, declared, class, indeterminate }
}

impl fmt::Display for Got {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{}", self.class)?;
        if self.class != self.declared {
            write!(f, " instead of {}", self.declared)?;
        }
        if self.indeterminate { f.write_str(", indeterminate") } else { Ok(()) }
    }
}
