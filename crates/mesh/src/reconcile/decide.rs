//! The decision: a function of what arrives and what is here.

use crate::fence::{FenceToken, Gate, Stale};
use relaymesh_core::{
    hash::Hash,
    hlc::Hlc,
    id::{IntentId, NodeId},
    op::WriteClass,
};
use serde::{Deserialize, Serialize};
use std::fmt;

/// What becomes of a write. The five words of the source.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum Outcome {
    /// It takes effect now.
    Applied,
    /// What it wants is there already.
    NoopAlreadyApplied,
    /// A later write has taken its place.
    Superseded,
    /// It and what is here do not know of each other: somebody has to decide.
    ConflictRequiresMerge,
    /// Its authority is over.
    RejectedFenced,
}

/// What a write expects of the world. What it does not name it does not care about.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct Precondition {
    /// The revision that it was made from; 0 for a thing that is to be made.
    pub base_revision: Option<u64>,
    /// The epoch of the coordinator that it was made under.
    pub lease_epoch: Option<u64>,
}

/// A write as it arrives.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Arriving {
    /// What was intended; a repeat has the same.
    pub intent: IntentId,
    /// Who wrote it.
    pub origin: NodeId,
    /// When.
    pub created: Hlc,
    /// Its class. A strong write needs a fence.
    pub class: WriteClass,
    /// Under whose authority; none for a class that needs none.
    pub fence: Option<FenceToken>,
    /// What it expects.
    pub precondition: Precondition,
    /// The hash of what it wants to be there.
    pub content: Hash,
}

/// What is here.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Current<'a> {
    /// The fences that were seen in its realm.
    pub gate: &'a Gate,
    /// The newest revision of the entity; 0 when it is not here.
    pub revision: u64,
    /// When that was written, if it is here.
    pub written: Option<Hlc>,
    /// The hash of its content, if it is here.
    pub content: Option<Hash>,
    /// The content that this very intent was applied with, if it was.
    pub known: Option<Hash>,
}

/// The answer with its reason.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Decision {
    /// One of five.
    pub outcome: Outcome,
    /// Why.
    pub why: Why,
}

/// The line of the table that decided.
#[derive(Debug, Clone, Copy, PartialEq, Eq, thiserror::Error)]
pub enum Why {
    /// Nothing stands against it.
    #[error("nothing newer is here")]
    Clear,
    /// This intent took effect before.
    #[error("this intent took effect before")]
    Repeat,
    /// This intent took effect before, with another content.
    #[error("this intent took effect before, with other content")]
    IntentReused,
    /// The fence is stale.
    #[error(transparent)]
    Stale(Stale),
    /// A strong write under nobody's authority.
    #[error("a strong write needs the fence of its coordinator")]
    Unfenced,
    /// The write expects an epoch that is not the newest.
    #[error("epoch {expected} was expected, and {found} is the newest")]
    Epoch {
        /// What the write expects.
        expected: u64,
        /// What is.
        found: u64,
    },
    /// Somebody else wrote the same.
    #[error("revision {current} has the same content")]
    SameContent {
        /// The revision that has it.
        current: u64,
    },
    /// A newer revision was written later than this.
    #[error("made from revision {base}, and revision {current} was written later")]
    Newer {
        /// What the write was made from.
        base: u64,
        /// What is here.
        current: u64,
    },
    /// A newer revision was written before this, unseen.
    #[error("made from revision {base} without knowing revision {current}")]
    Unseen {
        /// What the write was made from.
        base: u64,
        /// What is here.
        current: u64,
    },
    /// The revision that it was made from is not here.
    #[error("made from revision {base}, which is not here: the newest is {current}")]
    BaseMissing {
        /// What the write was made from.
        base: u64,
        /// What is here.
        current: u64,
    },
}

/// Decides. Changes nothing.
pub fn reconcile(write: &Arriving, current: &Current<'_>) -> Decision {
    let decision = |outcome, why| Decision { outcome, why };
    if let Some(known) = current.known {
        return if known == write.content {
            decision(Outcome::NoopAlreadyApplied, Why::Repeat)
        } else {
            decision(Outcome::ConflictRequiresMerge, Why::IntentReused)
        };
    }
    if write.class == WriteClass::Strong && write.fence.is_none() {
        return decision(Outcome::RejectedFenced, Why::Unfenced);
    }
    if let Some(stale) = write.fence.and_then(|token| current.gate.check(token, write.origin).err()) {
        return decision(Outcome::RejectedFenced, Why::Stale(stale));
    }
    let newest = write.fence.map_or(current.gate.epoch(), |token| token.epoch.max(current.gate.epoch()));
    if let Some(expected) = write.precondition.lease_epoch.filter(|expected| *expected != newest) {
        return decision(Outcome::RejectedFenced, Why::Epoch { expected, found: newest });
    }
    let Some(base) = write.precondition.base_revision else {
        return decision(Outcome::Applied, Why::Clear);
    };
    let current_revision = current.revision;
    if base == current_revision {
        return decision(Outcome::Applied, Why::Clear);
    }
    if base > current_revision {
        return decision(Outcome::ConflictRequiresMerge, Why::BaseMissing { base, current: current_revision });
    }
    if current.content == Some(write.content) {
        return decision(Outcome::NoopAlreadyApplied, Why::SameContent { current: current_revision });
    }
    if current.written.is_some_and(|written| written > write.created) {
        return decision(Outcome::Superseded, Why::Newer { base, current: current_revision });
    }
    decision(Outcome::ConflictRequiresMerge, Why::Unseen { base, current: current_revision })
}

impl Outcome {
    /// All of them.
    pub const ALL: [Self; 5] =
        [Self::Applied, Self::NoopAlreadyApplied, Self::Superseded, Self::ConflictRequiresMerge, Self::RejectedFenced];

    /// The word of the source.
    pub fn as_str(self) -> &'static str {
        match self {
            Self::Applied => "applied",
            Self::NoopAlreadyApplied => "noop_already_applied",
            Self::Superseded => "superseded",
            Self::ConflictRequiresMerge => "conflict_requires_merge",
            Self::RejectedFenced => "rejected_fenced",
        }
    }

    /// Whether what the write wants is in effect now.
    pub fn is_in_effect(self) -> bool {
        match self {
            Self::Applied | Self::NoopAlreadyApplied => true,
            Self::Superseded | Self::ConflictRequiresMerge | Self::RejectedFenced => false,
        }
    }
}

impl fmt::Display for Outcome {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.pad(self.as_str())
    }
}
