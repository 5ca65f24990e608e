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

/// What a task delivers whose last steps were all skipped.
const NOTHING: &[u8] = b"null";

/// The step at `index` has just ended.
pub(super) fn after(rows: &mut TaskRows, index: u16, at: At, effects: &mut Vec<Effect>) {
    let step = &rows.steps[usize::from(index)];
    let (status, undoing) = (step.status, step.is_compensation());
    if rows.task.cancel.is_some() {
        end_if_done(rows, at, effects);
    } else if undoing || rows.task.failing.is_some() {
        wind_down(rows, at, effects);
    } else if matches!(status, Status::Success | Status::Skipped) {
        open_ready(rows, at, effects);
        end_if_done(rows, at, effects);
    } else {
        let status = if status == Status::DeadLetter { Status::DeadLetter } else { Status::Failed };
        rows.task.failing = Some(Failing { step: index, status });
        wind_down(rows, at, effects);
    }
}

/// Opens every step of the graph whose dependencies are all done, and the steps with lists whose items are. A step is
/// skipped together with what it depends on: with all of it, for one that was done is something to go on with.
pub(super) fn open_ready(rows: &mut TaskRows, at: At, effects: &mut Vec<Effect>) {
    loop {
        let mut skipped = false;
        for index in 0..rows.steps.len() {
            let step = &rows.steps[index];
            let closed = step.status == Status::Pending && !step.ready && !step.is_compensation();
            if !closed {
                continue;
            }
            let on = &step.spec.depends_on;
            let is = |of: &u16, status| rows.steps[usize::from(*of)].status == status;
            let done = |of: &u16| is(of, Status::Success) || is(of, Status::Skipped);
            if !on.iter().all(done) || !items_done(rows, index as u16) {
                continue;
            }
            if !on.is_empty() && on.iter().all(|of| is(of, Status::Skipped)) {
                let step = &mut rows.steps[index];
                skip(step, at);
                step.error = Some("everything that it depends on was skipped".to_owned());
                skipped = true;
            } else {
                open(&mut rows.steps[index], index as u16, at, effects);
            }
        }
        // Only what was skipped can have opened or closed something that was looked at before.
        if !skipped {
            return;
        }
    }
}

/// Whether the steps for the items of this one, if it has any, have all succeeded.
pub(super) fn items_done(rows: &TaskRows, index: u16) -> bool {
    rows.steps[usize::from(index)].fan.is_none() || rows.items(index).all(|(_, step)| step.status == Status::Success)
}

fn open(step: &mut Step, index: u16, at: At, effects: &mut Vec<Effect>) {
    // Whether it is wanted at all is found out before anybody is asked about it; and nobody is asked twice.
    if step.spec.approve.is_some() && !step.is_weighed() && step.fan.is_none() {
        step.go(Verb::Ask, Status::Waiting, at.now_ms);
        wait_for_answer(step, index, at, effects);
        return;
    }
    step.ready = true;
    touch(step, at);
    effects.push(Effect::Offer { step: index });
}

/// The step has begun to wait for a person, for as long as the ask gives them.
pub(super) fn wait_for_answer(step: &mut Step, index: u16, at: At, effects: &mut Vec<Effect>) {
    let deadline_ms = step.spec.approve.as_ref().and_then(|ask| ask.deadline_ms);
    step.due_ms = deadline_ms.map_or(0, |ms| at.now_ms.saturating_add(ms));
    if step.due_ms > 0 {
        effects.push(Effect::Wake { step: index, at_ms: step.due_ms });
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
        rows.task.result_hash = Some(result_hash(rows));
    }
    effects.push(Effect::End { status });
}

fn ending(rows: &TaskRows) -> Status {
    rows.task.failing.map_or(Status::Failed, |failing| failing.status)
}

/// The result of the one last step; with several last steps, the hash over their hashes in order. Those that were skipped
/// have none.
fn result_hash(rows: &TaskRows) -> Hash {
    let last = rows.indexed().filter(|(index, _)| rows.is_last(*index));
    let mut hashes = last.filter_map(|(_, step)| step.result).map(|result| result.hash);
    match (hashes.next(), hashes.next()) {
        (None, _) => Hash::sha256(NOTHING),
        (Some(only), None) => only,
        (Some(first), Some(second)) => {
            let all: Vec<u8> = [first, second].into_iter().chain(hashes).flat_map(|hash| hash.0).collect();
            Hash::sha256(&all)
        }
    }
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
