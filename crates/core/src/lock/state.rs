//! The rows: a repository's fence counter and the locks that are held in it.

use super::key::{Key, RepositoryName};
use crate::{
    hlc::Hlc,
    id::{LeaseToken, NodeId, RepositoryId},
    name::Name,
};
use serde::{Deserialize, Serialize};
use std::{collections::BTreeMap, fmt};

/// A repository with its locks: all rows of one scope.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct RepositoryRows {
    /// The repository.
    pub repository: Repository,
    /// The locks that are held, by token.
    pub locks: BTreeMap<LeaseToken, Lock>,
}

/// The row of a repository. There from the first lock on, for ever: the counter must never start again (D22).
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct Repository {
    /// Grows by one with every op that took effect here.
    pub rev: u32,
    /// The repository's id, derived from the two names below.
    pub id: RepositoryId,
    /// The team or project it belongs to.
    pub namespace: Name,
    /// What people call it.
    pub name: RepositoryName,
    /// The newest fence that was given out. Only grows.
    pub fence: u64,
    /// The newest op that took effect here; acquires cite it (D19).
    pub head: Hlc,
    /// When it last changed.
    pub updated_ms: u64,
}

/// The row of a lock.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct Lock {
    /// Grows by one with every op that changed this row.
    pub rev: u32,
    /// What is locked.
    pub key: Key,
    /// Alone, or with others.
    pub mode: Mode,
    /// Whether upper and lower case are one.
    pub case: Case,
    /// Who holds it.
    pub holder: Name,
    /// The node that answers for the holder.
    pub owner: NodeId,
    /// What the holder shows to prove it.
    pub token: LeaseToken,
    /// Its fence.
    pub fence: u64,
    /// When it was taken.
    pub acquired_ms: u64,
    /// From this HLC time on it is in nobody's way.
    pub deadline_ms: u64,
    /// What for, for people.
    pub purpose: String,
}

/// Whether a lock tolerates others.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum Mode {
    /// Beside other shared ones: to read.
    Shared,
    /// Alone: to write.
    Exclusive,
}

/// Whether upper and lower case are one.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum Case {
    /// `README` and `readme` are two.
    Sensitive,
    /// They are one, as on most file systems of macOS and Windows.
    Folded,
}

impl Lock {
    /// Whether its time is over at `now_ms`. It is still there until somebody says so or takes it over.
    pub fn is_expired(&self, now_ms: u64) -> bool {
        self.deadline_ms <= now_ms
    }

    /// Whether it tolerates no lock like this one beside it. The wider of the two ways to compare decides: whoever says
    /// that case does not matter cannot be overruled by somebody to whom it does.
    pub fn conflicts(&self, key: &Key, mode: Mode, case: Case) -> bool {
        let folded = self.case == Case::Folded || case == Case::Folded;
        (self.mode, mode) != (Mode::Shared, Mode::Shared) && super::overlap(&self.key, key, folded)
    }
}

impl fmt::Display for Mode {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.pad(match self {
            Self::Shared => "shared",
            Self::Exclusive => "exclusive",
        })
    }
}
