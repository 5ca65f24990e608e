//! Tokens of attempts: good for one attempt at one step, and dead with it.
//!
//! They are in memory alone. A daemon that starts anew has ended every attempt of its own agents, and whoever works from outside claims
//! again; so nothing is lost with them, and nothing has to be cleaned up on a disk.

use super::{named::Scope, spell};
use relaymesh_core::{
    hash::Hash,
    id::StepId,
    name::Name,
    task::{Status, TaskRows},
};
use std::collections::BTreeMap;

/// What the tokens of attempts begin with.
const PREFIX: &str = "rmx_";

/// As many are kept at most; the oldest goes first. Far above what a node runs at once.
const KEPT_MAX: usize = 65_536;

/// What a token of an attempt is bound to.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Bound {
    /// The step.
    pub step: StepId,
    /// Which attempt at it.
    pub epoch: u32,
    /// The team or project of the task.
    pub namespace: Name,
    /// Who does the work.
    pub agent: Name,
}

impl Bound {
    /// What it may do.
    pub const SCOPE: Scope = Scope::Agent;

    /// Whether the attempt is still under way, as the rows of its task have it. Anything else makes the token useless: the step ended, was
    /// taken from it, or is at another attempt.
    pub fn is_live(&self, rows: &TaskRows) -> bool {
        let step = rows.steps.get(usize::from(self.step.index));
        rows.task.id == self.step.task
            && rows.task.namespace == self.namespace
            && step.is_some_and(|step| {
                step.status == Status::Running && step.epoch == self.epoch && step.spec.agent == self.agent
            })
    }

    /// Whether it is or was an attempt at this step.
    pub fn has_been(&self, rows: &TaskRows) -> bool {
        let step = rows.steps.get(usize::from(self.step.index));
        rows.task.id == self.step.task
            && rows.task.namespace == self.namespace
            && step.is_some_and(|step| step.epoch >= self.epoch && step.spec.agent == self.agent)
    }
}

/// The tokens of attempts under way.
#[derive(Debug, Default)]
pub struct AttemptTokens {
    /// By hash: what is looked up is never the token itself, so how long it takes says nothing about it.
    by_hash: BTreeMap<Hash, (u64, Bound)>,
    next: u64,
}

impl AttemptTokens {
    /// A token for this attempt. `random` is 32 bytes that nobody can guess.
    pub fn issue(&mut self, bound: Bound, random: [u8; 32]) -> String {
        let token = spell(PREFIX, random);
        if self.by_hash.len() >= KEPT_MAX {
            let oldest = self.by_hash.iter().min_by_key(|(_, (number, _))| *number).map(|(hash, _)| *hash);
            oldest.map(|hash| self.by_hash.remove(&hash));
        }
        self.by_hash.insert(Hash::sha256(token.as_bytes()), (self.next, bound));
        self.next += 1;
        token
    }

    /// What this token is bound to. Whether the attempt is still under way its rows say: [`Bound::is_live`].
    pub fn find(&self, token: &str) -> Option<&Bound> {
        let hash = Hash::sha256(token.as_bytes());
        self.by_hash.get(&hash).map(|(_, bound)| bound)
    }

    /// Forgets a token whose attempt is over.
    pub fn forget(&mut self, token: &str) {
        self.by_hash.remove(&Hash::sha256(token.as_bytes()));
    }
}
