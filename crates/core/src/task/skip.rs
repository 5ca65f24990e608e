//! Skip: the holder found that the step's condition does not hold. What stands behind it goes on without its result.

use super::{
    apply::{At, Effect, Refusal},
    fail::shortened,
    follow,
    lease::held_step,
    state::TaskRows,
    table::{Status, Verb},
};
use crate::op::Hold;

pub(super) fn skip(
    rows: &mut TaskRows,
    held: &Hold<u16>,
    reason: &str,
    at: At,
    effects: &mut Vec<Effect>,
) -> Result<(), Refusal> {
    let step = held_step(rows, held)?;
    if !step.is_weighed() {
        return Err(Refusal::NothingToWeigh { name: step.spec.name.clone(), what: "condition" });
    }
    step.end_hold();
    step.go(Verb::Skip, Status::Skipped, at.now_ms);
    step.ready = false;
    step.error = Some(shortened(reason));
    follow::after(rows, held.step, at, effects);
    Ok(())
}
