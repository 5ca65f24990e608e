//! A task as it is shown: what the command line prints with `--json`, what the HTTP API answers, and what a command that asks a daemon
//! elsewhere reads again. The words for people are made from the same values, so it does not matter where they came from.

use relaymesh_agents::Ran;
use relaymesh_core::{
    hash::Hash,
    id::{TaskId, WorkerId},
    lanes::Priority,
    name::Name,
    op::{CancelMode, WriteClass},
    task::{Attempt, Status},
};
use serde::{Deserialize, Serialize};
use serde_json::Value;
use std::collections::BTreeSet;
use utoipa::ToSchema;

/// A task with its steps.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize, ToSchema)]
#[schema(as = Task)]
pub struct Shown {
    /// Id of the task.
    #[schema(value_type = String)]
    pub task: TaskId,
    /// Name.
    #[schema(value_type = String)]
    pub name: Name,
    /// Namespace.
    #[schema(value_type = String)]
    pub namespace: Name,
    /// Status.
    #[schema(value_type = String)]
    pub status: Status,
    /// Time of the submit, in milliseconds since 1970.
    pub created_ms: u64,
    /// Time of the last change, in milliseconds since 1970.
    pub updated_ms: u64,
    /// Idempotency key.
    pub idempotency_key: String,
    /// SHA-256 of the canonical request.
    #[schema(value_type = String)]
    pub fingerprint: Hash,
    /// Trace id of the task.
    pub trace_id: String,
    /// Mode of the cancellation, if it was cancelled.
    #[schema(value_type = Option<String>)]
    pub cancel: Option<CancelMode>,
    /// Step that failed for good.
    pub failed_step: Option<String>,
    /// Hash of the result.
    #[schema(value_type = Option<String>)]
    pub result_hash: Option<Hash>,
    /// Result; `null` until the task has succeeded.
    pub result: Value,
    /// Steps, in the order of the flow.
    pub steps: Vec<ShownStep>,
}

/// A step.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize, ToSchema)]
#[schema(as = Step)]
pub struct ShownStep {
    /// Name.
    #[schema(value_type = String)]
    pub step: Name,
    /// Index of the step.
    pub index: u16,
    /// Agent.
    #[schema(value_type = String)]
    pub agent: Name,
    /// Status.
    #[schema(value_type = String)]
    pub status: Status,
    /// Priority.
    #[schema(value_type = String)]
    pub priority: Priority,
    /// Number of attempts since the submit or the last retry of the task.
    pub attempt: u32,
    /// Maximum number of attempts.
    pub max_attempts: u32,
    /// Epoch: number of claims so far.
    pub epoch: u32,
    /// Steps that must succeed first.
    pub depends_on: Vec<String>,
    /// Step that this one compensates.
    pub compensates: Option<String>,
    /// Time of the next attempt, or deadline of the approval, in milliseconds since 1970.
    pub due_ms: Option<u64>,
    /// Duration of the running or the last attempt, in milliseconds.
    pub took_ms: Option<u64>,
    /// Question that must be approved.
    pub asks: Option<String>,
    /// Author of the decision.
    #[schema(value_type = Option<String>)]
    pub decided_by: Option<Name>,
    /// Condition under which it runs.
    pub when: Option<String>,
    /// List; the step runs once for each item.
    pub foreach: Option<String>,
    /// Number of items, once known.
    pub items: Option<u16>,
    /// Step with the list to which this item belongs.
    pub item_of: Option<String>,
    /// Last process, if any.
    #[schema(value_type = Option<super::schema::Process>)]
    pub ran: Option<Ran>,
    /// Result.
    pub result: Value,
    /// Last error.
    pub error: Option<String>,
    /// Time of the last change, in milliseconds since 1970.
    pub updated_ms: u64,
    /// Last attempts, oldest first, if requested.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    #[schema(value_type = Option<Vec<super::schema::Attempt>>)]
    pub history: Option<Vec<Attempt>>,
}

impl ShownStep {
    /// What it delivered, if it delivered something; that may be nothing.
    pub fn delivered(&self) -> Option<&Value> {
        (self.status == Status::Success || !self.result.is_null()).then_some(&self.result)
    }
}

