//! Yield: the holder gives the step back unfinished. The attempt does not count; the epoch does.

use super::{
    apply::{At, Effect, Refusal},
    fail::shortened,
    follow,
    lease::held_step,
    state::{Outcome, TaskRows},
    table::{Status, Verb},
};
use crate::op::Hold;

pub(super) fn give_back(
    rows: &mut TaskRows,
    held: &Hold<u16>,
    reason: &str,
    at: At,
    effects: &mut Vec<Effect>,
) -> Result<(), Refusal> {
    let ending = rows.task.cancel.is_some();
    let skipped = rows.task.failing.is_some();
    let step = held_step(rows, held)?;
    step.end_attempt(Outcome::Yielded, Some(shortened(reason)), at.now_ms);
    step.attempt -= 1;
    step.error = Some(shortened(reason));
    let unwanted = ending || (skipped && !step.is_compensation());
    if unwanted {
        step.go(Verb::Yield, Status::Cancelled, at.now_ms);
        step.ready = false;
        follow::after(rows, held.step, at, effects);
    } else {
        step.go(Verb::Yield, Status::Pending, at.now_ms);
        effects.push(Effect::Offer { step: held.step });
    }
    Ok(())
}
