//! What was done with leases and locks, as those who did it saw it: for a check of linearizability.
//!
//! There are operations of workers and lockers, with the time between question and answer, and of the node itself, at
//! the moment they are durable.

mod leases;
mod locks;

pub use leases::{LeaseOp, LeaseRet};
pub use locks::{LockHistory, LockOp, LockRet};

use crate::{
    call::{Call, CallId},
    ledger::OpSeen,
};
use leases::Leases;
use locks::Locks;
use relaymesh_core::id::{RepositoryId, StepId};
use relaymesh_runtime::driver::{Answer, Error};

/// One end of an operation.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Moment<O, R> {
    /// It was asked for.
    Invoked(O),
    /// It was answered.
    Returned(R),
    /// It came to nothing for sure: rejected before anybody looked.
    Withdrawn,
}

/// What was done with the lease of one step.
pub type LeaseMoment = (Thread, Moment<LeaseOp, LeaseRet>);

/// Who does it: each operation has a number of its own.
pub type Thread = u64;

/// The operations on every step and in every repository, in the order in which their ends were seen.
#[derive(Debug, Default)]
pub struct History {
    leases: Leases,
    locks: Locks,
}

impl History {
    /// The operations on each step.
    pub fn steps(&self) -> impl Iterator<Item = (StepId, &[LeaseMoment])> {
        self.leases.steps()
    }

    /// The operations on the locks of each repository, in groups of keys that may overlap.
    pub fn locks(&self) -> impl Iterator<Item = (RepositoryId, &str, &LockHistory)> {
        self.locks.groups()
    }

    pub(crate) fn sent(&mut self, call: &Call) {
        self.leases.sent(call);
        self.locks.sent(call);
    }

    pub(crate) fn answered(&mut self, call: &Call, result: &Result<Answer, Error>) {
        self.leases.answered(call, result);
        self.locks.answered(call, result);
    }

    /// Nobody was there to take the command.
    pub(crate) fn withdrawn(&mut self, call: &Call) {
        self.leases.withdrawn(call);
        self.locks.withdrawn(call.id);
    }

    /// An op is durable: what the node did by itself happens now.
    pub(crate) fn durable(&mut self, seen: &OpSeen<'_>) {
        self.leases.durable(seen);
        self.locks.durable(seen);
    }

    /// The run is over: what was never answered and is not on the log never happened.
    pub(crate) fn settle(&mut self) {
        self.locks.settle();
    }
}

/// Calls have even numbers, what the node does by itself has odd ones.
fn thread(call: CallId) -> Thread {
    call * 2
}