impl Shown {
    /// What the task delivered, once it has succeeded.
    pub fn delivered(&self) -> Option<&Value> {
        (self.status == Status::Success).then_some(&self.result)
    }

    /// Step that failed for good.
    pub fn failing(&self) -> Option<&ShownStep> {
        let failed = self.failed_step.as_deref()?;
        self.steps.iter().find(|step| step.step.as_str() == failed)
    }

    /// The steps that ask for a decision.
    pub fn waiting(&self) -> impl Iterator<Item = &ShownStep> {
        self.steps.iter().filter(|step| step.status == Status::Waiting)
    }

    /// Whether the task cannot go on before a person decides: a step waits for approval, no approval has run out, and no other step
    /// runs, is about to be retried, or is ready to run.
    ///
    /// Readiness is not shown, and need not be: while a step waits for approval, a pending step is ready exactly when all steps that it
    /// depends on are done (the kernel's `validate` checks that after every op). A compensation never is: compensations run one at a
    /// time, after everything that waited was skipped.
    pub fn is_blocked(&self, now_ms: u64) -> bool {
        if self.waiting().next().is_none() {
            return false;
        }
        let is_done = |step: &&ShownStep| matches!(step.status, Status::Success | Status::Skipped);
        let done: BTreeSet<&str> = self.steps.iter().filter(is_done).map(|step| step.step.as_str()).collect();
        let moves = |step: &ShownStep| match step.status {
            Status::Running | Status::Retrying => true,
            Status::Pending => {
                step.compensates.is_none() && step.depends_on.iter().all(|name| done.contains(name.as_str()))
            }
            Status::Waiting => step.due_ms.is_some_and(|due_ms| due_ms <= now_ms),
            Status::Success | Status::Failed | Status::DeadLetter | Status::Cancelled | Status::Skipped => false,
        };
        !self.steps.iter().any(moves)
    }
}

/// Summary of a task.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, ToSchema)]
#[schema(as = TaskSummary)]
pub struct Summary {
    /// Id of the task.
    #[schema(value_type = String)]
    pub task: TaskId,
    /// Position in the list of all tasks; usable as a cursor.
    pub key: u64,
    /// Name.
    #[schema(value_type = String)]
    pub name: Name,
    /// Namespace.
    #[schema(value_type = String)]
    pub namespace: Name,
    /// Status.
    #[schema(value_type = String)]
    pub status: Status,
    /// Time of the submit, in milliseconds since 1970.
    pub created_ms: u64,
    /// Time of the last change, in milliseconds since 1970.
    pub updated_ms: u64,
    /// Number of steps that have succeeded or were skipped.
    pub steps_done: usize,
    /// Number of steps.
    pub steps: usize,
}

/// A page of tasks, newest first.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, ToSchema)]
#[schema(as = TaskPage)]
pub struct Page {
    /// The tasks.
    pub tasks: Vec<Summary>,
    /// Cursor of the next page, if there may be more.
    pub next: Option<u64>,
}

/// Answer to an accepted submit.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, ToSchema)]
#[schema(as = AcceptedTask)]
pub struct Accepted {
    /// Id of the task.
    #[schema(value_type = String)]
    pub task: TaskId,
    /// Status.
    #[schema(value_type = String)]
    pub status: Status,
    /// Whether an equal request had already created the task.
    pub merged: bool,
    /// Class of the write.
    #[schema(value_type = String)]
    pub class: WriteClass,
}

/// Answer to a change of a task.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, ToSchema)]
#[schema(as = ChangedTask)]
pub struct Changed {
    /// Id of the task.
    #[schema(value_type = String)]
    pub task: TaskId,
    /// Status after the change.
    #[schema(value_type = String)]
    pub status: Status,
}

/// Answer to a submit: acceptance, or the task itself with `wait_ms`.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize, ToSchema)]
#[schema(as = SubmissionAnswer)]
#[serde(untagged)]
pub enum Submission {
    /// Accepted.
    Accepted(Accepted),
    /// The task in its current state.
    Waited(Box<Ended>),
}

/// Answer to a wait.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize, ToSchema)]
#[schema(as = WaitedTask)]
pub struct Ended {
    /// Id of the task.
    #[serde(flatten)]
    pub task: Shown,
    /// Whether it has ended.
    pub ended: bool,
}

