//! Tasks: submit them, change them, look at them.

use crate::error::Error;
use relaymesh_agents::Agents;
use relaymesh_api::view::{Accepted, Changed, Reference, Results, Shown, Summary, asked};
use relaymesh_core::{
    hash::Hash,
    id::TaskId,
    name::Name,
    op::CancelMode,
    task::{
        Status,
        request::{Prepared, Request},
        spec::IdempotencyKey,
    },
};

/// Where JSON goes that comes in parts.
pub(crate) type Out<'a> = dyn FnMut(&[u8]) -> Result<(), Error> + 'a;

/// Tasks and what they ask.
pub(crate) trait Tasks {
    /// The agents of the root. `None`: only its daemon knows them.
    fn known(&self) -> Result<Option<&Agents>, Error>;

    /// Submits a task. It is durable when this returns.
    fn submit(&self, submission: &Submission) -> Result<Accepted, Error>;

    /// Changes a task. It is durable when this returns.
    fn change(&self, task: TaskId, change: &Change) -> Result<Changed, Error>;

    /// The id of the task with this id, or with the only id that begins or ends like this.
    fn find(&self, text: &str) -> Result<TaskId, Error>;

    /// A task with everything that is known of it, with the attempts of each step if `history`. Long results are only named.
    fn task(&self, task: TaskId, history: bool) -> Result<Shown, Error>;

    /// The same as JSON in parts, with these results.
    fn task_json(&self, task: TaskId, history: bool, results: Results, out: &mut Out<'_>) -> Result<(), Error>;

    /// The bytes that an answer about a task names.
    fn content(&self, task: TaskId, named: &Reference) -> Result<Vec<u8>, Error>;

    /// What a step asks. It must wait for a decision.
    fn asked(&self, task: TaskId, step: &str) -> Result<asked::Shown, Error>;

    /// Tasks of the namespace, newest first; and the last of them if there may be more.
    fn tasks(&self, wanted: &Listed<'_>) -> Result<(Vec<Summary>, Option<TaskId>), Error>;

    /// Everything that is known of a task, as one document in parts.
    fn export(&self, task: TaskId, out: &mut Out<'_>) -> Result<(), Error>;

    /// Every task of the namespace in the same way, each on a line, in the order of their submit.
    fn export_all(&self, out: &mut Out<'_>) -> Result<(), Error>;

    /// The place of the step with this name or place.
    fn step(&self, task: TaskId, text: &str) -> Result<u16, Error>;

    /// What an attempt wrote from a byte on, and up to which, if it wrote anything.
    fn written(
        &self,
        task: TaskId,
        attempt: (&Name, u32),
        stream: Stream,
        from: u64,
    ) -> Result<Option<(u64, Vec<u8>)>, Error>;

    /// Every step of the namespace that asks for a decision, the most urgent first.
    fn approvals(&self) -> Result<Vec<asked::Shown>, Error>;
}

/// A task to be submitted, checked as far as it can be before it is on the log.
pub(crate) struct Submission {
    /// The team or project it belongs to.
    pub(crate) namespace: Name,
    /// What is asked for.
    pub(crate) request: Request,
    /// The same as it stands on the log, but for what agents and settings say about retries.
    pub(crate) prepared: Prepared,
    /// What makes a second submit the same one; without it, that it is equal.
    pub(crate) key: Option<IdempotencyKey>,
}

/// Which tasks to list.
pub(crate) struct Listed<'a> {
    /// Only with this status.
    pub(crate) status: Option<Status>,
    /// At most this many.
    pub(crate) limit: usize,
    /// Only those older than this task.
    pub(crate) before: Option<&'a str>,
}

/// Where a process writes.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Stream {
    Stdout,
    Stderr,
}

impl Stream {
    pub(crate) fn as_str(self) -> &'static str {
        match self {
            Self::Stdout => "stdout",
            Self::Stderr => "stderr",
        }
    }
}

/// A change of a task.
pub(crate) enum Change {
    /// Stop it.
    Cancel { mode: CancelMode, reason: String },
    /// Try it again.
    Redrive { reason: String },
    /// Decide about exactly this ask of a step. It is denied with the reason, if there is one.
    Decide { step: Name, ask: Hash, denied: Option<String> },
}
