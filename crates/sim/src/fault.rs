//! What can break.

use serde::Serialize;

/// One kind of fault.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Serialize)]
pub enum Fault {
    /// The process is killed, a few events from now.
    Kill,
    /// The process is killed while a commit is on its way: all of it or nothing is there afterwards, and nobody knows.
    KillInWrite,
    /// The process is asked to stop, and starts again.
    Stop,
    /// The process stands still, longer than leases run.
    Pause,
    /// The wall clock is set ahead.
    JumpAhead,
    /// The wall clock is set back.
    JumpBack,
    /// The wall clock runs too fast or too slow from now on.
    Drift,
    /// Commits take long for a while.
    SlowDisk,
    /// There is no room for a while: commits are rolled back.
    FullDisk,
    /// A commit fails in a way that leaves its outcome unknown.
    IoError,
    /// Reads fail now and then for a while.
    FailingReads,
    /// A provider turns all attempts of its agents away for a while.
    RateLimit,
}

impl Fault {
    /// Every kind.
    pub const ALL: [Self; 12] = [
        Self::Kill,
        Self::KillInWrite,
        Self::Stop,
        Self::Pause,
        Self::JumpAhead,
        Self::JumpBack,
        Self::Drift,
        Self::SlowDisk,
        Self::FullDisk,
        Self::IoError,
        Self::FailingReads,
        Self::RateLimit,
    ];

    /// Whether the process has to start again after it.
    pub(crate) fn ends_the_process(self) -> bool {
        match self {
            Self::Kill | Self::KillInWrite | Self::Stop | Self::IoError => true,
            Self::Pause
            | Self::JumpAhead
            | Self::JumpBack
            | Self::Drift
            | Self::SlowDisk
            | Self::FullDisk
            | Self::FailingReads
            | Self::RateLimit => false,
        }
    }
}
