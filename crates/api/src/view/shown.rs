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
    /// Its id.
    #[schema(value_type = String)]
    pub task: TaskId,
    /// What people call it.
    #[schema(value_type = String)]
    pub name: Name,
    /// The team or project it belongs to.
    #[schema(value_type = String)]
    pub namespace: Name,
    /// Where it rests.
    #[schema(value_type = String)]
    pub status: Status,
    /// When it was submitted.
    pub created_ms: u64,
    /// When it last changed.
    pub updated_ms: u64,
    /// What makes a second submit the same one.
    pub idempotency_key: String,
    /// SHA-256 of the canonical request.
    #[schema(value_type = String)]
    pub fingerprint: Hash,
    /// One trace a task.
    pub trace_id: String,
    /// How somebody cancelled it.
    #[schema(value_type = Option<String>)]
    pub cancel: Option<CancelMode>,
    /// The step that failed for good.
    pub failed_step: Option<String>,
    /// Hash of the result.
    #[schema(value_type = Option<String>)]
    pub result_hash: Option<Hash>,
    /// What it delivered; `null` as long as it has not succeeded.
    pub result: Value,
    /// Its steps, in the order of the graph's list.
    pub steps: Vec<ShownStep>,
}

/// A step.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize, ToSchema)]
#[schema(as = Step)]
pub struct ShownStep {
    /// What it is called.
    #[schema(value_type = String)]
    pub step: Name,
    /// Its place.
    pub index: u16,
    /// Who does it.
    #[schema(value_type = String)]
    pub agent: Name,
    /// Where it rests.
    #[schema(value_type = String)]
    pub status: Status,
    /// Which lane it waits in.
    #[schema(value_type = String)]
    pub priority: Priority,
    /// Attempts since submit or redrive.
    pub attempt: u32,
    /// Attempts in all.
    pub max_attempts: u32,
    /// Claims in all its life.
    pub epoch: u32,
    /// Steps that must succeed first.
    pub depends_on: Vec<String>,
    /// The step that it undoes.
    pub compensates: Option<String>,
    /// When it may be tried again, or when its approval runs out.
    pub due_ms: Option<u64>,
    /// How long the running attempt has taken, or the last one took.
    pub took_ms: Option<u64>,
    /// What a person must agree to.
    pub asks: Option<String>,
    /// Who decided about it.
    #[schema(value_type = Option<String>)]
    pub decided_by: Option<Name>,
    /// It runs only if this holds.
    pub when: Option<String>,
    /// It runs once for each item of this.
    pub foreach: Option<String>,
    /// For how many items, once that is known.
    pub items: Option<u16>,
    /// The step with the list that it is an item of.
    pub item_of: Option<String>,
    /// The process that it ran last, if it ran one.
    #[schema(value_type = Option<Object>)]
    pub ran: Option<Ran>,
    /// What it delivered.
    pub result: Value,
    /// Why it last failed.
    pub error: Option<String>,
    /// When it last changed.
    pub updated_ms: u64,
    /// Its last attempts, oldest first, if they were asked for.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    #[schema(value_type = Option<Vec<Object>>)]
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

    /// The step that failed for good.
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

/// A task in one line of a list.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, ToSchema)]
#[schema(as = TaskSummary)]
pub struct Summary {
    /// Its id.
    #[schema(value_type = String)]
    pub task: TaskId,
    /// Its place among all tasks: the cursor of the next page.
    pub key: u64,
    /// What people call it.
    #[schema(value_type = String)]
    pub name: Name,
    /// The team or project it belongs to.
    #[schema(value_type = String)]
    pub namespace: Name,
    /// Where it rests.
    #[schema(value_type = String)]
    pub status: Status,
    /// When it was submitted.
    pub created_ms: u64,
    /// When it last changed.
    pub updated_ms: u64,
    /// How many steps of the graph have succeeded.
    pub steps_done: usize,
    /// How many there are.
    pub steps: usize,
}

/// A page of tasks, newest first.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, ToSchema)]
#[schema(as = Tasks)]
pub struct Page {
    /// The tasks.
    pub tasks: Vec<Summary>,
    /// The cursor of the next page, if there may be one.
    pub next: Option<u64>,
}

/// What an accepted submit is told.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, ToSchema)]
pub struct Accepted {
    /// The task.
    #[schema(value_type = String)]
    pub task: TaskId,
    /// Where it rests.
    #[schema(value_type = String)]
    pub status: Status,
    /// Whether an equal request had made it before.
    pub merged: bool,
    /// The class of the write.
    #[schema(value_type = String)]
    pub class: WriteClass,
}

/// What a change of a task is told.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, ToSchema)]
pub struct Changed {
    /// The task.
    #[schema(value_type = String)]
    pub task: TaskId,
    /// Where it rests now.
    #[schema(value_type = String)]
    pub status: Status,
}

/// What a submit is told: that it was accepted; or the task itself, if it was to be waited for.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize, ToSchema)]
#[serde(untagged)]
pub enum Submission {
    /// It is accepted.
    Accepted(Accepted),
    /// The task, as far as it came.
    Waited(Box<Ended>),
}

/// A task that was waited for.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize, ToSchema)]
#[schema(as = WaitedTask)]
pub struct Ended {
    /// The task.
    #[serde(flatten)]
    pub task: Shown,
    /// Whether it has ended.
    pub ended: bool,
}

/// What whoever forgot a task is told.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, ToSchema)]
pub struct Purged {
    /// The task.
    #[schema(value_type = String)]
    pub task: TaskId,
    /// How many were purged.
    pub purged: u64,
}

/// A part of what an attempt wrote.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, ToSchema)]
pub struct LogPart {
    /// Of which step.
    #[schema(value_type = String)]
    pub step: Name,
    /// Of which attempt.
    pub epoch: u32,
    /// `stderr` or `stdout`.
    pub stream: String,
    /// From this byte on.
    pub offset: u64,
    /// The byte after the last.
    pub next: u64,
    /// What it wrote; bytes that are no text are replaced.
    pub text: String,
    /// Whether there will be no more.
    pub end: bool,
}

/// The attempts at a step.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, ToSchema)]
pub struct Attempts {
    /// Those that have ended, oldest first.
    #[schema(value_type = Vec<Object>)]
    pub attempts: Vec<Attempt>,
    /// The one that runs.
    pub running: Option<RunningAttempt>,
}

/// An attempt that runs.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, ToSchema)]
pub struct RunningAttempt {
    /// Its fence.
    pub epoch: u32,
    /// Who makes it.
    #[schema(value_type = String)]
    pub worker: WorkerId,
    /// When it was claimed.
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
