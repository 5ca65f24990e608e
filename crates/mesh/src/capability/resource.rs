//! What may be done to what. The names are those of the contract's source, to the letter.
//!
//! ```text
//!                 Read  Write  Schedule  Claim  Complete
//!  Ops             ·      ·       ·        ·       ·      stands for every resource below it
//!  Job             ·              ·        ·       ·      has no Write: a job moves by its own verbs
//!  all others      ·      ·                               Evidence Entity Claim Episode Artifact Action Mesh
//!                                                         UserAssertion Registration
//! ```
//!
//! `(Mesh, Write)` alone does not make an owner: see [`super::role`].

use serde::{Deserialize, Serialize};
use std::fmt;

/// What something is done to.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize, Deserialize)]
pub enum Resource {
    /// Every other one.
    Ops,
    /// What came in from outside, as it came.
    Evidence,
    /// What the log is about.
    Entity,
    /// What is said about an entity.
    Claim,
    /// Work: a step of a task.
    Job,
    /// A stretch of time with what happened in it.
    Episode,
    /// What work made.
    Artifact,
    /// What is to be done outside.
    Action,
    /// The mesh itself: coordinator, routes, delegations.
    Mesh,
    /// A person's own word: approvals and corrections.
    UserAssertion,
    /// Who takes part.
    Registration,
}

/// What is done.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize, Deserialize)]
pub enum Action {
    /// See the content.
    Read,
    /// Say something about it.
    Write,
    /// Create a job.
    Schedule,
    /// Take a job.
    Claim,
    /// End the taking of a job: complete it, yield it, or say that its time is over.
    Complete,
}

impl Resource {
    /// Every resource.
    pub const ALL: [Resource; 11] = [
        Self::Ops,
        Self::Evidence,
        Self::Entity,
        Self::Claim,
        Self::Job,
        Self::Episode,
        Self::Artifact,
        Self::Action,
        Self::Mesh,
        Self::UserAssertion,
        Self::Registration,
    ];

    /// Whether a grant on this one reaches `other`.
    pub fn covers(self, other: Self) -> bool {
        self == Self::Ops || self == other
    }

    /// Whether there is anything that this action does to this resource.
    pub fn has(self, action: Action) -> bool {
        match action {
            Action::Read => true,
            Action::Write => self != Self::Job,
            Action::Schedule | Action::Claim | Action::Complete => matches!(self, Self::Ops | Self::Job),
        }
    }
}

impl Action {
    /// Every action.
    pub const ALL: [Action; 5] = [Self::Read, Self::Write, Self::Schedule, Self::Claim, Self::Complete];
}

impl fmt::Display for Resource {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        fmt::Debug::fmt(self, f)
    }
}

impl fmt::Display for Action {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        fmt::Debug::fmt(self, f)
    }
}