/// Answer to a purge.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, ToSchema)]
#[schema(as = PurgedTask)]
pub struct Purged {
    /// Id of the task.
    #[schema(value_type = String)]
    pub task: TaskId,
    /// Number of purged tasks.
    pub purged: u64,
}

/// A part of the output of an attempt.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, ToSchema)]
pub struct LogPart {
    /// Name of the step.
    #[schema(value_type = String)]
    pub step: Name,
    /// Epoch of the attempt.
    pub epoch: u32,
    /// `stderr` or `stdout`.
    pub stream: String,
    /// Offset of this part.
    pub offset: u64,
    /// Offset of the next part.
    pub next: u64,
    /// The text; invalid UTF-8 is replaced.
    pub text: String,
    /// Whether this is the end of the output.
    pub end: bool,
}

/// The attempts of a step.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, ToSchema)]
#[schema(as = AttemptList)]
pub struct Attempts {
    /// Ended attempts, oldest first.
    #[schema(value_type = Vec<super::schema::Attempt>)]
    pub attempts: Vec<Attempt>,
    /// The running attempt.
    pub running: Option<RunningAttempt>,
}

/// A running attempt.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, ToSchema)]
pub struct RunningAttempt {
    /// Epoch of the attempt, its fence.
    pub epoch: u32,
    /// Id of the worker.
    #[schema(value_type = String)]
    pub worker: WorkerId,
    /// Time of the claim, in milliseconds since 1970.
    pub claimed_ms: u64,
}

#[cfg(test)]
mod tests {
    use super::*;
    use serde_json::json;

    const DEADLINE_MS: u64 = 9_000;

    /// A step: its name, its status, what it depends on.
    type Row<'a> = (&'a str, Status, &'a [&'a str]);

    fn step((name, status, on): &Row<'_>) -> Value {
        let (compensates, due_ms) = (name.strip_prefix("undo-"), (*status == Status::Waiting).then_some(DEADLINE_MS));
        json!({
            "step": name, "index": 0, "agent": "echo", "status": status, "priority": "normal", "attempt": 0,
            "max_attempts": 1, "epoch": 0, "depends_on": on, "compensates": compensates, "due_ms": due_ms,
            "result": null, "updated_ms": 0,
        })
    }

    fn task(steps: &[Row<'_>]) -> Shown {
        let id = TaskId::from_bytes([7; 16]);
        let value = json!({
            "task": id, "name": "release", "namespace": "default", "status": Status::Running, "created_ms": 0,
            "updated_ms": 0, "idempotency_key": "k", "fingerprint": Hash::sha256(b""), "trace_id": "", "result": null,
            "steps": steps.iter().map(step).collect::<Vec<_>>(),
        });
        serde_json::from_value(value).unwrap()
    }

    #[test]
    fn a_task_is_blocked_only_when_nothing_but_a_person_can_move_it() {
        use Status::{Failed, Pending, Retrying, Running, Skipped, Success, Waiting};
        let ask: Row<'_> = ("ask", Waiting, &[]);
        let table: [(&[Row<'_>], bool); 12] = [
            (&[("a", Running, &[])], false),
            (&[ask], true),
            (&[ask, ("a", Success, &[])], true),
            (&[ask, ("a", Running, &[])], false),
            (&[ask, ("a", Retrying, &[])], false),
            (&[ask, ("a", Pending, &[])], false),
            (&[ask, ("a", Success, &[]), ("b", Pending, &["a"])], false),
            (&[ask, ("a", Skipped, &[]), ("c", Success, &[]), ("b", Pending, &["a", "c"])], false),
            (&[ask, ("a", Pending, &["ask"])], true),
            (&[ask, ("a", Success, &[]), ("b", Pending, &["a", "ask"]), ("c", Pending, &["b"])], true),
            (&[ask, ("a", Success, &[]), ("undo-a", Pending, &[])], true),
            (&[("a", Failed, &[]), ("b", Success, &[]), ("undo-b", Waiting, &[])], true),
        ];
        for (steps, expected) in table {
            assert_eq!(task(steps).is_blocked(DEADLINE_MS - 1), expected, "{steps:?}");
            assert!(!task(steps).is_blocked(DEADLINE_MS), "it is denied by itself: {steps:?}");
        }
    }
}
