//! The transition table: which verb may move a step from where to where (R5).
//!
//! TIMEOUT and ABANDONED of the contract are outcomes of an attempt, passed through within one op: a step that timed
//! out rests in RETRYING or DEAD_LETTER, and its history says TIMEOUT.

use serde::{Deserialize, Serialize};
use std::fmt;

use Status::{Cancelled, DeadLetter, Failed, Pending, Retrying, Running, Skipped, Success, Waiting};

/// Where a task or a step rests.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize, Deserialize)]
#[serde(rename_all = "SCREAMING_SNAKE_CASE")]
#[repr(u8)]
pub enum Status {
    /// Not begun. A step also waits here for the steps it depends on.
    Pending = 0,
    /// Waits for a person's approval.
    Waiting = 1,
    /// Held by a worker; of a task: begun and not ended.
    Running = 2,
    /// Failed before and will be tried again when it is due.
    Retrying = 3,
    /// Done.
    Success = 4,
    /// Failed in a way that another attempt would not mend.
    Failed = 5,
    /// All attempts are used up.
    DeadLetter = 6,
    /// Stopped by a person or program.
    Cancelled = 7,
    /// Never needed, because of how the rest went.
    Skipped = 8,
}

/// What moves a step.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize)]
#[serde(rename_all = "snake_case")]
pub enum Verb {
    /// The steps it depends on are done and it needs an approval first.
    Ask,
    /// A person agreed.
    Approve,
    /// A person refused.
    Deny,
    /// A worker took it.
    Claim,
    /// The holder lengthened its lease.
    Renew,
    /// The holder delivered the result.
    Complete,
    /// The holder reported a failure.
    Fail,
    /// The holder gave it back.
    Yield,
    /// The lease ended.
    Expire,
    /// The attempt took too long.
    TimeOut,
    /// The task was cancelled.
    Cancel,
    /// The holder found that its condition holds.
    Pass,
    /// The holder found out for which items it runs.
    FanOut,
    /// It is not needed any more, or the holder found that its condition does not hold.
    Skip,
    /// It is to be tried again from the start.
    Redrive,
}

/// Every move there is.
#[rustfmt::skip]
pub const TRANSITIONS: &[(Status, Verb, &[Status])] = &[
    (Pending,    Verb::Ask,      &[Waiting]),
    (Waiting,    Verb::Approve,  &[Pending]),
    (Waiting,    Verb::Deny,     &[Failed]),
    (Pending,    Verb::Claim,    &[Running]),
    (Retrying,   Verb::Claim,    &[Running]),
    (Running,    Verb::Renew,    &[Running]),
    (Running,    Verb::Complete, &[Success]),
    (Running,    Verb::Fail,     &[Retrying, Failed, DeadLetter, Cancelled]),
    (Running,    Verb::Yield,    &[Pending, Cancelled]),
    (Running,    Verb::Expire,   &[Retrying, DeadLetter, Cancelled]),
    (Running,    Verb::TimeOut,  &[Retrying, DeadLetter, Cancelled]),
    (Pending,    Verb::Cancel,   &[Cancelled]),
    (Waiting,    Verb::Cancel,   &[Cancelled]),
    (Running,    Verb::Cancel,   &[Cancelled]),
    (Retrying,   Verb::Cancel,   &[Cancelled]),
    (Running,    Verb::Pass,     &[Pending, Waiting, Cancelled]),
    (Running,    Verb::FanOut,   &[Pending, Cancelled]),
    (Running,    Verb::Skip,     &[Skipped]),
    (Pending,    Verb::Skip,     &[Skipped]),
    (Waiting,    Verb::Skip,     &[Skipped]),
    (Retrying,   Verb::Skip,     &[Skipped]),
    (Failed,     Verb::Redrive,  &[Pending]),
    (DeadLetter, Verb::Redrive,  &[Pending]),
    (Cancelled,  Verb::Redrive,  &[Pending]),
    (Skipped,    Verb::Redrive,  &[Pending]),
    (Success,    Verb::Redrive,  &[Pending]), // a step that was compensated, what came after it, and the compensation itself
];

/// Where `verb` may take a step that rests in `from`; empty when it may not.
pub fn targets(from: Status, verb: Verb) -> &'static [Status] {
    TRANSITIONS.iter().find(|(f, v, _)| *f == from && *v == verb).map_or(&[], |(_, _, to)| to)
}

impl Status {
    /// Every status, in order of its number.
    pub const ALL: [Status; 9] = [Pending, Waiting, Running, Retrying, Success, Failed, DeadLetter, Cancelled, Skipped];

    /// Whether only a redrive leads on from here.
    pub fn is_terminal(self) -> bool {
        match self {
            Pending | Waiting | Running | Retrying => false,
            Success | Failed | DeadLetter | Cancelled | Skipped => true,
        }
    }

    /// The name that the contract gives it.
    pub fn as_str(self) -> &'static str {
        match self {
            Pending => "PENDING",
            Waiting => "WAITING",
            Running => "RUNNING",
            Retrying => "RETRYING",
            Success => "SUCCESS",
            Failed => "FAILED",
            DeadLetter => "DEAD_LETTER",
            Cancelled => "CANCELLED",
            Skipped => "SKIPPED",
        }
    }
}

impl fmt::Display for Status {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.pad(self.as_str())
    }
}
