//! Count: how much waits, for whoever reads while it does.

use super::{queue::Queue, table::Status};
use serde::Serialize;

/// The numbers of the source's degraded read that come from the queue, over the rows at hand.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq, Serialize)]
pub struct Depth {
    /// Pending, replaying and failed rows.
    #[serde(rename = "queueDepth")]
    pub queue_depth: usize,
    /// Rows that are still to be sent or answered.
    #[serde(rename = "pendingWriteCount")]
    pub pending_writes: usize,
    /// Rows that were given up.
    #[serde(rename = "failedWriteCount")]
    pub failed_writes: usize,
}

impl Queue {
    /// How much waits.
    pub fn depth(&self) -> Depth {
        let failed_writes = self.rows.values().filter(|entry| entry.status == Status::Failed).count();
        let pending_writes = self.open.len();
        Depth { queue_depth: pending_writes + failed_writes, pending_writes, failed_writes }
    }
}
