//! Fail: the holder reports a failure. What comes of a lost attempt is decided here for expiry and time-out too.

use super::{
    apply::{At, Effect, Refusal},
    follow,
    lease::held_step,
    state::{Outcome, TaskRows},
    table::{Status, Verb},
};
use crate::op::Hold;

/// The longest error text that is kept, in bytes.
pub const ERROR_BYTES_MAX: usize = 512;

/// What the holder reports.
#[derive(Debug, Clone, Copy)]
pub(super) struct Failure<'a> {
    pub(super) retryable: bool,
    pub(super) jitter_ms: u32,
    pub(super) error: &'a str,
}

pub(super) fn fail(
    rows: &mut TaskRows,
    held: &Hold<u16>,
    failure: Failure<'_>,
    at: At,
    effects: &mut Vec<Effect>,
) -> Result<(), Refusal> {
    held_step(rows, held)?;
    lose(rows, held.step, Verb::Fail, Outcome::Failed, failure, at, effects);
    Ok(())
}

/// An attempt is lost: try again later, or give up. The caller has checked that the step is running.
pub(super) fn lose(
    rows: &mut TaskRows,
    index: u16,
    verb: Verb,
    outcome: Outcome,
    failure: Failure<'_>,
    at: At,
    effects: &mut Vec<Effect>,
) {
    let cancelled = rows.task.cancel.is_some();
    let winding_down = rows.task.failing.is_some();
    let step = &mut rows.steps[usize::from(index)];
    let error = shortened(failure.error);
    step.end_attempt(outcome, Some(error.clone()), at.now_ms);
    if step.is_inward() && outcome == Outcome::Abandoned {
        step.attempt -= 1; // whoever held it only looked at it, and nothing of it was tried
    }
    step.error = Some(error);
    let used_up = step.attempt >= step.spec.retry.max_attempts;
    // When the task is ending anyway, a step of the graph is not tried again; a compensation is.
    let hopeless = winding_down && !step.is_compensation();
    let to = match () {
        () if cancelled => Status::Cancelled,
        () if !failure.retryable => Status::Failed,
        () if used_up || hopeless => Status::DeadLetter,
        () => Status::Retrying,
    };
    step.go(verb, to, at.now_ms);
    if to == Status::Retrying {
        step.due_ms =
            at.now_ms.saturating_add(step.spec.retry.backoff.delay_ms(step.attempt.max(1), failure.jitter_ms.into()));
        effects.push(Effect::Wake { step: index, at_ms: step.due_ms });
    } else {
        step.ready = false;
        follow::after(rows, index, at, effects);
    }
}

/// At most [`ERROR_BYTES_MAX`] bytes of it, cut between characters.
pub fn shortened(text: &str) -> String {
    text[..text.floor_char_boundary(ERROR_BYTES_MAX)].to_owned()
}
