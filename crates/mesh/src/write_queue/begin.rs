//! Begin: the oldest write to a target is sent again.

use super::{
    queue::{Queue, Refusal},
    state::Entry,
    table::{Status, Verb},
};
use relaymesh_core::id::WriteId;

impl Queue {
    /// Marks the row as being sent and counts the attempt. Send [`Entry::arriving`] once the row is durable.
    pub fn begin(&mut self, id: WriteId, now_ms: u64) -> Result<&Entry, Refusal> {
        let mut entry = self.movable(id, Verb::Begin)?;
        if let Some(first) = self.first(entry.write.target).filter(|first| *first != id) {
            return Err(Refusal::NotItsTurn { id, first });
        }
        if entry.next_attempt_ms > now_ms {
            return Err(Refusal::NotDue { id, due_ms: entry.next_attempt_ms });
        }
        entry.attempt_count = entry.attempt_count.saturating_add(1);
        entry.last_attempt_ms = Some(now_ms);
        self.moved(entry, Verb::Begin, Status::Replaying, now_ms)
    }
}
