//! Land: decide, and change the entity if the answer is `applied`.

use super::decide::{Arriving, Current, Decision, Outcome, reconcile};
use crate::fence::Gate;
use relaymesh_core::{hash::Hash, hlc::Hlc, id::IntentId};
use std::collections::BTreeMap;

/// An entity as the receiving node keeps it.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct Entity {
    /// Grows by one with every write that was applied; 0 before the first.
    pub revision: u64,
    /// When the newest was written.
    pub written: Option<Hlc>,
    /// What is there.
    pub content: Option<Hash>,
    /// The intents that were applied, with their content. On a log these are its ops.
    pub applied: BTreeMap<IntentId, Hash>,
}

/// Decides about a write and lets it take effect if it is to. The fence is remembered only then.
pub fn land(entity: &mut Entity, gate: &mut Gate, write: &Arriving) -> Decision {
    let current = Current {
        gate,
        revision: entity.revision,
        written: entity.written,
        content: entity.content,
        known: entity.applied.get(&write.intent).copied(),
    };
    let decision = reconcile(write, &current);
    if decision.outcome != Outcome::Applied {
        return decision;
    }
    if let Some(token) = write.fence {
        // It was checked a moment ago against this very gate.
        let admitted = gate.admit(token, write.origin);
        debug_assert_eq!(admitted, Ok(()));
    }
    entity.revision += 1;
    entity.written = entity.written.max(Some(write.created));
    entity.content = Some(write.content);
    entity.applied.insert(write.intent, write.content);
    decision
}
