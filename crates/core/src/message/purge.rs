//! Purge: a thread in which nothing waits is forgotten (D33).

use super::{apply::Refusal, state::ThreadRows};

/// Whether the thread may be forgotten: every message is DONE, FAILED or DEAD.
pub(super) fn check(rows: &ThreadRows) -> Result<(), Refusal> {
    match rows.messages.iter().find(|(_, message)| !message.state.is_terminal()) {
        Some((message, found)) => Err(Refusal::NotAtRest { message: *message, found: found.state }),
        None => Ok(()),
    }
}
