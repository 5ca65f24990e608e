//! Redrive: a task that ended badly is tried again from where it broke.
//!
//! What succeeded and was not undone keeps its result. What failed, was skipped or cancelled starts over with a fresh
//! count of attempts; so does a step whose compensation ran, because its work is undone. If the compensation itself
//! broke, the redrive goes on with the compensation: the undoing must finish before anything is done again.

use super::{
    apply::{At, Effect, Refusal},
    follow,
    state::{Step, TaskRows},
    table::{Status, Verb},
};

pub(super) fn redrive(rows: &mut TaskRows, at: At, effects: &mut Vec<Effect>) -> Result<(), Refusal> {
    match rows.task.status {
        Status::Failed | Status::DeadLetter | Status::Cancelled => {}
        found @ (Status::Pending
        | Status::Waiting
        | Status::Running
        | Status::Retrying
        | Status::Success
        | Status::Skipped) => {
            return Err(Refusal::NotRedrivable { found });
        }
    }
    let undoing_broke = follow::undoing_broke(rows);
    rows.task.cancel = None;
    rows.task.status = Status::Running;
    rows.task.result_hash = None;
    if undoing_broke {
        for index in 0..rows.steps.len() {
            let unfinished = rows.steps[index].status != Status::Success;
            let wanted = rows.steps[index]
                .spec
                .compensates
                .is_some_and(|of| rows.steps[usize::from(of)].status == Status::Success);
            if unfinished && wanted {
                reset(&mut rows.steps[index], at.now_ms);
            }
        }
        follow::wind_down(rows, at, effects);
        return Ok(());
    }
    rows.task.failing = None;
    let undone: Vec<u16> =
        rows.steps.iter().filter(|s| s.status == Status::Success).filter_map(|s| s.spec.compensates).collect();
    for (index, step) in (0u16..).zip(&mut rows.steps) {
        if step.status != Status::Success || step.is_compensation() || undone.contains(&index) {
            reset(step, at.now_ms);
        }
    }
    follow::open_ready(rows, at, effects);
    follow::end_if_done(rows, at, effects); // a cancelled task whose last step had still succeeded
    Ok(())
}

fn reset(step: &mut Step, now_ms: u64) {
    step.go(Verb::Redrive, Status::Pending, now_ms);
    step.attempt = 0;
    step.due_ms = 0;
    step.ready = false;
    step.result = None;
    step.result_pos = 0;
    step.success = 0;
    step.decided_by = None;
}
