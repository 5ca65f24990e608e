//! Pass: the holder found that the step's condition holds. It runs next, or asks first.

use super::{
    apply::{At, Effect, Refusal},
    follow,
    lease::held_step,
    state::TaskRows,
    table::{Status, Verb},
};
use crate::op::Hold;

pub(super) fn pass(rows: &mut TaskRows, held: &Hold<u16>, at: At, effects: &mut Vec<Effect>) -> Result<(), Refusal> {
    let unwanted = rows.task.cancel.is_some() || rows.task.failing.is_some();
    let step = held_step(rows, held)?;
    if !step.is_weighed() {
        return Err(Refusal::NothingToWeigh { name: step.spec.name.clone(), what: "condition" });
    }
    step.end_hold();
    step.passed = true;
    step.ready = false;
    if unwanted {
        step.go(Verb::Pass, Status::Cancelled, at.now_ms);
        follow::after(rows, held.step, at, effects);
    } else if step.spec.approve.is_some() {
        step.go(Verb::Pass, Status::Waiting, at.now_ms);
        follow::wait_for_answer(step, held.step, at, effects);
    } else {
        step.go(Verb::Pass, Status::Pending, at.now_ms);
        step.ready = true;
        effects.push(Effect::Offer { step: held.step });
    }
    Ok(())
}
