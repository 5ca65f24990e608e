//! What is true of the queue after every verb. A broken rule is a bug here.

use super::{OPEN_MAX, queue::Queue, state::NOTE_BYTES_MAX, table::Status};
use relaymesh_core::id::WriteId;

/// A rule that does not hold.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
#[error("{rule} ({id:?})")]
pub struct Invalid {
    /// The rule.
    pub rule: &'static str,
    /// The row that breaks it, if it is about one.
    pub id: Option<WriteId>,
}

impl Queue {
    /// Checks every rule; the first broken one is the answer.
    pub fn validate(&self) -> Result<(), Invalid> {
        for (id, entry) in &self.rows {
            let status = entry.status;
            let alone = status != Status::Replaying || self.first(entry.write.target) == Some(*id);
            let in_effect = entry.outcome.map(|outcome| outcome.is_in_effect());
            let rules = [
                (*id == entry.write.id, "a row lies under its id"),
                (self.open.contains(&entry.place()) == status.is_open(), "open rows are in the order, others are not"),
                (self.intents.get(&entry.write.intent) == Some(id), "each intent has one row"),
                (alone, "what is being sent is the oldest open row of its target"),
                (entry.attempt_count > 0, "what is here was tried"),
                ((status == Status::Applied) == (in_effect == Some(true)), "applied means in effect"),
                (status != Status::Applied || !entry.indeterminate, "what is settled is certain"),
                (entry.applied_ms.is_some() == (status == Status::Applied), "applied rows say when"),
                (
                    entry.last_error.as_ref().is_none_or(|error| error.len() <= NOTE_BYTES_MAX),
                    "what went wrong is said shortly",
                ),
            ];
            if let Some((_, rule)) = rules.into_iter().find(|(holds, _)| !holds) {
                return Err(Invalid { rule, id: Some(*id) });
            }
        }
        let rules = [
            (self.open.len() <= OPEN_MAX, "no more open rows than allowed"),
            (self.intents.len() == self.rows.len(), "as many intents as rows"),
            (self.open.iter().all(|(_, _, id)| self.rows.contains_key(id)), "the order is of rows that are there"),
        ];
        match rules.into_iter().find(|(holds, _)| !holds) {
            Some((_, rule)) => Err(Invalid { rule, id: None }),
            None => Ok(()),
        }
    }
}
