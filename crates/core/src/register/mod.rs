//! The registers: what the owner of a mesh says about the mesh itself, readable as of any time.
//!
//! ```text
//!  routes        which node alone may claim work of which kinds        RouteKind               the owner
//!  coordinator   who says what follows from the log                    DesignateCoordinator    the owner
//!  delegations   who may do what, and what was taken back              DelegateUcan RevokeUcan whoever gives it
//!  freezes       whose word does not count for now                     FreezeNode              the owner
//!  settings      what holds for all nodes                              SetSetting              the owner
//!  level         what ops mean                                         SetFeatureLevel         the owner
//!  seals         up to where everything is agreed on                   Seal                    the coordinator
//! ```
//!
//! The folds of tasks, locks, threads and plans ask the registers, and ask them **as of the op's own time**. The tempting wrong
//! answer asks what holds now: then a claim that a route allowed yesterday is undone by a route of today, and two nodes that
//! heard of the route at different moments disagree. So a register keeps every word with its time and throws none away.
//!
//! Each register is one scope with one row. Who may speak is not asked here ([`crate::mandate`] says), only whether what is
//! said can be: a level that falls, a seal that goes back, a chain that is no chain.
//!
//! Invariant ([`validate()`]): words stand in the order of their times, seals and levels only grow, and every bound is kept.

mod apply;
mod delegations;
mod history;
mod seals;
mod state;
mod validate;

#[cfg(test)]
mod tests;

pub use apply::{Refusal, apply};
pub use delegations::Delegations;
pub use history::History;
pub use seals::{SEAL_HEADS_MAX, SealWord, Seals};
pub use state::{RegisterRow, Words};
pub use validate::{Invalid, validate};

use crate::op::{Body, lock_bodies, log_bodies, message_bodies, namespace_bodies, plan_bodies, task_bodies};
use serde::{Deserialize, Serialize};
use std::fmt;

/// The most words that a register keeps. One more is refused.
pub const WORDS_MAX: usize = 16_384;
/// The most words that a register keeps of all others than the owner's key together. The rest of the room is the owner's, so that
/// nobody who was let in can keep the owner from letting in, taking back and freezing.
pub const OTHERS_WORDS_MAX: usize = WORDS_MAX / 2;
/// The most words that a register keeps of one whom the owner let in, together with everybody whom that one let in: a key costs
/// nothing, and a share for each would be no bound.
pub const SHARE_WORDS_MAX: usize = WORDS_MAX / 16;
/// The most seals that are kept of all others than the owner's key. Whoever coordinates is to seal for decades, so it has more than a
/// share; what is left lets the owner go on itself.
pub const OTHERS_SEALS_MAX: usize = WORDS_MAX / 16 * 15;
/// The longest value of a setting, in bytes.
pub const SETTING_BYTES_MAX: usize = 1_024;
/// The level that a mesh begins with.
pub const FIRST_LEVEL: u32 = 1;
/// The highest level whose meaning this program knows.
pub const FEATURE_LEVEL: u32 = 1;

/// Which register.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum Register {
    /// Which node alone may claim work of which kinds.
    Routes,
    /// Who says what follows from the log.
    Coordinator,
    /// Who may do what.
    Delegations,
    /// Whose word does not count.
    Freezes,
    /// What holds for all nodes.
    Settings,
    /// What ops mean.
    Level,
    /// Up to where everything is agreed on.
    Seals,
}

impl Register {
    /// Every register, in the order of their numbers.
    pub const ALL: [Register; 7] =
        [Self::Routes, Self::Coordinator, Self::Delegations, Self::Freezes, Self::Settings, Self::Level, Self::Seals];

    /// The register that something is said about, if it is about one.
    pub fn of(body: &Body) -> Option<Self> {
        match body {
            Body::RouteKind { .. } => Some(Self::Routes),
            Body::DesignateCoordinator { .. } => Some(Self::Coordinator),
            Body::DelegateUcan { .. } | Body::RevokeUcan { .. } => Some(Self::Delegations),
            Body::FreezeNode { .. } => Some(Self::Freezes),
            Body::SetSetting { .. } => Some(Self::Settings),
            Body::SetFeatureLevel { .. } => Some(Self::Level),
            Body::Seal { .. } => Some(Self::Seals),
            task_bodies!() | lock_bodies!() | message_bodies!() | log_bodies!() | namespace_bodies!() => None,
            plan_bodies!() | Body::PurgeScope {} => None,
        }
    }

    /// Its number in keys.
    pub const fn number(self) -> u8 {
        self as u8
    }

    /// The register with this number.
    pub fn numbered(number: u8) -> Option<Self> {
        Self::ALL.get(usize::from(number)).copied()
    }
}

impl fmt::Display for Register {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.pad(match self {
            Self::Routes => "routes",
            Self::Coordinator => "coordinator",
            Self::Delegations => "delegations",
            Self::Freezes => "freezes",
            Self::Settings => "settings",
            Self::Level => "level",
            Self::Seals => "seals",
        })
    }
}
