//! The decision.

use serde::{Deserialize, Serialize};
use std::{fmt, str::FromStr};

/// The setting.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub enum Policy {
    /// Wait for the owner, however long it takes. `park` is accepted as a name for it.
    #[serde(alias = "park")]
    Block,
    /// The node that notices takes it.
    #[default]
    ReassignToLocal,
    /// Whoever is healthy may take it.
    ReassignAnyHealthy,
}

/// The text is no hand-off policy.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
#[error("`{found}` is no hand-off policy: use block (or park), reassign-to-local or reassign-any-healthy")]
pub struct UnknownPolicy {
    /// The text, shortened.
    pub found: String,
}

/// What membership says of a node.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum Health {
    /// It answers.
    Alive,
    /// It did not answer; that may be its fault or ours.
    Suspect,
    /// It was given time to answer, and did not.
    Dead,
    /// Nobody has heard of it.
    Unknown,
}

/// What is asked.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Question {
    /// The setting.
    pub policy: Policy,
    /// How the owner is.
    pub owner: Health,
    /// Whether the owner is the node that asks.
    pub owner_is_local: bool,
    /// How the node that asks is, in its own eyes.
    pub local: Health,
    /// Whether it knows another node that is alive and not the owner.
    pub others_healthy: bool,
}

/// What to do.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub enum Decision {
    /// Leave it.
    Park(Reason),
    /// Try to claim it here.
    ReassignLocal,
    /// Let anybody who is healthy claim it.
    ReassignAny,
}

/// Why a task is left where it is.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum Reason {
    /// The owner is alive, or is again.
    OwnerAlive,
    /// The owner is suspect: wait for the answer.
    OwnerSuspect,
    /// The setting says so.
    HandoffBlockedByPolicy,
    /// This node is not sure of itself.
    LocalNotAlive,
}

/// Decides.
pub fn decide(question: Question) -> Decision {
    let Question { policy, owner, owner_is_local, local, others_healthy } = question;
    let here = if local == Health::Alive { Decision::ReassignLocal } else { Decision::Park(Reason::LocalNotAlive) };
    if owner_is_local {
        return here;
    }
    match (owner, policy) {
        (Health::Alive, _) => Decision::Park(Reason::OwnerAlive),
        (Health::Suspect, _) => Decision::Park(Reason::OwnerSuspect),
        (Health::Dead | Health::Unknown, Policy::Block) => Decision::Park(Reason::HandoffBlockedByPolicy),
        (Health::Dead | Health::Unknown, Policy::ReassignAnyHealthy) if others_healthy => Decision::ReassignAny,
        (Health::Dead | Health::Unknown, Policy::ReassignAnyHealthy | Policy::ReassignToLocal) => here,
    }
}

impl FromStr for Policy {
    type Err = UnknownPolicy;

    fn from_str(text: &str) -> Result<Self, UnknownPolicy> {
        match text {
            "block" | "park" => Ok(Self::Block),
            "reassign-to-local" => Ok(Self::ReassignToLocal),
            "reassign-any-healthy" => Ok(Self::ReassignAnyHealthy),
            other => Err(UnknownPolicy { found: other.chars().take(40).collect() }),
        }
    }
}

impl fmt::Display for Policy {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.pad(match self {
            Self::Block => "block",
            Self::ReassignToLocal => "reassign-to-local",
            Self::ReassignAnyHealthy => "reassign-any-healthy",
        })
    }
}

impl fmt::Display for Decision {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.pad(match self {
            Self::Park(_) => "park",
            Self::ReassignLocal => "reassign-local",
            Self::ReassignAny => "reassign-any",
        })
    }
}
