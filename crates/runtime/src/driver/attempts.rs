//! Attempts under way: which are this node's own, and when each runs out of time or of its lease.
//!
//! All times here are of the monotonic clock (R10). Nothing here is durable: at a restart it is made again from the rows.

use crate::world::Pool;
use relaymesh_core::id::{StepId, WorkerId};
use std::{
    collections::{BTreeMap, BTreeSet, HashMap},
    sync::Arc,
};

/// What is up with an attempt.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
pub(super) enum Deadline {
    /// It has taken longer than its step allows.
    Timeout,
    /// Its worker has not been heard of for a full term.
    Lease,
}

#[derive(Debug)]
struct Attempt {
    epoch: u32,
    worker: Worker,
    timeout_at_ms: Option<u64>,
    /// What it takes a place in.
    pools: Vec<Arc<str>>,
}

/// Who makes the attempt.
#[derive(Debug, Clone, Copy)]
pub(super) enum Worker {
    /// This node's own agents.
    Own,
    /// A worker from outside, with its lease.
    Outside { worker: WorkerId, lease_ms: u64, deadline_ms: Option<u64> },
}

#[derive(Debug, Default)]
pub(super) struct Attempts {
    by_step: HashMap<StepId, Attempt>,
    deadlines: BTreeSet<(u64, StepId, u32, Deadline)>,
    own: usize,
    /// Places that are taken, by pool.
    taken: BTreeMap<Arc<str>, usize>,
}

impl Attempts {
    /// Whether there is a place in each of these.
    pub(super) fn has_room(&self, pools: &[Pool]) -> bool {
        pools.iter().all(|pool| self.taken.get(&pool.name).copied().unwrap_or(0) < pool.places)
    }

    /// How many are this node's own.
    pub(super) fn own(&self) -> usize {
        self.own
    }

    /// How many there are in all.
    pub(super) fn len(&self) -> usize {
        self.by_step.len()
    }

    pub(super) fn contains(&self, step: StepId) -> bool {
        self.by_step.contains_key(&step)
    }

    /// A claim was decided.
    pub(super) fn begin(&mut self, step: StepId, epoch: u32, worker: Worker, pools: Vec<Arc<str>>) {
        // Whoever had the step has given it back in this very batch: what is left of that attempt goes first.
        if let Some(before) = self.by_step.get(&step).map(|attempt| attempt.epoch) {
            self.end(step, before);
        }
        self.own += usize::from(matches!(worker, Worker::Own));
        for pool in &pools {
            *self.taken.entry(pool.clone()).or_default() += 1;
        }
        self.by_step.insert(step, Attempt { epoch, worker, timeout_at_ms: None, pools });
    }

    /// Its work has begun: from now on it may take `timeout_ms`.
    pub(super) fn set_timeout(&mut self, step: StepId, epoch: u32, at_ms: u64) {
        if let Some(attempt) = self.by_step.get_mut(&step).filter(|attempt| attempt.epoch == epoch) {
            attempt.timeout_at_ms = Some(at_ms);
            self.deadlines.insert((at_ms, step, epoch, Deadline::Timeout));
        }
    }

    /// A lease begins to run, or runs anew.
    pub(super) fn renew(&mut self, step: StepId, now_ms: u64) {
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

    /// Every step on which the worker's lease runs: one whose claim is not durable yet has not begun.
    pub(super) fn held_by(&self, who: WorkerId) -> Vec<StepId> {
        self.steps(|held| matches!(held, Worker::Outside { worker, deadline_ms: Some(_), .. } if *worker == who))
    }

    /// Every step that this node's own agents hold.
    pub(super) fn own_steps(&self) -> Vec<StepId> {
        self.steps(|held| matches!(held, Worker::Own))
    }

    fn steps(&self, holds: impl Fn(&Worker) -> bool) -> Vec<StepId> {
        let held = self.by_step.iter().filter(|(_, attempt)| holds(&attempt.worker));
        let mut steps: Vec<StepId> = held.map(|(step, _)| *step).collect();
        steps.sort_unstable();
        steps
    }

    /// The attempt is over.
    pub(super) fn end(&mut self, step: StepId, epoch: u32) {
        if self.by_step.get(&step).is_none_or(|attempt| attempt.epoch != epoch) {
            return;
        }
        let Some(attempt) = self.by_step.remove(&step) else { return };
        for pool in &attempt.pools {
            if let Some(taken) = self.taken.get_mut(pool) {
                *taken -= 1;
            }
        }
        if let Some(at_ms) = attempt.timeout_at_ms {
            self.deadlines.remove(&(at_ms, step, epoch, Deadline::Timeout));
        }
        match attempt.worker {
            Worker::Own => self.own -= 1,
            Worker::Outside { deadline_ms, .. } => {
                if let Some(at_ms) = deadline_ms {
                    self.deadlines.remove(&(at_ms, step, epoch, Deadline::Lease));
                }
            }
        }
    }

    /// The first deadline.
    pub(super) fn next_deadline_ms(&self) -> Option<u64> {
        self.deadlines.first().map(|(at_ms, ..)| *at_ms)
    }

    /// Takes out the first deadline if it has passed.
    pub(super) fn pop_passed(&mut self, now_ms: u64) -> Option<(StepId, u32, Deadline)> {
        let (at_ms, step, epoch, what) = *self.deadlines.first()?;
        if at_ms > now_ms {
            return None;
        }
        self.deadlines.pop_first();
        Some((step, epoch, what))
    }

    /// Puts a deadline off: the clock jumped, or the log's time is not there yet.
    pub(super) fn put_off(&mut self, step: StepId, epoch: u32, what: Deadline, at_ms: u64) {
        let Some(attempt) = self.by_step.get_mut(&step).filter(|attempt| attempt.epoch == epoch) else { return };
        match (&mut attempt.worker, what) {
            (Worker::Outside { deadline_ms, .. }, Deadline::Lease) => *deadline_ms = Some(at_ms),
            (Worker::Own | Worker::Outside { .. }, Deadline::Timeout) => attempt.timeout_at_ms = Some(at_ms),
            (Worker::Own, Deadline::Lease) => return,
        }
        self.deadlines.insert((at_ms, step, epoch, what));
    }
}
