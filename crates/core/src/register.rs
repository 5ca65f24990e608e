//! The registers of a mesh by name, as ops carry them.
//!
//! What may be said in a register, and who may say it, is a rule of several nodes; no single node folds one. The rules are in
//! the crate `relaymesh-mesh`.

mod body;

pub use body::Body;

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

    /// Its number in keys.
    pub const fn number(self) -> u8 {
        self as u8
    }

    /// The register with this number.
    pub fn numbered(number: u8) -> Option<Self> {
        Self::ALL.get(usize::from(number)).copied()
    }
}

impl Body {
    /// The register that it belongs in.
    pub fn register(&self) -> Register {
        match self {
            Self::RouteKind { .. } => Register::Routes,
            Self::DesignateCoordinator { .. } => Register::Coordinator,
            Self::DelegateUcan { .. } | Self::RevokeUcan { .. } => Register::Delegations,
            Self::FreezeNode { .. } => Register::Freezes,
            Self::SetSetting { .. } => Register::Settings,
            Self::SetFeatureLevel { .. } => Register::Level,
            Self::Seal { .. } => Register::Seals,
        }
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
