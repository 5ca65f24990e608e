//! Postpone: the target did not answer. The row waits for its next turn, and everything behind it waits, too.

use super::{
    failure::Failure,
    queue::{Queue, Refusal},
    state::Entry,
    table::{Status, Verb},
};
use relaymesh_core::id::WriteId;

impl Queue {
    /// Puts the row back for at least `delay_ms`. Once it may be in effect, that stays so until somebody says.
    pub fn postpone(&mut self, id: WriteId, failure: Failure, now_ms: u64, delay_ms: u64) -> Result<&Entry, Refusal> {
        let mut entry = self.movable(id, Verb::Postpone)?;
        if !failure.verdict().is_outage() {
            return Err(Refusal::NotAnOutage);
        }
        entry.indeterminate |= failure.is_indeterminate();
        entry.next_attempt_ms = now_ms.saturating_add(delay_ms);
        entry.last_error = Some(failure.to_string());
        self.moved(entry, Verb::Postpone, Status::Pending, now_ms)
    }
}
