//! The states of an envelope (F19), and the moves between them.
//!
//! ```text
//!            quorum                          replayed: the outcome is on record
//!  intent ───────────► committed      queued ───────────────────────────────────► reconciled
//!    │  │ no quorum in time ──────────►  │  └── quorum at last ──► committed
//!    └──┴── fenced, precondition, refused ──► rejected ◄── stale fence when it is replayed
//! ```
//!
//! committed, rejected and reconciled are ends. There is no way from any state to a local write: a strong write is
//! committed, waits, or is refused, and its author is told which (F3).

use serde::{Deserialize, Serialize};
use std::fmt;

/// Where a write stands.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Serialize, Deserialize)]
#[serde(rename_all = "lowercase")]
pub enum State {
    /// Durable at its author, not agreed on yet.
    Intent,
    /// Agreed on.
    Committed,
    /// Refused for good.
    Rejected,
    /// Waiting for whoever has to agree.
    Queued,
    /// Replayed after it had waited; what came of it is on record.
    Reconciled,
}

impl State {
    /// Every state.
    pub const ALL: [State; 5] = [Self::Intent, Self::Committed, Self::Rejected, Self::Queued, Self::Reconciled];

    /// Where a write can go from here.
    pub const fn next(self) -> &'static [State] {
        match self {
            Self::Intent => &[Self::Committed, Self::Rejected, Self::Queued],
            Self::Queued => &[Self::Committed, Self::Rejected, Self::Reconciled],
            Self::Committed | Self::Rejected | Self::Reconciled => &[],
        }
    }

    /// Whether a write can go from here to there.
    pub fn may_become(self, next: Self) -> bool {
        self.next().contains(&next)
    }

    /// Whether `committedAt` says when: always for what was agreed on, never for what was not. What was reconciled may have
    /// been agreed on or not.
    pub(super) fn fits_commit(self, has_time: bool) -> bool {
        match self {
            Self::Committed => has_time,
            Self::Intent | Self::Rejected | Self::Queued => !has_time,
            Self::Reconciled => true,
        }
    }
}

impl fmt::Display for State {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.pad(match self {
            Self::Intent => "intent",
            Self::Committed => "committed",
            Self::Rejected => "rejected",
            Self::Queued => "queued",
            Self::Reconciled => "reconciled",
        })
    }
}
