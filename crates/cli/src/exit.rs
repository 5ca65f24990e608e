//! How a command ended that did not go wrong itself.

use relaymesh_core::task::Status;
use std::process::ExitCode;

/// How a command ended. The task's own bad end is not an error of the command: it did what it was asked.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Exit {
    /// Done; the task that was waited for, if any, succeeded.
    Done,
    /// The task ended in FAILED or DEAD_LETTER.
    TaskFailed,
    /// The task was cancelled.
    TaskCancelled,
    /// The task has not ended: it waits for an approval, or the time to wait is over.
    NotEnded,
    /// Ctrl-C.
    Interrupted,
}

impl Exit {
    /// The exit of a command that waited for a task which now rests here.
    pub(crate) fn of(status: Status) -> Self {
        match status {
            Status::Success | Status::Skipped => Self::Done,
            Status::Failed | Status::DeadLetter => Self::TaskFailed,
            Status::Cancelled => Self::TaskCancelled,
            Status::Pending | Status::Waiting | Status::Running | Status::Retrying => Self::NotEnded,
        }
    }
}

impl From<Exit> for ExitCode {
    fn from(exit: Exit) -> Self {
        Self::from(match exit {
            Exit::Done => 0,
            Exit::TaskFailed => 10,
            Exit::TaskCancelled => 11,
            Exit::NotEnded => 12,
            Exit::Interrupted => 130,
        })
    }
}
