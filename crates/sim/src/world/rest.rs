//! Whether everything has come to rest, and what there was.

use super::{Event, LOOK_EVERY, World};
use crate::{
    actor::Worker,
    invariant::{Broken, Look, Rest},
    ledger::Ledger,
    time::Ns,
};

impl World {
    /// Ends the run once everything was quiet twice, or the time is up.
    pub(super) fn settled(&mut self, quiet: bool) {
        let is_quiet = self.ledgers.iter().all(Ledger::is_at_rest)
            && self.calls.values().all(|call| call.over)
            && self.workers.iter().all(Worker::is_idle)
            && self.parties.values().all(|party| party.is_idle())
            && self.nodes.iter().all(|node| node.life.as_ref().is_some_and(|life| life.is_settled()));
        if !(quiet && is_quiet) && self.now() < self.plan.rest_by {
            return self.agenda.after(LOOK_EVERY, Event::Settled { quiet: is_quiet });
        }
        self.resting = true;
        for (node, ledger) in self.nodes.iter().zip(&self.ledgers) {
            let life = node.life.as_ref();
            let rest = Rest {
                sizes: life.map(|life| life.sizes()),
                is_settled: life.is_some_and(|life| life.is_settled()),
                at: self.agenda.now(),
            };
            self.invariants.rest(Look { reader: &mut node.reader(), ledger }, &rest);
        }
    }

    pub(crate) fn now(&self) -> Ns {
        self.agenda.now()
    }

    /// Ops on all logs.
    pub(crate) fn ops(&self) -> u64 {
        self.ledgers.iter().map(Ledger::pos).sum()
    }

    pub(crate) fn tasks(&self) -> usize {
        self.ledgers.iter().map(|ledger| ledger.tasks.len()).sum()
    }

    /// Namespaces that were made.
    pub(crate) fn namespaces(&self) -> usize {
        self.ledgers.iter().map(|ledger| ledger.namespaces.len()).sum()
    }

    /// Messages on all logs.
    pub(crate) fn messages(&self) -> usize {
        self.ledgers.iter().map(|ledger| ledger.messages().count()).sum()
    }

    /// Locks that were ever given out.
    pub(crate) fn locks(&self) -> u64 {
        let fences = |ledger: &Ledger| ledger.repositories.values().map(|rows| rows.repository.fence).sum::<u64>();
        self.ledgers.iter().map(fences).sum()
    }

    /// Steps that an answer has completed.
    pub(crate) fn answered_steps(&self) -> usize {
        self.ledgers.iter().map(|ledger| ledger.completed_by.len()).sum()
    }

    pub(crate) fn broken(&self) -> Option<&Broken> {
        self.invariants.broken.as_ref()
    }
}
