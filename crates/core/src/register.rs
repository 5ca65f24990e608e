//! The registers of a mesh by name, as ops carry them.
//!
//! What may be said in a register, and who may say it, is a rule of several nodes; no single node folds one. The rules are in
//! the crate `relaymesh-mesh`.

use crate::op::{Body, lock_bodies, log_bodies, message_bodies, namespace_bodies, plan_bodies, task_bodies};
use serde::{Deserialize, Serialize};
use std::fmt;

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
