//! Cancel: hard stops what runs; soft lets it finish and starts nothing more. A soft cancel can be made hard.

use super::{
    apply::{At, Effect, Refusal},
    fail::shortened,
    follow,
    state::{Outcome, TaskRows},
    table::{Status, Verb},
};
use crate::op::CancelMode;

pub(super) fn cancel(
    rows: &mut TaskRows,
    mode: CancelMode,
    reason: &str,
    at: At,
    effects: &mut Vec<Effect>,
) -> Result<(), Refusal> {
    if rows.task.status.is_terminal() {
        return Err(Refusal::Ended { found: rows.task.status });
    }
    if rows.task.cancel == Some(mode) || rows.task.cancel == Some(CancelMode::Hard) {
        return Err(Refusal::CancelledAlready);
    }
    rows.task.cancel = Some(mode);
    for (index, step) in (0u16..).zip(&mut rows.steps) {
        let running = step.status == Status::Running;
        if step.status.is_terminal() || (running && mode == CancelMode::Soft) {
            continue;
        }
        if running {
            effects.push(Effect::Stop { step: index, epoch: step.epoch });
        }
        step.end_attempt(Outcome::Cancelled, None, at.now_ms);
        step.go(Verb::Cancel, Status::Cancelled, at.now_ms);
        step.ready = false;
        step.due_ms = 0;
        step.error = Some(shortened(reason));
    }
    follow::end_if_done(rows, at, effects);
    Ok(())
}
