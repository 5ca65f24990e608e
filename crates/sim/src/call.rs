//! One command on its way to a node and back.
//!
//! Each call has a number of its own, and the number stands on the log as the op's `source`. So for every command it can
//! be told for sure whether it was written down, whatever its client was told.

use crate::time::Ns;
use relaymesh_core::{
    id::{NamespaceId, RepositoryId},
    name::Name,
    op::{Op, Scope},
    task::spec::IdempotencyKey,
};
use relaymesh_runtime::driver::{Answer, Caller, Command, Error, LifeCommand, LockCommand, MessageCommand};

/// The number of a call.
pub type CallId = u64;

/// Who calls.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, serde::Serialize)]
pub enum Actor {
    /// Submits, waits, cancels, decides.
    Client(usize),
    /// Claims steps and does them.
    Worker(usize),
    /// Takes locks, keeps them and gives them back.
    Locker(usize),
    /// Sends messages.
    Sender(usize),
    /// Takes messages and deals with them.
    Recipient(usize),
    /// Lets go of what is over.
    Janitor(usize),
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
    /// What time it was for the node then.
    pub(crate) wall_ms: u64,
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

impl Word {
    /// Whether it may be worth while to ask again: it is not known what came of the command, or the node was in no state
    /// to decide it.
    pub(crate) fn is_unsure(&self) -> bool {
        match self {
            Self::Answer(Ok(_)) => false,
            Self::Answer(Err(error)) => match error {
                Error::Refused(_)
                | Error::Lock(_)
                | Error::Message(_)
                | Error::Namespace(_)
                | Error::NoNamespace { .. }
                | Error::TooManyNamespaces { .. }
                | Error::NotPurged(_)
                | Error::KeyReused { .. }
                | Error::TooLong { .. }
                | Error::NotAsAsked(_) => false,
                Error::DiskFull(_)
                | Error::Busy { .. }
                | Error::Indeterminate(_)
                | Error::Stopped
                | Error::Store(_) => true,
            },
            Self::Unreachable | Self::Unknown => true,
        }
    }
}

impl Call {
    pub(crate) fn caller(&self) -> Caller {
        let author = match self.from {
            Actor::Client(n) => format!("client-{n}"),
            Actor::Worker(n) => format!("worker-{n}"),
            Actor::Locker(n) => format!("locker-{n}"),
            Actor::Sender(n) => format!("sender-{n}"),
            Actor::Recipient(n) => format!("recipient-{n}"),
            Actor::Janitor(n) => format!("janitor-{n}"),
        };
        Caller::new(name(&author), name(&format!("call-{}", self.id)))
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
            | Command::Filed { .. }
            | Command::Finish { .. }
            | Command::Yield { .. }
            | Command::Cancel { .. }
            | Command::Redrive { .. }
            | Command::Approve { .. }
            | Command::Lock(_)
            | Command::Message(_)
            | Command::Record { .. }
            | Command::Life(_)
            | Command::CreateNamespace { .. }
            | Command::Note { .. }
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
        Command::Filed { .. } => "filed",
        Command::Finish { .. } => "finish",
        Command::Yield { .. } => "yield",
        Command::Cancel { .. } => "cancel",
        Command::Redrive { .. } => "redrive",
        Command::Approve { .. } => "approve",
        Command::Deny { .. } => "deny",
        Command::Record { .. } => "record",
        Command::CreateNamespace { .. } => "create namespace",
        Command::Note { .. } => "note",
        Command::Life(LifeCommand::Purge { .. }) => "purge",
        Command::Life(LifeCommand::Sweep { .. }) => "sweep",
        Command::Life(LifeCommand::SweepKeys { .. }) => "sweep keys",
        Command::Life(LifeCommand::Checkpoint) => "checkpoint",
        Command::Life(LifeCommand::Compact) => "compact",
        Command::Lock(LockCommand::Acquire { .. }) => "acquire",
        Command::Lock(LockCommand::Renew { .. }) => "renew",
        Command::Lock(LockCommand::Release { .. }) => "release",
        Command::Message(MessageCommand::Send(_)) => "send",
        Command::Message(MessageCommand::Take { .. }) => "take",
        Command::Message(MessageCommand::Acknowledge { .. }) => "acknowledge",
        Command::Message(MessageCommand::Reply { .. }) => "reply",
        Command::Message(MessageCommand::Fail { .. }) => "fail",
        Command::Message(MessageCommand::Return { .. }) => "return",
        Command::Message(MessageCommand::Redrive { .. }) => "redrive message",
    }
}

/// What a command is about; a submit does not know yet.
pub(crate) fn scope_of(command: &Command) -> Option<Scope> {
    match command {
        Command::Submit(_) | Command::Heartbeat { .. } | Command::Filed { .. } => None,
        Command::Life(LifeCommand::Purge { scope }) => Some(*scope),
        Command::Life(_) => None,
        Command::Wait { task } | Command::Cancel { task, .. } | Command::Redrive { task, .. } => {
            Some(Scope::Task(*task))
        }
        Command::Claim { step, .. } | Command::Approve { step, .. } | Command::Deny { step, .. } => {
            Some(Scope::Task(step.task))
        }
        Command::Finish { hold, .. } | Command::Yield { hold, .. } | Command::Record { hold, .. } => {
            Some(Scope::Task(hold.step.task))
        }
        Command::Lock(command) => Some(Scope::Repository(repository_of(command))),
        Command::CreateNamespace { name, .. } => Some(Scope::Namespace(NamespaceId::of(name))),
        Command::Note { .. } => Some(Scope::Log),
        Command::Message(MessageCommand::Take { .. }) => None,
        Command::Message(MessageCommand::Send(letter)) => letter.thread.map(Scope::Thread),
        Command::Message(
            MessageCommand::Acknowledge { thread, .. }
            | MessageCommand::Reply { thread, .. }
            | MessageCommand::Fail { thread, .. }
            | MessageCommand::Return { thread, .. }
            | MessageCommand::Redrive { thread, .. },
        ) => Some(Scope::Thread(*thread)),
    }
}

/// The repository that a command about a lock names.
pub(crate) fn repository_of(command: &LockCommand) -> RepositoryId {
    let (LockCommand::Acquire { namespace, repository, .. }
    | LockCommand::Renew { namespace, repository, .. }
    | LockCommand::Release { namespace, repository, .. }) = command;
    RepositoryId::of(namespace, repository.as_str())
}

/// The call that an op was written for; `None` for the driver's own ops.
pub(crate) fn call_of(op: &Op) -> Option<CallId> {
    op.header.source.as_str().strip_prefix("call-")?.parse().ok()
}

pub(crate) fn name(text: &str) -> Name {
    text.parse().expect("a name")
}
