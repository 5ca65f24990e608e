//! The transition table: which verb may move a row from where to where.

use serde::{Deserialize, Serialize};
use std::fmt;

use Status::{Applied, Failed, Pending, Replaying};

/// Where a row rests. The four states of the source.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum Status {
    /// Waits for its turn.
    Pending,
    /// Was sent; nobody has answered yet.
    Replaying,
    /// What it wants is in effect.
    Applied,
    /// It was refused, or there was no place for it any more.
    Failed,
}

/// What moves a row.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum Verb {
    /// It is sent.
    Begin,
    /// It was answered.
    Settle,
    /// It was not answered: another outage.
    Postpone,
    /// It was found replaying at a start.
    Recover,
    /// An operator wants it tried again.
    Redrive,
}

/// Every move there is.
#[rustfmt::skip]
pub const TRANSITIONS: &[(Status, Verb, &[Status])] = &[
    (Pending,   Verb::Begin,    &[Replaying]),
    (Replaying, Verb::Settle,   &[Applied, Failed]),
    (Replaying, Verb::Postpone, &[Pending]),
    (Replaying, Verb::Recover,  &[Pending]),
    (Failed,    Verb::Redrive,  &[Pending]),
];

/// Where `verb` may take a row that rests in `from`; empty when it may not.
pub fn targets(from: Status, verb: Verb) -> &'static [Status] {
    TRANSITIONS.iter().find(|(f, v, _)| *f == from && *v == verb).map_or(&[], |(_, _, to)| to)
}

impl Status {
    /// All of them.
    pub const ALL: [Self; 4] = [Pending, Replaying, Applied, Failed];

    /// Whether it still has to be sent or answered.
    pub fn is_open(self) -> bool {
        match self {
            Pending | Replaying => true,
            Applied | Failed => false,
        }
    }

    /// The word of the source.
    pub fn as_str(self) -> &'static str {
        match self {
            Pending => "pending",
            Replaying => "replaying",
            Applied => "applied",
            Failed => "failed",
        }
    }
}

impl Verb {
    /// All of them.
    pub const ALL: [Self; 5] = [Self::Begin, Self::Settle, Self::Postpone, Self::Recover, Self::Redrive];
}

impl fmt::Display for Status {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.pad(self.as_str())
    }
}
