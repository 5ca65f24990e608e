//! Why a caller of the driver gets no answer, and whether anything changed.

use relaymesh_core::{id::TaskId, name::Name, op::Scope, task::Refusal};

/// Why there is no such answer.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
pub enum Error {
    /// Rejected by the rules; nothing changed.
    #[error(transparent)]
    Refused(#[from] Refusal),
    /// Rejected by the rules about locks; nothing changed.
    #[error(transparent)]
    Lock(relaymesh_core::lock::Refusal),
    /// Rejected by the rules about messages; nothing changed.
    #[error(transparent)]
    Message(relaymesh_core::message::Refusal),
    /// Rejected by the rules about namespaces; nothing changed.
    #[error(transparent)]
    Namespace(relaymesh_core::namespace::Refusal),
    /// Rejected: what is put somewhere is put into a namespace that is there (R26). Nothing changed.
    #[error("there is no namespace `{name}`")]
    NoNamespace {
        /// What was named.
        name: Name,
        /// One that is there and is called almost the same.
        near: Option<Name>,
    },
    /// Rejected: there are as many namespaces as there may be. Nothing changed.
    #[error("there are already {count} namespaces, which is the maximum")]
    TooManyNamespaces {
        /// How many there are.
        count: usize,
    },
    /// Rejected: such a thing is never purged. Nothing changed.
    #[error("{scope} cannot be purged: {why}", scope = .0, why = kept(*.0))]
    NotPurged(Scope),
    /// Rejected: the key was used for another request (D5). Nothing changed.
    #[error("the key `{key}` belongs to {task}, which is a different request")]
    KeyReused {
        /// The key.
        key: String,
        /// The task that has it.
        task: TaskId,
    },
    /// Rejected: a result or a message is longer than it may be. Nothing changed.
    #[error("the content has {found} bytes; the maximum is {max}")]
    TooLong {
        /// Its length.
        found: usize,
        /// The longest there may be.
        max: usize,
    },
    /// Rejected: the result is not what its step asks for. Nothing changed; the holder of the step may bring another.
    #[error("{0}")]
    NotAsAsked(String),
    /// Rejected: there is no room on the disk. Nothing changed; reads go on.
    #[error("disk_full: nothing was written: {0}")]
    DiskFull(String),
    /// Rejected: too much waits already. Nothing changed; try again later.
    #[error("busy: {waiting} commands are already waiting")]
    Busy {
        /// How many.
        waiting: usize,
    },
    /// Unknown whether it is durable: ask again after a restart, with the same key (D2).
    #[error("indeterminate: {0}")]
    Indeterminate(String),
    /// The driver has stopped; nothing changed by this command.
    #[error("the node is stopping")]
    Stopped,
    /// Something that was stored could not be read. Nothing changed.
    #[error(transparent)]
    Store(relaymesh_store::Error),
}

/// Why a scope is kept for ever.
fn kept(scope: Scope) -> &'static str {
    match scope {
        Scope::Repository(_) => "its fences must keep growing",
        Scope::Namespace(_) => "its tasks, threads and locks carry its name",
        Scope::Plan(_) => "this node has no commands for plans",
        Scope::Register(_) => "the mesh needs it",
        Scope::Log => "compact it instead",
        Scope::Task(_) | Scope::Thread(_) => "it has not ended",
    }
}
