//! Recover: at a start, what was being sent is sent again (D14).

use super::{
    queue::{Queue, Refusal},
    table::{Status, Verb},
};
use relaymesh_core::id::WriteId;

impl Queue {
    /// Makes every row pending that a former life left replaying, and says which. How far they got nobody knows, so they are
    /// indeterminate. Due at once: the caller begins when membership and leases are known (F10).
    pub fn recover(&mut self, now_ms: u64) -> Result<Vec<WriteId>, Refusal> {
        let open = self.open.iter().map(|(_, _, id)| *id);
        let replaying = |id: &WriteId| self.rows.get(id).is_some_and(|entry| entry.status == Status::Replaying);
        let stranded: Vec<WriteId> = open.filter(replaying).collect();
        for &id in &stranded {
            let mut entry = self.movable(id, Verb::Recover)?;
            entry.indeterminate = true;
            entry.next_attempt_ms = now_ms;
            entry.last_error = Some("the node stopped while this was being sent".into());
            self.moved(entry, Verb::Recover, Status::Pending, now_ms)?;
        }
        Ok(stranded)
    }
}
