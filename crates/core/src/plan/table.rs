//! The transition table: which verb takes an item from where to where.

use serde::{Deserialize, Serialize};
use std::fmt;

use Status::{Active, Blocked, Done, Dropped, Planned};

/// Where an item rests.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize, Deserialize)]
#[serde(rename_all = "SCREAMING_SNAKE_CASE")]
#[repr(u8)]
pub enum Status {
    /// Not begun.
    Planned = 0,
    /// Somebody is at it, or at something below it.
    Active = 1,
    /// It cannot go on for now.
    Blocked = 2,
    /// Done, and nothing below it is open.
    Done = 3,
    /// Given up, with everything below it.
    Dropped = 4,
}

/// What moves an item.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize)]
#[serde(rename_all = "snake_case")]
pub enum Verb {
    /// It is to be begun later, or once more from the start.
    Plan,
    /// Somebody is at it, for the first time or again.
    Begin,
    /// It cannot go on for now.
    Block,
    /// It is done.
    Finish,
    /// It is given up.
    Drop,
    /// Something right below it is begun or done.
    BeginBelow,
    /// What it lies in is given up.
    DropAbove,
}

/// Every move there is.
#[rustfmt::skip]
pub const TRANSITIONS: &[(Status, Verb, Status)] = &[
    (Active,  Verb::Plan,       Planned),
    (Blocked, Verb::Plan,       Planned),
    (Done,    Verb::Plan,       Planned),
    (Dropped, Verb::Plan,       Planned),
    (Planned, Verb::Begin,      Active),
    (Blocked, Verb::Begin,      Active),
    (Done,    Verb::Begin,      Active),
    (Planned, Verb::Block,      Blocked),
    (Active,  Verb::Block,      Blocked),
    (Planned, Verb::Finish,     Done),
    (Active,  Verb::Finish,     Done),
    (Planned, Verb::Drop,       Dropped),
    (Active,  Verb::Drop,       Dropped),
    (Blocked, Verb::Drop,       Dropped),
    (Planned, Verb::BeginBelow, Active),
    (Planned, Verb::DropAbove,  Dropped),
    (Active,  Verb::DropAbove,  Dropped),
    (Blocked, Verb::DropAbove,  Dropped),
    (Done,    Verb::DropAbove,  Dropped),
];

/// Where `verb` takes an item that rests in `from`, if it may.
pub fn target(from: Status, verb: Verb) -> Option<Status> {
    TRANSITIONS.iter().find(|(f, v, _)| *f == from && *v == verb).map(|(_, _, to)| *to)
}

impl Status {
    /// Every status, in order of its number.
    pub const ALL: [Status; 5] = [Planned, Active, Blocked, Done, Dropped];

    /// Whether something is left to do.
    pub fn is_open(self) -> bool {
        match self {
            Planned | Active | Blocked => true,
            Done | Dropped => false,
        }
    }

    /// Whether what it lies in cannot be only planned any more.
    pub(super) fn is_begun(self) -> bool {
        match self {
            Active | Done => true,
            Planned | Blocked | Dropped => false,
        }
    }

    /// What somebody does who puts an item here.
    pub fn verb(self) -> Verb {
        match self {
            Planned => Verb::Plan,
            Active => Verb::Begin,
            Blocked => Verb::Block,
            Done => Verb::Finish,
            Dropped => Verb::Drop,
        }
    }

    /// Its name.
    pub fn as_str(self) -> &'static str {
        match self {
            Planned => "PLANNED",
            Active => "ACTIVE",
            Blocked => "BLOCKED",
            Done => "DONE",
            Dropped => "DROPPED",
        }
    }
}

impl fmt::Display for Status {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.pad(self.as_str())
    }
}
