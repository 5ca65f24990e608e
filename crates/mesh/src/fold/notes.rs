//! What a fold remembers of a task beside its rows: which ops gave it its results, and on what its claims stood.

use super::keys::Hold;
use relaymesh_core::{
    id::OpId,
    op::{Body, Op},
    task::{self, Status, TaskRows},
};
use std::collections::BTreeMap;

/// What a fold remembers of a task.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub(super) struct Notes {
    /// By step: the op whose result counts.
    pub(super) results: BTreeMap<u16, OpId>,
    /// By step: the claim that counts, and the results that it cites.
    pub(super) claims: BTreeMap<u16, (OpId, Vec<OpId>)>,
    /// The key that the task holds.
    pub(super) hold: Option<Hold>,
}

impl Notes {
    /// An op about a task took effect.
    pub(super) fn take(&mut self, op: &Op) {
        let id = op.header.op_id;
        if let Body::Task(task::Body::ScheduleJob { schedule }) = &op.body {
            self.hold = Some(Hold {
                key: (op.header.namespace.clone(), schedule.key.clone()),
                scope: op.header.scope,
                since: op.header.hlc,
                until: None,
                fingerprint: schedule.fingerprint,
            });
        } else if let Body::Task(task::Body::ClaimWork { step, .. }) = &op.body {
            // A renewal cites nothing: it stands on what the claim stood on.
            if !op.header.causal_deps.is_empty() || !self.claims.contains_key(step) {
                self.claims.insert(*step, (id, op.header.causal_deps.clone()));
            }
        } else if let Body::Task(task::Body::CompleteJob { held, .. }) = &op.body {
            self.results.insert(held.step, id);
        } else if let Body::Task(task::Body::RedriveTask { .. }) = &op.body {
            self.claims.clear();
        } else if let (Body::PurgeScope {}, Some(hold)) = (&op.body, &mut self.hold) {
            hold.until = Some(op.header.hlc);
        }
    }

    /// The steps whose claim stands on results that do not count any more. They are marked, never run again by themselves.
    pub(super) fn stale_inputs(&self, rows: &TaskRows) -> Vec<u16> {
        let stale = |index: u16| {
            let step = rows.steps.get(usize::from(index))?;
            let (_, cited) = self.claims.get(&index)?;
            let begun = matches!(step.status, Status::Running | Status::Success);
            let missing = |before: &u16| self.results.get(before).is_some_and(|result| !cited.contains(result));
            let cites = !cited.is_empty() && begun;
            (cites && step.spec.depends_on.iter().any(missing)).then_some(index)
        };
        rows.indexed().filter_map(|(index, _)| stale(index)).collect()
    }
}
