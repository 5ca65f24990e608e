//! The rows: what a task and its steps are now, as folded from the log.
//!
//! Fields marked `serde(skip)` are of this node only (where things lie in the local log and content table); they are
//! not part of the rows' bytes, so nodes that hold the same ops hold the same bytes (L12).

use super::{
    artifact::Artifact,
    spec::{IdempotencyKey, StepSpec},
    table::{Status, Verb, targets},
};
use crate::{
    content::ContentRef,
    hash::Hash,
    hlc::Hlc,
    id::{LeaseToken, NodeId, StepId, TaskId, WorkerId},
    name::Name,
    op::CancelMode,
};
use serde::{Deserialize, Serialize};
use std::fmt;

/// How many attempts a step remembers.
pub const HISTORY_MAX: usize = 16;

/// A task with its steps: all rows of one scope.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct TaskRows {
    /// The task.
    pub task: Task,
    /// Its steps, in the order of the graph's list.
    pub steps: Vec<Step>,
}

/// The row of a task.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct Task {
    /// The submitting op's arrival number; the integer key of the row.
    #[serde(skip)]
    pub key: u64,
    /// Grows by one with every op that changed this row.
    pub rev: u32,
    /// The task's id.
    pub id: TaskId,
    /// The team or project it belongs to.
    pub namespace: Name,
    /// What people call it.
    pub name: Name,
    /// Where it rests.
    pub status: Status,
    /// What makes a second submit the same one.
    pub idempotency_key: IdempotencyKey,
    /// SHA-256 of the canonical request.
    pub fingerprint: Hash,
    /// One trace a task.
    #[serde(with = "crate::hex128")]
    pub trace_id: u128,
    /// When it was submitted.
    pub created_ms: u64,
    /// When it last changed.
    pub updated_ms: u64,
    /// The newest op that took effect on it; claims cite it (D19).
    pub head: Hlc,
    /// How many steps have succeeded; gives them an order to compensate in.
    pub successes: u32,
    /// The step that failed for good, if one did, and how the task will end because of it.
    pub failing: Option<Failing>,
    /// Set once somebody cancelled it.
    pub cancel: Option<CancelMode>,
    /// What it was given.
    pub input: Option<ContentRef>,
    /// Hash of the result: of the last step's content, or of the hashes of all last steps'.
    pub result_hash: Option<Hash>,
}

/// Why a task is going to end badly.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
pub struct Failing {
    /// The step that failed for good.
    pub step: u16,
    /// How the task ends: FAILED or DEAD_LETTER.
    pub status: Status,
}

/// The row of a step.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct Step {
    /// Arrival number of the op that carried the result; where its content lies.
    #[serde(skip)]
    pub result_pos: u64,
    /// Grows by one with every op that changed this row.
    pub rev: u32,
    /// What was asked for.
    pub spec: StepSpec,
    /// Where it rests.
    pub status: Status,
    /// Whether nothing stands before it any more.
    pub ready: bool,
    /// Whether its condition was found to hold.
    pub passed: bool,
    /// How many items it runs for, once that is known.
    pub fan: Option<u16>,
    /// Attempts since submit or redrive.
    pub attempt: u32,
    /// Claims in all its life. The fence: only grows.
    pub epoch: u32,
    /// When it may be tried again, or when its approval runs out; 0 for neither.
    pub due_ms: u64,
    /// Who holds it.
    pub lease: Option<Lease>,
    /// What it delivered.
    pub result: Option<ContentRef>,
    /// What it left behind besides.
    pub output_artifacts: Vec<Artifact>,
    /// Its place among the task's successes, from 1; 0 for none.
    pub success: u32,
    /// Why it last failed, for people.
    pub error: Option<String>,
    /// Who decided about its approval.
    pub decided_by: Option<Name>,
    /// The last attempts, oldest first.
    pub history: Vec<Attempt>,
    /// When it last changed.
    pub updated_ms: u64,
}

/// A worker's hold on a step.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct Lease {
    /// The node that answers for the worker.
    pub owner: NodeId,
    /// Who works on it.
    pub worker: WorkerId,
    /// What the worker shows to prove it.
    pub token: LeaseToken,
    /// When it was claimed.
    pub claimed_ms: u64,
    /// After this HLC time any node may expire it.
    pub deadline_ms: u64,
}

