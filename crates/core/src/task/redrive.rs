//! Redrive: a task that ended badly is tried again from where it broke.
//!
//! What succeeded and was not undone keeps its result. What failed, was skipped or cancelled starts over with a fresh
//! count of attempts; so does a step whose compensation ran, because its work is undone, and every step that came after
//! such a one, because its input will be another. If the compensation itself broke, the redrive goes on with the
//! compensation: the undoing must finish before anything is done again.

use super::{
    apply::{At, Effect, Refusal},
    follow,
    spec::Item,
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
    let again = to_do_again(rows);
    let stale = stale_lists(rows, &again);
    for (step, again) in rows.steps.iter_mut().zip(again) {
        if again {
            reset(step, at.now_ms);
        }
    }
    for of in stale {
        forget_items(rows, of, at);
    }
    follow::open_ready(rows, at, effects);
    follow::end_if_done(rows, at, effects); // a cancelled task whose last step had still succeeded
    Ok(())
}

/// Which steps start over, by place.
fn to_do_again(rows: &TaskRows) -> Vec<bool> {
    let undone = |index: u16| {
        rows.steps.iter().any(|step| step.spec.compensates == Some(index) && step.status == Status::Success)
    };
    let in_use = |item: Item| rows.steps[usize::from(item.of)].fan.is_some_and(|count| item.index < count);
    let starts_over = |(index, step): (u16, &Step)| {
        let wanted = step.spec.item().is_none_or(in_use);
        wanted && (step.status != Status::Success || step.is_compensation() || undone(index))
    };
    let mut again: Vec<bool> = rows.indexed().map(starts_over).collect();
    loop {
        let after_one = |step: &Step| step.spec.depends_on.iter().any(|of| again[usize::from(*of)]);
        let Some(next) = (0..again.len()).find(|index| !again[*index] && after_one(&rows.steps[*index])) else {
            return again;
        };
        again[next] = true;
    }
}

/// The steps whose lists may be others the next time: what they are made of starts over, or they had ended themselves.
fn stale_lists(rows: &TaskRows, again: &[bool]) -> Vec<u16> {
    let stale = |(index, step): &(u16, &Step)| {
        let anew = step.spec.depends_on.iter().any(|of| again[usize::from(*of)]);
        step.fan.is_some() && again[usize::from(*index)] && (anew || step.status == Status::Success)
    };
    rows.indexed().filter(stale).map(|(index, _)| index).collect()
}

/// The list of this step is to be made anew. The steps for its items rest until then.
fn forget_items(rows: &mut TaskRows, of: u16, at: At) {
    rows.steps[usize::from(of)].fan = None;
    for step in rows.steps.iter_mut().filter(|step| step.spec.item().is_some_and(|item| item.of == of)) {
        if step.status != Status::Pending {
            reset(step, at.now_ms);
        }
        step.go(Verb::Skip, Status::Skipped, at.now_ms);
    }
}

pub(super) fn reset(step: &mut Step, now_ms: u64) {
    step.go(Verb::Redrive, Status::Pending, now_ms);
    step.attempt = 0;
    step.due_ms = 0;
    step.ready = false;
    step.result = None;
    step.output_artifacts.clear();
    step.result_pos = 0;
    step.success = 0;
    step.decided_by = None;
    step.passed = false;
}
