//! One command on its way to a node and back.
//!
//! Each call has a number of its own, and the number stands on the log as the op's `source`. So for every command it can
//! be told for sure whether it was written down, whatever its client was told.

use crate::time::Ns;
use relaymesh_core::{id::TaskId, name::Name, op::Op, task::spec::IdempotencyKey};
use relaymesh_runtime::driver::{Answer, Caller, Command, Error};

/// The number of a call.
pub type CallId = u64;

/// Who calls.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, serde::Serialize)]
pub enum Actor {
    /// Submits, waits, cancels, decides.
    Client(usize),
    /// Claims steps and does them.
    Worker(usize),
}

/// A command and where it comes from.
#[derive(Debug, Clone)]
pub(crate) struct Call {
    pub(crate) id: CallId,
    pub(crate) from: Actor,
    pub(crate) node: usize,
    pub(crate) command: Command,
    /// Whether the caller has stopped waiting.
    pub(crate) over: bool,
    /// Whether it never learned how the call ended.
    pub(crate) unknown: bool,
    /// When it left.
    pub(crate) sent: Ns,
    /// Whether it was sent in the phase without faults.
    pub(crate) healthy: bool,
}

/// What the caller learns in the end.
#[derive(Debug, Clone)]
pub(crate) enum Word {
    /// The node answered.
    Answer(Result<Answer, Error>),
    /// Nobody took the command: it changed nothing.
    Unreachable,
    /// A timeout, a lost answer or a dead process: the command was carried out, or will be, or not.
    Unknown,
}

impl Call {
    pub(crate) fn caller(&self) -> Caller {
        let author = match self.from {
            Actor::Client(n) => format!("client-{n}"),
            Actor::Worker(n) => format!("worker-{n}"),
        };
        Caller { author: name(&author), source: name(&format!("call-{}", self.id)) }
    }

    pub(crate) fn verb(&self) -> &'static str {
        verb(&self.command)
    }

    /// The key of a submit.
    pub(crate) fn key(&self) -> Option<&IdempotencyKey> {
        match &self.command {
            Command::Submit(submit) => Some(&submit.schedule.key),
            Command::Wait { .. }
            | Command::Claim { .. }
            | Command::Heartbeat { .. }
            | Command::Finish { .. }
            | Command::Yield { .. }
            | Command::Cancel { .. }
            | Command::Redrive { .. }
            | Command::Approve { .. }
            | Command::Lock(_)
            | Command::Message(_)
            | Command::Record { .. }
            | Command::Life(_)
            | Command::Deny { .. } => None,
        }
    }
}

pub(crate) fn verb(command: &Command) -> &'static str {
    match command {
        Command::Submit(_) => "submit",
        Command::Wait { .. } => "wait",
        Command::Claim { .. } => "claim",
        Command::Heartbeat { .. } => "heartbeat",
        Command::Finish { .. } => "finish",
        Command::Yield { .. } => "yield",
        Command::Cancel { .. } => "cancel",
        Command::Redrive { .. } => "redrive",
        Command::Approve { .. } => "approve",
        Command::Deny { .. } => "deny",
        Command::Lock(_) => "lock",
        Command::Message(_) => "message",
        Command::Record { .. } => "record",
        Command::Life(_) => "life",
    }
}

/// The task that a command is about; a submit does not know yet.
pub(crate) fn task_of(command: &Command) -> Option<TaskId> {
    match command {
        Command::Submit(_) | Command::Heartbeat { .. } | Command::Lock(_) | Command::Message(_) | Command::Life(_) => {
            None
        }
        Command::Wait { task } | Command::Cancel { task, .. } | Command::Redrive { task, .. } => Some(*task),
        Command::Claim { step, .. } | Command::Approve { step, .. } | Command::Deny { step, .. } => Some(step.task),
        Command::Finish { hold, .. } | Command::Yield { hold, .. } | Command::Record { hold, .. } => {
            Some(hold.step.task)
        }
    }
}

/// The call that an op was written for; `None` for the driver's own ops.
pub(crate) fn call_of(op: &Op) -> Option<CallId> {
    op.header.source.as_str().strip_prefix("call-")?.parse().ok()
}

pub(crate) fn name(text: &str) -> Name {
    text.parse().expect("a name")
}
