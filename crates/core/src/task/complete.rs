//! Complete: the holder delivers the result. Terminal: a step that succeeded is never claimed again (L2).
//!
//! A completion after the deadline counts as long as nobody expired the lease; after an expiry it is fenced.

use super::{
    apply::{At, Effect, Refusal},
    follow,
    lease::held_step,
    state::{Outcome, TaskRows},
    table::{Status, Verb},
};
use crate::{content::ContentRef, op::Hold};

pub(super) fn complete(
    rows: &mut TaskRows,
    held: &Hold<u16>,
    result: ContentRef,
    at: At,
    effects: &mut Vec<Effect>,
) -> Result<(), Refusal> {
    let success = rows.task.successes + 1;
    let step = held_step(rows, held)?;
    if step.is_weighed() || (step.spec.foreach().is_some() && step.fan.is_none()) {
        return Err(Refusal::NotWeighed { name: step.spec.name.clone() });
    }
    step.end_attempt(Outcome::Success, None, at.now_ms);
    step.go(Verb::Complete, Status::Success, at.now_ms);
    step.ready = false;
    step.error = None;
    step.result = Some(result);
    step.result_pos = at.pos;
    step.success = success;
    rows.task.successes = success;
    follow::after(rows, held.step, at, effects);
    Ok(())
}
