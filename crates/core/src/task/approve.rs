//! Approve and deny: a person decides about exactly what a step asked. The first decision counts; a decision that cites
//! another ask than the one in force is refused.

use super::{
    apply::{At, Effect, Refusal},
    fail::shortened,
    follow,
    lease::step_for,
    state::{Step, TaskRows},
    table::{Status, Verb},
};
use crate::hash::Hash;

pub(super) fn approve(
    rows: &mut TaskRows,
    index: u16,
    cited: Hash,
    at: At,
    effects: &mut Vec<Effect>,
) -> Result<(), Refusal> {
    let step = asked(rows, index, Verb::Approve, cited)?;
    step.go(Verb::Approve, Status::Pending, at.now_ms);
    step.decided_by = Some(at.author.clone());
    step.due_ms = 0;
    step.ready = true;
    effects.push(Effect::Offer { step: index });
    Ok(())
}

pub(super) fn deny(
    rows: &mut TaskRows,
    index: u16,
    cited: Hash,
    reason: &str,
    at: At,
    effects: &mut Vec<Effect>,
) -> Result<(), Refusal> {
    let step = asked(rows, index, Verb::Deny, cited)?;
    step.go(Verb::Deny, Status::Failed, at.now_ms);
    step.decided_by = Some(at.author.clone());
    step.due_ms = 0;
    step.error = Some(shortened(&format!("denied: {reason}")));
    follow::after(rows, index, at, effects);
    Ok(())
}

fn asked(rows: &mut TaskRows, index: u16, verb: Verb, cited: Hash) -> Result<&mut Step, Refusal> {
    let step = step_for(rows, index, verb)?;
    let asked = step.spec.approve.as_ref().map(super::spec::Ask::hash).unwrap_or_default();
    if asked != cited {
        return Err(Refusal::OtherAsk { name: step.spec.name.clone(), asked, cited });
    }
    Ok(step)
}
