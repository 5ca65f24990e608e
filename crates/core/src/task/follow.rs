//! What follows when a step ends: the next steps, the compensation of earlier ones, the end of the task.
//!
//! As long as nothing failed for good, steps whose dependencies have all succeeded open up. Once a step failed for
//! good, nothing of the graph starts any more; when the last running step has ended, the compensations of the steps
//! that succeeded run one after another, latest success first (R4). A compensation that fails for good stops the rest:
//! undoing A while the undoing of B, which came after it, is stuck could do more harm than good.

use super::{
    apply::{At, Effect},
    state::{Failing, Step, TaskRows},
    table::{Status, Verb},
};
use crate::hash::Hash;

/// The step at `index` has just ended.
pub(super) fn after(rows: &mut TaskRows, index: u16, at: At, effects: &mut Vec<Effect>) {
    let step = &rows.steps[usize::from(index)];
    let (status, undoing) = (step.status, step.is_compensation());
    if rows.task.cancel.is_some() {
        end_if_done(rows, at, effects);
    } else if undoing || rows.task.failing.is_some() {
        wind_down(rows, at, effects);
    } else if status == Status::Success {
        open_ready(rows, at, effects);
        end_if_done(rows, at, effects);
    } else {
        let status = if status == Status::DeadLetter { Status::DeadLetter } else { Status::Failed };
        rows.task.failing = Some(Failing { step: index, status });
        wind_down(rows, at, effects);
    }
}

/// Opens every step of the graph whose dependencies have all succeeded.
pub(super) fn open_ready(rows: &mut TaskRows, at: At, effects: &mut Vec<Effect>) {
    for index in 0..rows.steps.len() {
        let step = &rows.steps[index];
        let closed = step.status == Status::Pending && !step.ready && !step.is_compensation();
        let done = |of: &u16| rows.steps[usize::from(*of)].status == Status::Success;
        if closed && step.spec.depends_on.iter().all(done) {
            open(&mut rows.steps[index], index as u16, at, effects);
        }
    }
}

fn open(step: &mut Step, index: u16, at: At, effects: &mut Vec<Effect>) {
    match &step.spec.approve {
        Some(ask) => {
            step.due_ms = ask.deadline_ms.map_or(0, |ms| at.now_ms.saturating_add(ms));
            step.go(Verb::Ask, Status::Waiting, at.now_ms);
            if step.due_ms > 0 {
                effects.push(Effect::Wake { step: index, at_ms: step.due_ms });
            }
        }
        None => {
            step.ready = true;
            touch(step, at);
            effects.push(Effect::Offer { step: index });
        }
    }
}

/// The task ends badly: skip what has not begun, wait for what runs, undo what was done, end.
pub(super) fn wind_down(rows: &mut TaskRows, at: At, effects: &mut Vec<Effect>) {
    for step in rows.steps.iter_mut().filter(|step| !step.is_compensation()) {
        skip(step, at);
    }
    if rows.steps.iter().any(|step| step.status == Status::Running || (step.ready && !step.status.is_terminal())) {
        return;
    }
    let broke = undoing_broke(rows);
    match next_compensation(rows) {
        Some(index) if !broke => open(&mut rows.steps[index], index as u16, at, effects),
        Some(_) | None => {
            let status = if broke { Status::DeadLetter } else { ending(rows) };
            end(rows, status, at, effects);
        }
    }
}

/// Whether a compensation that is needed ended without success.
pub(super) fn undoing_broke(rows: &TaskRows) -> bool {
    let needed =
        |step: &Step| step.spec.compensates.is_some_and(|of| rows.steps[usize::from(of)].status == Status::Success);
    let broke = |step: &Step| matches!(step.status, Status::Failed | Status::DeadLetter | Status::Cancelled);
    rows.task.failing.is_some() && rows.steps.iter().any(|step| broke(step) && needed(step))
}

/// The compensation of the latest success that is not undone yet.
fn next_compensation(rows: &TaskRows) -> Option<usize> {
    let order = |step: &Step| {
        let of = &rows.steps[usize::from(step.spec.compensates?)];
        (step.status == Status::Pending && of.status == Status::Success).then_some(of.success)
    };
    (0..rows.steps.len()).filter_map(|i| Some((order(&rows.steps[i])?, i))).max().map(|(_, index)| index)
}

/// Ends the task if all its steps have come to rest.
pub(super) fn end_if_done(rows: &mut TaskRows, at: At, effects: &mut Vec<Effect>) {
    let open = |step: &Step| !step.is_compensation() && !step.status.is_terminal();
    let running = |step: &Step| step.status == Status::Running;
    if rows.steps.iter().any(|step| open(step) || running(step)) {
        return;
    }
    let status = if rows.task.cancel.is_some() { Status::Cancelled } else { Status::Success };
    end(rows, status, at, effects);
}

fn end(rows: &mut TaskRows, status: Status, at: At, effects: &mut Vec<Effect>) {
    for step in &mut rows.steps {
        skip(step, at);
    }
    rows.task.status = status;
    if status == Status::Success {
        rows.task.result_hash = result_hash(rows);
    }
    effects.push(Effect::End { status });
}

fn ending(rows: &TaskRows) -> Status {
    rows.task.failing.map_or(Status::Failed, |failing| failing.status)
}

/// The result of the one last step; with several last steps, the hash over their hashes in order.
fn result_hash(rows: &TaskRows) -> Option<Hash> {
    let is_last = |index: u16| !rows.steps.iter().any(|s| s.spec.depends_on.contains(&index));
    let mut last = rows.indexed().filter(|(index, step)| !step.is_compensation() && is_last(*index));
    let (first, more) = (last.next()?, last.next());
    let hash = |step: &Step| step.result.map(|result| result.hash);
    let Some(second) = more else { return hash(first.1) };
    let hashes: Vec<u8> =
        [first, second].into_iter().chain(last).filter_map(|(_, s)| hash(s)).flat_map(|h| h.0).collect();
    Some(Hash::sha256(&hashes))
}

fn skip(step: &mut Step, at: At) {
    if matches!(step.status, Status::Pending | Status::Waiting | Status::Retrying) {
        step.go(Verb::Skip, Status::Skipped, at.now_ms);
        step.ready = false;
        step.due_ms = 0;
    }
}

fn touch(step: &mut Step, at: At) {
    step.rev += 1;
    step.updated_ms = at.now_ms;
}
