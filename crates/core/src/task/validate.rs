//! What is true of a task's rows after every op. Tests and the simulator ask after each step; a broken rule is a bug here.

use super::{
    artifact::ARTIFACTS_MAX,
    follow,
    state::{HISTORY_MAX, Step, TaskRows},
    table::Status,
};

/// A rule that does not hold.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
#[error("{rule}{}", step.map_or(String::new(), |step| format!(" (step {step})")))]
pub struct Invalid {
    /// The rule.
    pub rule: &'static str,
    /// The step that breaks it, if it is about one.
    pub step: Option<u16>,
}

/// Checks every rule; the first broken one is the answer.
pub fn validate(rows: &TaskRows) -> Result<(), Invalid> {
    for (index, step) in rows.indexed() {
        for (holds, rule) in step_rules(rows, step) {
            if !holds {
                return Err(Invalid { rule, step: Some(index) });
            }
        }
    }
    match task_rules(rows).into_iter().find(|(holds, _)| !holds) {
        Some((_, rule)) => Err(Invalid { rule, step: None }),
        None => Ok(()),
    }
}

fn step_rules(rows: &TaskRows, step: &Step) -> [(bool, &'static str); 14] {
    let status = step.status;
    let at_rest = status.is_terminal();
    let status_of = |of: &u16| rows.steps[usize::from(*of)].status;
    let done = |of: &u16| matches!(status_of(of), Status::Success | Status::Skipped);
    let counted = rows.steps.iter().filter(|other| other.success == step.success).count();
    [
        ((status == Status::Running) == step.lease.is_some(), "a step is leased exactly while it runs"),
        (step.attempt <= step.epoch, "no attempt without an epoch of its own"),
        (step.attempt <= step.spec.retry.max_attempts, "no more attempts than allowed"),
        ((status == Status::Success) == step.result.is_some(), "a result exactly on success"),
        ((status == Status::Success) == (step.success > 0), "a place among the successes exactly on success"),
        (step.success == 0 || counted == 1, "no two successes have one place"),
        (!step.ready || !at_rest, "a step that ended is not ready"),
        (!step.ready || step.spec.depends_on.iter().all(done), "a ready step's dependencies are done"),
        (step.fan.is_none() || step.spec.foreach().is_some(), "only a step with a list runs for its items"),
        (step.fan.is_none_or(|count| items(rows, step) == usize::from(count)), "every item of a list has its step"),
        (status != Status::Waiting || (step.spec.approve.is_some() && !step.ready), "only a step that asks waits"),
        (
            status != Status::Retrying || (step.due_ms > 0 && (step.attempt > 0 || step.is_inward())),
            "a retrying step was tried and is due",
        ),
        (
            step.history.len() <= HISTORY_MAX && step.history.is_sorted_by_key(|a| a.epoch),
            "history is short and in order",
        ),
        (
            step.output_artifacts.len() <= ARTIFACTS_MAX && step.output_artifacts.iter().all(|a| a.epoch <= step.epoch),
            "artifacts are few, and of attempts that were",
        ),
    ]
}

/// How many items of the step's list have a step.
fn items(rows: &TaskRows, step: &Step) -> usize {
    let place = rows.indexed().find(|(_, other)| std::ptr::eq(*other, step));
    place.map_or(0, |(index, _)| rows.items(index).count())
}

/// Whether readiness can be told from statuses and edges while a step asks: `Shown::is_blocked` does.
fn opened(rows: &TaskRows) -> bool {
    let asks = rows.steps.iter().any(|step| step.status == Status::Waiting);
    let done = |of: &u16| matches!(rows.steps[usize::from(*of)].status, Status::Success | Status::Skipped);
    let free = |step: &Step| !step.is_compensation() && step.spec.depends_on.iter().all(done);
    let follows = |(index, step): (u16, &Step)| step.ready == (free(step) && follow::items_done(rows, index));
    !asks || rows.indexed().filter(|(_, step)| step.status == Status::Pending).all(follows)
}

fn task_rules(rows: &TaskRows) -> [(bool, &'static str); 7] {
    let task = &rows.task;
    let all_at_rest = rows.steps.iter().all(|step| step.status.is_terminal());
    let graph = || rows.steps.iter().filter(|step| !step.is_compensation());
    let moves = |step: &Step| step.ready || matches!(step.status, Status::Running | Status::Waiting | Status::Retrying);
    [
        (task.status.is_terminal() == all_at_rest, "a task has ended exactly when all its steps have"),
        (
            task.status != Status::Success
                || graph().all(|step| matches!(step.status, Status::Success | Status::Skipped)),
            "a task succeeds only with all its steps that were wanted",
        ),
        ((task.status == Status::Success) == task.result_hash.is_some(), "a result hash exactly on success"),
        (task.status.is_terminal() || rows.steps.iter().any(moves), "an open task has something that can go on"),
        (opened(rows), "while a step asks, whatever depends on nothing unfinished is ready"),
        (
            matches!(
                task.status,
                Status::Pending
                    | Status::Running
                    | Status::Success
                    | Status::Failed
                    | Status::DeadLetter
                    | Status::Cancelled
            ),
            "a task has a status of tasks",
        ),
        (
            task.failing.is_none_or(|failing| {
                matches!(
                    rows.steps[usize::from(failing.step)].status,
                    Status::Failed | Status::DeadLetter | Status::Cancelled
                )
            }),
            "a failing task names the step that failed",
        ),
    ]
}
