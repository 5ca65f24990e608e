//! What a store promises. One writer, any number of readers.

use crate::{
    Batch, Blobs, Content, ContentKey, Day, Error, Head, IdempotencyRow, LeaseConflict, Life, Spend, StepKey, StoredOp,
    traffic::Kept,
};
use relaymesh_core::{
    hash::Hash,
    id::{MessageId, NodeId, RequestId, TaskId, ThreadId, WorkerId},
    kernel::Rows,
    lanes::Priority,
    message::State,
    name::Name,
    op::Scope,
    task::{Status, Step, Task, TaskRows, spec::IdempotencyKey},
};

/// The writer. There is one per store.
pub trait Store: Send + 'static {
    /// What reads it.
    type Reader: Reader;
    /// What takes its blobs.
    type Blobs: Blobs;

    /// A new reader. It sees every batch whose commit has returned.
    fn reader(&self) -> Result<Self::Reader, Error>;

    /// Where blobs go before an op names them. May be used from any thread.
    fn blobs(&self) -> Self::Blobs;

    /// Makes the batch durable: all of it or, on any error but `Poisoned`, none of it.
    ///
    /// *Durable* when it returns `Ok`: a power cut right after loses nothing. *Readable* by every reader from then on.
    /// *Ordered*: ops must follow the head without a gap, and `created` rows must be new, the others there already;
    /// otherwise `Conflict`. *Idempotent*: no; a batch committed twice is a `Conflict`.
    ///
    /// `Full`: nothing changed, and the next commit may succeed. `Poisoned`: it is unknown whether the batch is durable;
    /// every later commit is `Poisoned` too, and only a new start settles it.
    fn commit(&mut self, batch: &Batch) -> Result<(), Error>;

    /// Gives space that is free inside the store back to the file system. May take as long as writing all of it anew;
    /// readers go on meanwhile. A store that keeps no files has nothing to give back.
    ///
    /// `Full`: there is too little room to do it in, and nothing changed. `Poisoned`: as for a commit.
    fn shrink(&mut self) -> Result<(), Error> {
        Ok(())
    }
}

