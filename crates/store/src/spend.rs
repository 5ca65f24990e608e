//! What was used, for whom and by whom: a journal, of this node only.

use relaymesh_core::{budget::Amount, id::TaskId, name::Name};
use serde::{Deserialize, Serialize};

/// Milliseconds of a day.
const DAY_MS: u64 = 86_400_000;

/// A day, by UTC: how many came before it since 1970.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Serialize, Deserialize)]
pub struct Day(pub u32);

impl Day {
    /// The day with this moment in it.
    pub fn of(wall_ms: u64) -> Self {
        Self(u32::try_from(wall_ms / DAY_MS).unwrap_or(u32::MAX))
    }

    /// When the next one begins.
    pub fn end_ms(self) -> u64 {
        (u64::from(self.0) + 1) * DAY_MS
    }
}

/// Something was used.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Spend {
    /// When.
    pub day: Day,
    /// For which team or project.
    pub namespace: Name,
    /// By whom.
    pub agent: Name,
    /// For which task.
    pub task: TaskId,
    /// How much. What is used for the same task by the same agent on the same day is added up.
    pub amount: Amount,
}
