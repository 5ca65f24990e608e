//! A batch: everything that one commit makes durable, all of it or none.

use relaymesh_core::{
    hash::Hash,
    hlc::Hlc,
    id::{LeaseToken, MessageId, NodeId, StepId, TaskId, WorkerId},
    name::Name,
    op::Chain,
    row::{RowSum, StateHash},
    task::{Status, Task, spec::IdempotencyKey},
};

use crate::{Content, ContentKey, Error, Run, ScopePut, Spend, StepKey, traffic::Changes, traits::Queue};

/// Where a log stands.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Head {
    /// Arrival number of the newest op; 0 when there is none.
    pub pos: u64,
    /// This node's own chain.
    pub chain: Chain,
    /// Hash of all rows.
    pub state: StateHash,
}

impl Head {
    /// The head of an empty log.
    pub fn new(origin: NodeId, origin_epoch: u32) -> Self {
        Self { pos: 0, chain: Chain::new(origin, origin_epoch), state: StateHash::default() }
    }

    /// The newest time on the log.
    pub fn hlc(&self) -> Option<Hlc> {
        self.chain.hlc
    }
}

/// Everything that one commit makes durable.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Batch {
    /// Where the log stands after it.
    pub head: Head,
    /// New ops, in order, without gaps.
    pub ops: Vec<StoredOp>,
    /// Task rows, in the order in which they changed: of two that are the same row, the later counts.
    pub tasks: Vec<TaskPut>,
    /// Step rows, likewise.
    pub steps: Vec<StepPut>,
    /// Keys of tasks whose rows go, after all other changes.
    pub purged: Vec<u64>,
    /// What becomes of idempotency keys, in order.
    pub keys: Vec<KeyPut>,
    /// Rows of scopes other than tasks, likewise.
    pub scopes: Vec<ScopePut>,
    /// New content.
    pub content: Vec<ContentPut>,
    /// Ops that go. They are old: none of them is in this batch.
    pub runs: Vec<Run>,
    /// From now on ops up to here may go, and the rows of repositories and namespaces, as they are after this batch, are the snapshot.
    pub horizon: Option<u64>,
    /// Keys of tasks that ended up to here may be gone. An earlier time than the store knows changes nothing.
    pub swept_ms: Option<u64>,
    /// Journal: words that came too late.
    pub conflicts: Vec<LeaseConflict>,
    /// Journal: one row a worker and tick for all that it holds (R16).
    pub heartbeats: Vec<Heartbeat>,
    /// Journal: what was used.
    pub spends: Vec<Spend>,
    /// Journal: where files of messages lie.
    pub files: Vec<MessageFiles>,
    /// Journal: traffic with other nodes, that is inbound (nonces and marks) and the outbox (D15).
    pub traffic: Changes,
}

impl Batch {
    /// A batch that changes nothing.
    pub fn new(head: Head) -> Self {
        Self {
            head,
            ops: Vec::new(),
            tasks: Vec::new(),
            steps: Vec::new(),
            purged: Vec::new(),
            keys: Vec::new(),
            scopes: Vec::new(),
            content: Vec::new(),
            runs: Vec::new(),
            horizon: None,
            swept_ms: None,
            conflicts: Vec::new(),
            heartbeats: Vec::new(),
            spends: Vec::new(),
            files: Vec::new(),
            traffic: Changes::default(),
        }
    }

    /// Whether its ops go on from `head` and end at its own.
    pub fn continues(&self, head: &Head) -> Result<(), Error> {
        let mut end = head.pos;
        for op in &self.ops {
            if !op.continues(end) {
                return Err(Error::Conflict { detail: format!("op {} does not follow op {end}", op.pos) });
            }
            end = op.pos;
        }
        if self.head.pos == end {
            return Ok(());
        }
        let detail = format!("the new head is at {}, but the ops end at {end}", self.head.pos);
        Err(Error::Conflict { detail })
    }

    /// Whether a commit of it would change nothing.
    pub fn is_empty(&self) -> bool {
        self.ops.is_empty()
            && self.keys.is_empty()
            && self.runs.is_empty()
            && self.swept_ms.is_none()
            && self.conflicts.is_empty()
            && self.heartbeats.is_empty()
            && self.spends.is_empty()
            && self.files.is_empty()
            && self.traffic.is_empty()
    }
}

