//! Enqueue: a write was tried and failed. An outage makes it wait; a refusal is recorded, and that is all.

use super::{
    OPEN_MAX,
    failure::Failure,
    queue::{Queue, Refusal},
    state::{Entry, Intent},
    table::Status,
};
use relaymesh_core::id::WriteId;

/// What became of it.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Enqueued {
    /// It waits. The caller is answered `queued`.
    Queued {
        /// Whether it may be in effect all the same (D13).
        indeterminate: bool,
    },
    /// It was refused, and is kept as history. The caller is answered with the refusal.
    Failed,
    /// It was here before; nothing was changed.
    Already {
        /// Its row.
        id: WriteId,
        /// Where it rests.
        status: Status,
    },
}

impl Queue {
    /// Takes in a write whose first attempt failed at `now_ms`. The same intent again finds its row.
    pub fn enqueue(
        &mut self,
        write: Intent,
        failure: Failure,
        now_ms: u64,
        delay_ms: u64,
    ) -> Result<Enqueued, Refusal> {
        if let Some(entry) = self.intents.get(&write.intent).and_then(|id| self.rows.get(id)) {
            let id = entry.write.id;
            let same = entry.write.content == write.content && entry.write.target == write.target;
            return if same { Ok(Enqueued::Already { id, status: entry.status }) } else { Err(Refusal::Taken { id }) };
        }
        if self.rows.contains_key(&write.id) {
            return Err(Refusal::Taken { id: write.id });
        }
        let waits = failure.verdict().is_outage();
        if waits && self.open.len() >= OPEN_MAX {
            return Err(Refusal::Full);
        }
        let indeterminate = waits && failure.is_indeterminate();
        self.put(Entry {
            write,
            status: if waits { Status::Pending } else { Status::Failed },
            attempt_count: 1,
            indeterminate,
            last_attempt_ms: Some(now_ms),
            next_attempt_ms: now_ms.saturating_add(delay_ms),
            last_error: Some(failure.to_string()),
            outcome: None,
            updated_ms: now_ms,
            applied_ms: None,
        });
        Ok(if waits { Enqueued::Queued { indeterminate } } else { Enqueued::Failed })
    }
}