/// A reader of what has been committed. Every answer is of one moment; two answers may be of two.
pub trait Reader: Send + 'static {
    /// Where the log stands.
    fn head(&mut self) -> Result<Head, Error>;

    /// The rows of a task, each checked against its sum.
    fn task(&mut self, id: TaskId) -> Result<Option<TaskRows>, Error>;

    /// The rows of the task with this key.
    fn task_at(&mut self, key: u64) -> Result<Option<TaskRows>, Error>;

    /// The rows of all tasks, by key, those after the given one. For whoever reads everything: much cheaper than one by one.
    fn tasks_by_key(&mut self, after: Option<u64>, limit: usize) -> Result<Vec<TaskRows>, Error>;

    /// The rows of a scope other than a task, each checked against its sum.
    fn scope(&mut self, scope: Scope) -> Result<Option<Rows>, Error>;

    /// Every such scope that has rows, in order, those after the given one.
    fn scopes(&mut self, after: Option<Scope>, limit: usize) -> Result<Vec<Scope>, Error>;

    /// Rows of such scopes that are due at `now_ms`, longest due first, by scope: one that has several is there as often.
    fn due_scopes(&mut self, now_ms: u64, limit: usize) -> Result<Vec<(u64, Scope)>, Error>;

    /// Messages that wait for `agent` in a lane and may be delivered at `now_ms`, longest waiting first.
    fn inbox(
        &mut self,
        namespace: &Name,
        agent: &Name,
        priority: Priority,
        now_ms: u64,
        limit: usize,
    ) -> Result<Vec<(ThreadId, MessageId)>, Error>;

    /// Task rows without their steps, newest first, from below `before` on.
    fn tasks(&mut self, filter: &TaskFilter, before: Option<u64>, limit: usize) -> Result<Vec<Task>, Error>;

    /// What a submit with this key would repeat.
    fn idempotency(&mut self, namespace: &Name, key: &IdempotencyKey) -> Result<Option<IdempotencyRow>, Error>;

    /// The greatest request id that any key is, in any namespace. Request ids are ordered by time, so a submit with a
    /// greater one repeats nothing and need not be looked up.
    fn newest_request(&mut self) -> Result<Option<RequestId>, Error>;

    /// What lies at `key`. Whoever asks checks it against the reference that led there.
    fn content(&mut self, key: ContentKey) -> Result<Option<Content>, Error>;

    /// All content that the ops from `first` to `last` carried, by key.
    fn contents(&mut self, first: u64, last: u64) -> Result<Vec<(ContentKey, Content)>, Error>;

    /// The bytes of a blob, to be checked likewise.
    fn blob(&mut self, hash: &Hash) -> Result<Option<Vec<u8>>, Error>;

    /// The bytes at `key`, wherever they lie, to be checked likewise. A blob that is named and not there is damage.
    fn bytes(&mut self, key: ContentKey) -> Result<Option<Vec<u8>>, Error> {
        match self.content(key)? {
            None => Ok(None),
            Some(Content::Inline(bytes)) => Ok(Some(bytes)),
            Some(Content::Blob(blob)) => match self.blob(&blob.hash)? {
                Some(bytes) => Ok(Some(bytes)),
                None => Err(Error::Damaged {
                    detail: format!("the blob {} is missing: restore the folder `blobs` from a backup", blob.hash),
                }),
            },
        }
    }

    /// Ops after `pos`, in order. Below the horizon there may be gaps, each of which ends with a stub.
    fn ops(&mut self, after: u64, limit: usize) -> Result<Vec<StoredOp>, Error>;

    /// Steps that stand in `queue` and are due at `now_ms`, longest due first, then by key; those after the given one.
    fn due(
        &mut self,
        queue: Queue,
        now_ms: u64,
        after: Option<(u64, StepKey)>,
        limit: usize,
    ) -> Result<Vec<(u64, StepKey)>, Error>;

    /// Those of a namespace among the next `limit` steps that [`Reader::due`] would give, and the last step that was looked at unless
    /// that was the end.
    fn due_in(
        &mut self,
        namespace: &Name,
        queue: Queue,
        now_ms: u64,
        after: Option<Due>,
        limit: usize,
    ) -> Result<(Vec<Due>, Option<Due>), Error>;

    /// Tasks that ended up to `until_ms`, longest ended first, then by key; those after the given one.
    fn ended(&mut self, until_ms: u64, after: Option<(u64, u64)>, limit: usize) -> Result<Vec<(u64, u64)>, Error>;

    /// Threads in which nothing has waited since `until_ms` or earlier, longest at rest first.
    fn rested(&mut self, until_ms: u64, limit: usize) -> Result<Vec<(u64, ThreadId)>, Error>;

    /// How far the store has let go of what is over.
    fn life(&mut self) -> Result<Life, Error>;

    /// Whether there are rows of this scope. The log itself is always there.
    fn is_live(&mut self, scope: Scope) -> Result<bool, Error>;

    /// The repositories and namespaces as they were at the horizon, in order, those after the given one.
    fn snapshot(&mut self, after: Option<Scope>, limit: usize) -> Result<Vec<(Scope, Rows)>, Error>;

    /// When the first step or row of a scope that is not due at `now_ms` falls due, in any queue.
    fn next_due(&mut self, now_ms: u64) -> Result<Option<u64>, Error>;

    /// Steps that `owner` holds, by key, those after the given one. Found by index, not by a scan (R15).
    fn leased(&mut self, owner: NodeId, after: Option<StepKey>, limit: usize) -> Result<Vec<StepKey>, Error>;

    /// Steps that wait for an approval, by key, those after the given one. Found by index.
    fn waiting(&mut self, after: Option<StepKey>, limit: usize) -> Result<Vec<StepKey>, Error>;

    /// Threads with a message in this state, in order, those after the given one. Found by index.
    fn threads(&mut self, state: State, after: Option<ThreadId>, limit: usize) -> Result<Vec<ThreadId>, Error>;

    /// The newest words that came too late, newest first.
    fn conflicts(&mut self, limit: usize) -> Result<Vec<LeaseConflict>, Error>;

    /// When a worker was last heard of.
    fn heartbeat(&mut self, worker: WorkerId) -> Result<Option<u64>, Error>;

    /// What was used on this day and after, in the order of day, namespace, agent and task.
    fn spends(&mut self, since: Day) -> Result<Vec<Spend>, Error>;

    /// What was used for this task, in the order of day, namespace and agent.
    fn spends_for(&mut self, task: TaskId) -> Result<Vec<Spend>, Error>;

    /// All that is kept of the traffic with other nodes: read once, at the start. What waits in the outbox is checked against its sum.
    fn traffic(&mut self) -> Result<Kept, Error>;

    /// How many tasks and steps there are: for checks, not for hot paths.
    fn counts(&mut self) -> Result<(u64, u64), Error>;
}

/// When a step is due in a queue, and which it is.
pub type Due = (u64, StepKey);

/// Where a step waits for something to happen.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
pub enum Queue {
    /// For a worker, in a lane. Due at 0 when it is ready, later when it is a retry.
    Ready(Priority),
    /// For an approval that runs out.
    Approval,
}

impl Queue {
    /// Every queue.
    pub const ALL: [Queue; 4] =
        [Self::Ready(Priority::High), Self::Ready(Priority::Normal), Self::Ready(Priority::Low), Self::Approval];

    /// The queue that a step stands in, and when it is due there.
    pub fn of(step: &Step) -> Option<(Self, u64)> {
        match step.status {
            Status::Pending | Status::Retrying if step.ready => Some((Self::Ready(step.spec.priority), step.due_ms)),
            Status::Waiting if step.due_ms > 0 => Some((Self::Approval, step.due_ms)),
            Status::Pending
            | Status::Retrying
            | Status::Waiting
            | Status::Running
            | Status::Success
            | Status::Failed
            | Status::DeadLetter
            | Status::Cancelled
            | Status::Skipped => None,
        }
    }

    /// Its number in a table.
    pub fn number(self) -> u8 {
        match self {
            Self::Ready(Priority::High) => 0,
            Self::Ready(Priority::Normal) => 1,
            Self::Ready(Priority::Low) => 2,
            Self::Approval => 3,
        }
    }
}

/// Which tasks a list shows.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct TaskFilter {
    /// Only of this namespace.
    pub namespace: Option<Name>,
    /// Only with this status.
    pub status: Option<Status>,
}