/// An op as it lies in the log.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct StoredOp {
    /// Arrival number.
    pub pos: u64,
    /// The bytes that were hashed.
    pub bytes: Vec<u8>,
    /// Hash over the op before it and the bytes.
    pub hash: Hash,
}

/// A task row: its bytes, and what is looked up beside them.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct TaskPut {
    /// The row's key.
    pub key: u64,
    /// Whether there is no such row yet.
    pub created: bool,
    /// The task.
    pub id: TaskId,
    /// The team or project it belongs to.
    pub namespace: Name,
    /// Where it rests.
    pub status: Status,
    /// One trace a task.
    pub trace_id: u128,
    /// When it was submitted.
    pub created_ms: u64,
    /// When it last changed; once it has ended, its key's time to live counts from here (D5), and so does retention.
    pub updated_ms: u64,
    /// Hash of the result, once there is one.
    pub result_hash: Option<Hash>,
    /// The row.
    pub bytes: Vec<u8>,
    /// The row's sum.
    pub sum: RowSum,
}

/// A step row: its bytes, and what is looked up beside them.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct StepPut {
    /// The row's key.
    pub key: StepKey,
    /// Whether there is no such row yet.
    pub created: bool,
    /// The step's agent.
    pub agent: Name,
    /// Where it rests.
    pub status: Status,
    /// Attempts since submit or redrive.
    pub attempt: u32,
    /// Claims in all its life: the fence of its newest lease.
    pub epoch: u32,
    /// Which queue it stands in, if any, and since or from when.
    pub queue: Option<(Queue, u64)>,
    /// Who holds it.
    pub lease: Option<(NodeId, LeaseToken)>,
    /// Arrival number of the op that carried the result; 0 for none.
    pub result_pos: u64,
    /// Arrival numbers of the ops that carried its artifacts, in order.
    pub artifact_pos: Vec<u64>,
    /// When it last changed.
    pub updated_ms: u64,
    /// The row.
    pub bytes: Vec<u8>,
    /// The row's sum.
    pub sum: RowSum,
}

/// What becomes of an idempotency key.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum KeyPut {
    /// It is new.
    Added(IdempotencyRow),
    /// It is this task's from now on, whoever had it: for a log in which it was used again after its time.
    Moved(IdempotencyRow),
    /// It goes, if it is still this task's.
    Removed(IdempotencyRow),
}

/// What a repeated submit finds.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct IdempotencyRow {
    /// Keys are unique within a namespace.
    pub namespace: Name,
    /// The key.
    pub key: IdempotencyKey,
    /// The key of the task's row.
    pub task_key: u64,
    /// The task.
    pub task: TaskId,
    /// Hash of the request that made it.
    pub fingerprint: Hash,
}

impl IdempotencyRow {
    /// It is a function of the task's row.
    pub fn of(task: &Task) -> Self {
        Self {
            namespace: task.namespace.clone(),
            key: task.idempotency_key.clone(),
            task_key: task.key,
            task: task.id,
            fingerprint: task.fingerprint,
        }
    }
}

/// New content.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct ContentPut {
    /// Where it lies.
    pub key: ContentKey,
    /// What the op names by hash. A blob is durable already.
    pub content: Content,
}

/// A word from a worker that did not hold the step any more (D7).
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct LeaseConflict {
    /// When.
    pub at_ms: u64,
    /// Which step.
    pub step: StepId,
    /// What was tried: `complete`, `fail`, `yield`.
    pub verb: &'static str,
    /// Where the step rested.
    pub found: Status,
    /// The fence in force.
    pub epoch: u32,
    /// The fence that was shown.
    pub given: u32,
}

/// A worker was heard of.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Heartbeat {
    /// Who.
    pub worker: WorkerId,
    /// When, by the wall clock: for people and for recovery only (R10).
    pub at_ms: u64,
}

/// Where the files of a message of the file bus lie, from the root on. For people who read the view `messages` (R17): no rule reads it,
/// so a store without that view may forget it.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct MessageFiles {
    /// Which message.
    pub message: MessageId,
    /// Its meta file.
    pub meta_path: String,
    /// Its payload.
    pub payload_path: String,
}
