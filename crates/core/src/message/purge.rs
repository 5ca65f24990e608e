//! Purge: a thread in which nothing waits is forgotten (D33).

use super::{
    apply::{Refusal, check_namespace, there},
    state::ThreadRows,
};
use crate::op::Header;

/// Forgets the thread, if nothing waits in it.
pub fn purge(rows: &mut Option<ThreadRows>, header: &Header) -> Result<(), Refusal> {
    check_namespace(rows.as_ref(), header)?;
    check(there(rows)?)?;
    *rows = None;
    Ok(())
}

/// Whether the thread may be forgotten: every message is DONE, FAILED or DEAD.
fn check(rows: &ThreadRows) -> Result<(), Refusal> {
    match rows.messages.iter().find(|(_, message)| !message.state.is_terminal()) {
        Some((message, found)) => Err(Refusal::NotAtRest { message: *message, found: found.state }),
        None => Ok(()),
    }
}
