//! The transition table: which verb may move a message from where to where.

use serde::{Deserialize, Serialize};
use std::fmt;

use State::{Dead, Done, Failed, Processing, Queued};

/// Where a message rests. The five states of the source.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize, Deserialize)]
#[serde(rename_all = "SCREAMING_SNAKE_CASE")]
#[repr(u8)]
pub enum State {
    /// Waits for its recipient, or until it is due again.
    Queued = 0,
    /// Handed to its recipient under a lease.
    Processing = 1,
    /// Acknowledged or answered.
    Done = 2,
    /// Its recipient refused it for good.
    Failed = 3,
    /// All deliveries are used up, or it was too old: see [`DeadReason`](super::DeadReason).
    Dead = 4,
}

/// What moves a message.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize)]
#[serde(rename_all = "snake_case")]
pub enum Verb {
    /// The recipient took it.
    Deliver,
    /// The recipient lengthened its lease.
    Renew,
    /// The recipient has dealt with it.
    Acknowledge,
    /// The recipient answered it.
    Reply,
    /// The recipient could not deal with it.
    Fail,
    /// The recipient gave it back; the delivery does not count.
    Return,
    /// The delivery's lease ended.
    ExpireDelivery,
    /// It became too old.
    Expire,
    /// It is to be delivered again from the start.
    Redrive,
}

/// Every move there is.
#[rustfmt::skip]
pub const TRANSITIONS: &[(State, Verb, &[State])] = &[
    (Queued,     Verb::Deliver,        &[Processing]),
    (Processing, Verb::Renew,          &[Processing]),
    (Processing, Verb::Acknowledge,    &[Done]),
    (Processing, Verb::Reply,          &[Done]),
    (Processing, Verb::Fail,           &[Queued, Failed, Dead]),
    (Processing, Verb::Return,         &[Queued]),
    (Processing, Verb::ExpireDelivery, &[Queued, Dead]),
    (Queued,     Verb::Expire,         &[Dead]),
    (Processing, Verb::Expire,         &[Dead]),
    (Failed,     Verb::Redrive,        &[Queued]),
    (Dead,       Verb::Redrive,        &[Queued]),
];

/// Where `verb` may take a message that rests in `from`; empty when it may not.
pub fn targets(from: State, verb: Verb) -> &'static [State] {
    TRANSITIONS.iter().find(|(f, v, _)| *f == from && *v == verb).map_or(&[], |(_, _, to)| to)
}

impl State {
    /// Every state, in order of its number.
    pub const ALL: [State; 5] = [Queued, Processing, Done, Failed, Dead];

    /// Whether at most a redrive leads on from here.
    pub fn is_terminal(self) -> bool {
        match self {
            Queued | Processing => false,
            Done | Failed | Dead => true,
        }
    }

    /// The name that the source gives it.
    pub fn as_str(self) -> &'static str {
        match self {
            Queued => "QUEUED",
            Processing => "PROCESSING",
            Done => "DONE",
            Failed => "FAILED",
            Dead => "DEAD",
        }
    }
}

impl fmt::Display for State {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.pad(self.as_str())
    }
}
