//! What is to be done because a batch is durable. It follows from what the batch changed, not from the decisions that led there: a
//! node that only applies batches has made no decision, and rows that are folded again have no op.
//!
//! | effect | follows from |
//! |---|---|
//! | start an attempt, let a lease begin to run | rows: the step runs now, with an epoch that did not run before |
//! | stop an attempt | rows: it ran before, does not now, and the step's history says that its end was not its own; |
//! | | journal: a stale word of it was refused |
//! | wake an inbox | rows: a message waits now, or has come to its end |
//! | look again when something falls due | rows (`due_ms`) |
//! | event, answer to a caller that waits for an end | op |
//!
//! Changes of one row within a batch coalesce. That loses nothing of the first four: an attempt that began and ended within one batch was
//! never begun, since work begins when the claim is durable, and a message that was taken again need not be looked at. Events and ends do
//! lose by it. A task that is cancelled and redriven in one batch looks as if it had gone on; one that ends and is purged leaves no row; and an
//! event names its op. So they are noted with the op that makes them, and told when its batch is durable. Two acts of the node itself are no
//! change of a row, either: when it closes, it stops its own attempts, although they end as given back.

use super::event::Posted;
use crate::world::Hold;
use relaymesh_core::{
    id::{NodeId, StepId, TaskId, WorkerId},
    message::State,
    task::{Outcome, Status, Step, state::HISTORY_MAX},
};
use relaymesh_store::{Batch, StepChange, scope::Change};

/// What is to be done about attempts.
#[derive(Debug, Default, Clone, PartialEq, Eq)]
pub(super) struct Effects {
    /// Claims that count from now on.
    pub(super) starts: Vec<Start>,
    /// Attempts that no longer count.
    pub(super) stops: Vec<(StepId, u32)>,
}

/// A claim that counts from now on.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) struct Start {
    pub(super) hold: Hold,
    pub(super) worker: WorkerId,
}

impl Effects {
    /// Takes in a step that the batch changes. Only claims for which `node` answers are started here.
    pub(super) fn take_in(&mut self, task: TaskId, change: StepChange<'_>, node: NodeId) {
        let StepChange { index, running_before, after } = change;
        let step = StepId { task, index };
        let running = (after.status == Status::Running).then_some(after.epoch);
        if running == running_before {
            return;
        }
        if let Some(epoch) = running_before.filter(|epoch| was_ended_by_others(after, *epoch)) {
            self.stops.push((step, epoch));
        }
        if let Some(epoch) = running
            && let Some(lease) = after.lease.as_ref().filter(|lease| lease.owner == node)
        {
            let hold = Hold { step, epoch, token: lease.token };
            self.starts.push(Start { hold, worker: lease.worker });
        }
    }

    /// Takes in the journal of the batch: a worker whose word was stale does not know that its attempt is over.
    pub(super) fn take_in_journal(&mut self, batch: &Batch) {
        self.stops.extend(batch.conflicts.iter().map(|conflict| (conflict.step, conflict.given)));
    }
}

/// Whether somebody else ended the attempt, so that whatever works on it does not know. A hold in which the node only worked something
/// out is not in the history. What is too old to be there is stopped to be safe.
fn was_ended_by_others(step: &Step, epoch: u32) -> bool {
    match step.history.iter().rfind(|attempt| attempt.epoch <= epoch) {
        Some(attempt) if attempt.epoch == epoch => match attempt.outcome {
            Outcome::Timeout | Outcome::Abandoned | Outcome::Cancelled => true,
            Outcome::Success | Outcome::Failed | Outcome::Yielded => false,
        },
        Some(_) => false,
        None => step.history.len() == HISTORY_MAX,
    }
}

/// Inboxes that are to be looked at: a message waits there now, or one that waited has come to its end.
pub(super) fn posted(batch: &Batch) -> impl Iterator<Item = Posted> {
    batch.scopes.iter().filter_map(|put| {
        let (row, is_new) = match &put.change {
            Change::Created(row) => (row, true),
            Change::Changed(row) => (row, false),
            Change::Removed => return None,
        };
        let message = row.message.as_ref()?;
        let due_ms = match message.state {
            State::Queued => message.queued_ms.unwrap_or(0),
            State::Done | State::Failed | State::Dead if !is_new => 0,
            State::Done | State::Failed | State::Dead | State::Processing => return None,
        };
        Some(Posted { namespace: row.namespace.clone(), to: message.to.clone(), due_ms })
    })
}