/// One attempt that has ended.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct Attempt {
    /// Its fence.
    pub epoch: u32,
    /// Who made it.
    pub worker: WorkerId,
    /// When it was claimed.
    pub started_ms: u64,
    /// When it ended.
    pub ended_ms: u64,
    /// How.
    pub outcome: Outcome,
    /// Why, for people; nothing after a success.
    pub error: Option<String>,
}

/// How an attempt ended.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "SCREAMING_SNAKE_CASE")]
pub enum Outcome {
    /// With a result.
    Success,
    /// With an error.
    Failed,
    /// It took too long.
    Timeout,
    /// Its lease ended and nobody had heard of it.
    Abandoned,
    /// The worker gave it back.
    Yielded,
    /// The task was cancelled.
    Cancelled,
}

impl fmt::Display for Outcome {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.pad(match self {
            Self::Success => "SUCCESS",
            Self::Failed => "FAILED",
            Self::Timeout => "TIMEOUT",
            Self::Abandoned => "ABANDONED",
            Self::Yielded => "YIELDED",
            Self::Cancelled => "CANCELLED",
        })
    }
}

impl TaskRows {
    /// The id of the step at `index`.
    pub fn step_id(&self, index: u16) -> StepId {
        StepId { task: self.task.id, index }
    }

    /// The steps that run for the items of the step at `of`, in the order of the items.
    pub fn items(&self, of: u16) -> impl Iterator<Item = (u16, &Step)> {
        let count = self.steps.get(usize::from(of)).and_then(|step| step.fan).unwrap_or(0);
        let is_one = move |step: &Step| step.spec.item().is_some_and(|item| item.of == of && item.index < count);
        self.indexed().filter(move |(_, step)| is_one(step))
    }

    /// Where the input of the step at `index` lies: that of an item is the input of the step with the list.
    pub fn input_place(&self, index: u16) -> u16 {
        self.steps.get(usize::from(index)).and_then(|step| step.spec.item()).map_or(index, |item| item.of)
    }

    /// Whether the step at `index` is one of the last: its result is the task's, or a part of it.
    pub fn is_last(&self, index: u16) -> bool {
        let step = &self.steps[usize::from(index)];
        let apart = step.is_compensation() || step.spec.item().is_some();
        !apart && !self.steps.iter().any(|other| other.spec.depends_on.contains(&index))
    }

    /// The steps with their places.
    pub fn indexed(&self) -> impl Iterator<Item = (u16, &Step)> {
        (0u16..).zip(&self.steps)
    }
}

impl Step {
    /// Whether a worker may take it at `now_ms`.
    pub fn is_claimable(&self, now_ms: u64) -> bool {
        self.ready && (self.status == Status::Pending || (self.status == Status::Retrying && self.due_ms <= now_ms))
    }

    /// Whether the node that holds it has something to work out instead of running its agent: whether its condition holds, for
    /// which items it runs, or, when those are done, what they came to.
    pub fn is_inward(&self) -> bool {
        self.is_weighed() || self.spec.foreach().is_some()
    }

    /// Whether its condition is to be looked at next.
    pub fn is_weighed(&self) -> bool {
        self.spec.when().is_some() && !self.passed && self.fan.is_none()
    }

    /// Whether it undoes another step's work.
    pub fn is_compensation(&self) -> bool {
        self.spec.compensates.is_some()
    }

    /// Moves the step along the transition table. Verbs have checked that they may before they change anything.
    pub(super) fn go(&mut self, verb: Verb, to: Status, now_ms: u64) {
        assert!(targets(self.status, verb).contains(&to), "{verb:?} cannot take a step from {} to {to}", self.status);
        self.status = to;
        self.rev += 1;
        self.updated_ms = now_ms;
    }

    /// Ends a hold that was no attempt: the node only worked something out.
    pub(super) fn end_hold(&mut self) {
        self.lease = None;
        self.attempt -= 1;
    }

    /// Ends the running attempt: the lease goes, the history grows.
    pub(super) fn end_attempt(&mut self, outcome: Outcome, error: Option<String>, now_ms: u64) {
        let Some(lease) = self.lease.take() else { return };
        if self.history.len() == HISTORY_MAX {
            self.history.remove(0);
        }
        self.history.push(Attempt {
            epoch: self.epoch,
            worker: lease.worker,
            started_ms: lease.claimed_ms,
            ended_ms: now_ms,
            outcome,
            error,
        });
    }
}
