//! When attempts run out of time or of their lease.
//!
//! All times here are of the monotonic clock (R10).

use super::{Attempts, Worker};
use relaymesh_core::id::StepId;

/// What is up with an attempt.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
pub(in crate::driver) enum Deadline {
    /// It has taken longer than its step allows.
    Timeout,
    /// Its worker has not been heard of for a full term.
    Lease,
}

impl Attempts {
    /// Its work has begun: from now on it may take `timeout_ms`.
    pub(in crate::driver) fn set_timeout(&mut self, step: StepId, epoch: u32, at_ms: u64) {
        if let Some(attempt) = self.by_step.get_mut(&step).filter(|attempt| attempt.epoch == epoch) {
            attempt.timeout_at_ms = Some(at_ms);
            self.deadlines.insert((at_ms, step, epoch, Deadline::Timeout));
        }
    }

    /// A lease begins to run, or runs anew.
    pub(in crate::driver) fn renew(&mut self, step: StepId, now_ms: u64) {
        let Some(attempt) = self.by_step.get_mut(&step) else { return };
        let Worker::Outside { lease_ms, deadline_ms, .. } = &mut attempt.worker else { return };
        if let Some(old) = deadline_ms.take() {
            self.deadlines.remove(&(old, step, attempt.epoch, Deadline::Lease));
        }
        // One more than the term, so that the HLC is past the deadline too when this one passes.
        let at_ms = now_ms.saturating_add(*lease_ms).saturating_add(1);
        *deadline_ms = Some(at_ms);
        self.deadlines.insert((at_ms, step, attempt.epoch, Deadline::Lease));
    }

    /// The first deadline.
    pub(in crate::driver) fn next_deadline_ms(&self) -> Option<u64> {
        self.deadlines.first().map(|(at_ms, ..)| *at_ms)
    }

    /// Takes out the first deadline if it has passed.
    pub(in crate::driver) fn pop_passed(&mut self, now_ms: u64) -> Option<(StepId, u32, Deadline)> {
        let (at_ms, step, epoch, what) = *self.deadlines.first()?;
        if at_ms > now_ms {
            return None;
        }
        self.deadlines.pop_first();
        Some((step, epoch, what))
    }

    /// Puts a deadline off: the clock jumped, or the log's time is not there yet.
    pub(in crate::driver) fn put_off(&mut self, step: StepId, epoch: u32, what: Deadline, at_ms: u64) {
        let Some(attempt) = self.by_step.get_mut(&step).filter(|attempt| attempt.epoch == epoch) else { return };
        match (&mut attempt.worker, what) {
            (Worker::Outside { deadline_ms, .. }, Deadline::Lease) => *deadline_ms = Some(at_ms),
            (Worker::Own | Worker::Outside { .. }, Deadline::Timeout) => attempt.timeout_at_ms = Some(at_ms),
            (Worker::Own, Deadline::Lease) => return,
        }
        self.deadlines.insert((at_ms, step, epoch, what));
    }
}
