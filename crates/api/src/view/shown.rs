//! A task as it is shown: what the command line prints with `--json`, what the HTTP API answers, and what a command that asks a daemon
//! elsewhere reads again. The words for people are made from the same values, so it does not matter where they came from.

use super::Reference;
use relaymesh_agents::Ran;
use relaymesh_core::{
    hash::Hash,
    id::{TaskId, WorkerId},
    lanes::Priority,
    name::Name,
    op::{CancelMode, WriteClass},
    task::{Attempt, Outcome, Status},
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
    /// Result, if it is short: that of the last step, or those of several last steps by name. `null` until the task has succeeded.
    pub result: Value,
    /// Name of the result when it is not in `result`: read it with `GET /content/{hash}?task=…`.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub result_ref: Option<Reference>,
    /// Steps that have the result, when there are several last steps and their results are not in `result`: take `result` or `result_ref` of
    /// each.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub result_steps: Option<Vec<String>>,
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
    /// Duration of the running or the last attempt, in milliseconds; of a step with a list, from the start of its first item to its own end.
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
    /// Result, if it is short and does not stand elsewhere in this answer: those of the last steps are in the `result` of the task, those of
    /// items in the `result` of the step with their list.
    pub result: Value,
    /// Name of the result when it is not in `result`: read it with `GET /content/{hash}?task=…`.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub result_ref: Option<Reference>,
    /// Last error.
    pub error: Option<String>,
    /// How the last attempt that is over ended: SUCCESS, FAILED, TIMEOUT, ABANDONED, YIELDED or CANCELLED.
    #[serde(default)]
    #[schema(value_type = Option<String>)]
    pub last_outcome: Option<Outcome>,
    /// Time of the last change, in milliseconds since 1970.
    pub updated_ms: u64,
    /// Last attempts, oldest first, if requested.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    #[schema(value_type = Option<Vec<super::schema::Attempt>>)]
    pub history: Option<Vec<Attempt>>,
}

/// Where a result is.
#[derive(Debug, Clone, Copy, PartialEq)]
pub enum Delivered<'a> {
    /// In the answer; it may be nothing.
    Value(&'a Value),
    /// Not in the answer, which only names it.
    Named(&'a Reference),
    /// With these steps, each of which has or names its own.
    Steps(&'a [String]),
}

impl Shown {
    /// What the task delivered, once it has succeeded.
    pub fn delivered(&self) -> Option<Delivered<'_>> {
        if self.status != Status::Success {
            return None;
        }
        Some(match (&self.result_ref, &self.result_steps) {
            (Some(named), _) => Delivered::Named(named),
            (None, Some(steps)) => Delivered::Steps(steps),
            (None, None) => Delivered::Value(&self.result),
        })
    }

    /// What a step of the task delivered, if it delivered something, wherever in the answer that stands.
    pub fn delivered_by<'a>(&'a self, step: &'a ShownStep) -> Option<Delivered<'a>> {
        let Some(named) = &step.result_ref else {
            let has_one = step.status == Status::Success || !step.result.is_null();
            return has_one.then_some(Delivered::Value(&step.result));
        };
        let elsewhere = self.as_a_part(step).or_else(|| self.as_an_item(step));
        Some(elsewhere.map_or(Delivered::Named(named), Delivered::Value))
    }

    /// The result of a last step, in what the task delivered.
    fn as_a_part(&self, step: &ShownStep) -> Option<&Value> {
        let Some(Delivered::Value(all)) = self.delivered() else { return None };
        let depended: BTreeSet<&str> =
            self.steps.iter().flat_map(|step| &step.depends_on).map(String::as_str).collect();
        let is_part = |step: &&ShownStep| {
            let apart = step.compensates.is_some() || step.item_of.is_some();
            step.result_ref.is_some() && !apart && !depended.contains(step.step.as_str())
        };
        let several = self.steps.iter().filter(is_part).nth(1).is_some();
        is_part(&step).then(|| if several { all.get(step.step.as_str()) } else { Some(all) }).flatten()
    }

    /// The result of an item, in that of its list.
    fn as_an_item(&self, step: &ShownStep) -> Option<&Value> {
        let of = step.item_of.as_deref()?;
        let list = self.steps.iter().find(|list| list.step.as_str() == of && list.item_of.is_none())?;
        let Some(Delivered::Value(results)) = self.delivered_by(list) else { return None };
        let place = step.step.as_str().rsplit_once('.')?.1.parse::<usize>().ok()?;
        results.get(place)
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
