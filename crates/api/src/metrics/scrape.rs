//! What is looked up when somebody asks for the metrics.

use crate::local::Status;
use relaymesh_core::budget::Amount;

/// How the daemon and its store stand at one moment.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Scrape {
    /// How the daemon is.
    pub status: Status,
    /// Now, in milliseconds since 1970.
    pub now_ms: u64,
    /// One for each lane, high first.
    pub lanes: [LaneGauge; 3],
    /// Ready steps in the window, its capacity, and the parked steps.
    pub window: (u64, u64, u64),
    /// Steps that wait for a decision with a deadline.
    pub approvals: u64,
    /// Steps with a lease.
    pub leased_steps: u64,
    /// Tasks with such a step.
    pub active_tasks: u64,
    /// Messages that nobody has taken.
    pub messages_waiting: u64,
    /// Contents in files, and their bytes.
    pub blobs: (u64, u64),
    /// Writes that the fence rejected, since the root was made.
    pub fenced: u64,
    /// Length of the database.
    pub database_bytes: u64,
    /// Length of the write-ahead log.
    pub wal_bytes: u64,
    /// What was used today.
    pub used_today: Amount,
    /// Lines of the log that were left out.
    pub log_dropped: u64,
    /// Memory of this process.
    pub resident_bytes: u64,
}

/// What waits in one lane.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub struct LaneGauge {
    /// Steps that could run now.
    pub ready: u64,
    /// Steps that are tried again later.
    pub later: u64,
    /// When the oldest task with a ready step was submitted.
    pub oldest_ms: Option<u64>,
}
