//! What several verbs ask before they move a step that somebody holds.

use super::{
    LEASE_MS_MAX,
    apply::Refusal,
    state::{Step, TaskRows},
    table::{Status, Verb, targets},
};
use crate::op::Hold;

/// When a lease is over that was asked for so long. Too long a one is cut and not refused: whoever has it has it, and what it says
/// under it later counts, in logs of the time before there was a bound, too.
pub(crate) fn deadline(now_ms: u64, lease_ms: u64) -> u64 {
    now_ms.saturating_add(lease_ms.min(LEASE_MS_MAX))
}

/// The step at `index`, if the table lets `verb` move it from where it rests.
pub(super) fn step_for(rows: &mut TaskRows, index: u16, verb: Verb) -> Result<&mut Step, Refusal> {
    let count = rows.steps.len();
    let step = rows.steps.get_mut(usize::from(index)).ok_or(Refusal::NoStep { step: index, count })?;
    if targets(step.status, verb).is_empty() {
        return Err(Refusal::NotPossible { name: step.spec.name.clone(), verb, found: step.status });
    }
    Ok(step)
}

/// The step that `held` names, if it shows the token and the epoch that are in force. The fence (D7).
pub(super) fn held_step<'a>(rows: &'a mut TaskRows, held: &Hold<u16>) -> Result<&'a mut Step, Refusal> {
    let count = rows.steps.len();
    let step = rows.steps.get_mut(usize::from(held.step)).ok_or(Refusal::NoStep { step: held.step, count })?;
    let holds = step.lease.as_ref().is_some_and(|lease| lease.token == held.token);
    if holds && step.epoch == held.epoch && step.status == Status::Running {
        return Ok(step);
    }
    Err(fenced(step, held.epoch))
}

/// The running step at `index` at this epoch.
pub(super) fn attempt(rows: &mut TaskRows, index: u16, epoch: u32) -> Result<&mut Step, Refusal> {
    let count = rows.steps.len();
    let step = rows.steps.get_mut(usize::from(index)).ok_or(Refusal::NoStep { step: index, count })?;
    if step.status == Status::Running && step.epoch == epoch {
        return Ok(step);
    }
    Err(fenced(step, epoch))
}

fn fenced(step: &Step, given: u32) -> Refusal {
    Refusal::Fenced { name: step.spec.name.clone(), found: step.status, epoch: step.epoch, given }
}

/// Why a call about an attempt is refused: it shows the epoch `given`, and `epoch` is the current one, which is held or has ended.
pub(crate) fn stale(is_held: bool, epoch: u32, given: u32) -> String {
    if given != epoch {
        format!("the call is from epoch {given}, but the current epoch is {epoch}")
    } else if is_held {
        format!("the token of the call is not that of epoch {epoch}")
    } else {
        format!("epoch {epoch} has already ended, so the call changed nothing")
    }
}
