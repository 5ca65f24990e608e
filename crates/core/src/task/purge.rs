//! Purge: a task that ended is forgotten (D33). Its ops stay until a checkpoint lets them go; its rows go now, and nothing
//! can be said about it any more.

use super::{apply::Refusal, state::TaskRows};

/// Forgets the task, if it has ended.
pub fn purge(rows: &mut Option<TaskRows>) -> Result<(), Refusal> {
    check(rows.as_ref().ok_or(Refusal::NoTask)?)?;
    *rows = None;
    Ok(())
}

/// Whether the task may be forgotten.
fn check(rows: &TaskRows) -> Result<(), Refusal> {
    let found = rows.task.status;
    if found.is_terminal() { Ok(()) } else { Err(Refusal::NotEnded { found }) }
}
