//! Settle: the target answered, with one of the five outcomes or with a refusal.

use super::{
    failure::Failure,
    queue::{Queue, Refusal},
    state::Entry,
    table::{Status, Verb},
};
use crate::reconcile::Decision;
use relaymesh_core::id::WriteId;

impl Queue {
    /// Ends the row by what the target decided: what is in effect is `applied`, everything else `failed`, and the row says
    /// which of the five it was.
    pub fn settle(&mut self, id: WriteId, decision: Decision, now_ms: u64) -> Result<&Entry, Refusal> {
        let mut entry = self.movable(id, Verb::Settle)?;
        let in_effect = decision.outcome.is_in_effect();
        entry.outcome = Some(decision.outcome);
        entry.indeterminate = false;
        entry.applied_ms = in_effect.then_some(now_ms);
        entry.last_error = (!in_effect).then(|| decision.why.to_string());
        let to = if in_effect { Status::Applied } else { Status::Failed };
        self.moved(entry, Verb::Settle, to, now_ms)
    }

    /// Ends the row by a refusal that is none of the five: a status that is not an outage. It is about this attempt alone: an earlier one
    /// that may be in effect still may.
    pub fn refuse(&mut self, id: WriteId, failure: Failure, now_ms: u64) -> Result<&Entry, Refusal> {
        let mut entry = self.movable(id, Verb::Settle)?;
        if failure.verdict().is_outage() {
            return Err(Refusal::AnOutage);
        }
        entry.last_error = Some(failure.to_string());
        self.moved(entry, Verb::Settle, Status::Failed, now_ms)
    }
}
