//! Attempts under way: who makes them, which of them are to be started, and outcomes that are not written down yet.
//!
//! Nothing here is durable: at a restart, and for what a roll-back undid, it is made again from the rows.

mod deadlines;

pub(super) use deadlines::Deadline;

use crate::world::{Finished, Hold, Pool};
use relaymesh_core::id::{StepId, WorkerId};
use relaymesh_store::{Batch, Spend};
use std::{
    collections::{BTreeMap, BTreeSet, HashMap, VecDeque},
    sync::Arc,
};

#[derive(Debug, Default)]
pub(super) struct Attempts {
    by_step: HashMap<StepId, Attempt>,
    deadlines: BTreeSet<(u64, StepId, u32, Deadline)>,
    own: usize,
    /// Places that are taken, by pool.
    taken: BTreeMap<Arc<str>, usize>,
    /// Attempts whose claims are durable, with the batch that may hold their input.
    to_start: VecDeque<(Hold, Arc<Batch>)>,
    /// Outcomes whose batch was rolled back, to be told again.
    untold: VecDeque<Finished>,
    /// Journal rows whose batch was rolled back.
    unwritten: Vec<Spend>,
    /// Nothing is begun any more.
    closing: bool,
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
enum Worker {
    /// This node's own agents.
    Own,
    /// A worker from outside, with its lease.
    Outside { worker: WorkerId, lease_ms: u64, deadline_ms: Option<u64> },
}

/// What a batch does about attempts.
#[derive(Debug, Default)]
pub(super) struct Share {
    /// Attempts that exist only because of it: they were claimed, or their step was asked for.
    begun: Vec<(StepId, u32)>,
    /// Outcomes of the world's own agents that are written down.
    outcomes: Vec<Finished>,
}

impl Share {
    /// The question of this step is sent.
    pub(super) fn note_asked(&mut self, hold: Hold) {
        self.begun.push((hold.step, hold.epoch));
    }

    /// The outcome is written down.
    pub(super) fn note_outcome(&mut self, finished: Finished) {
        self.outcomes.push(finished);
    }
}

impl Attempts {
    /// Whether there is a place in each of these.
    pub(super) fn has_room(&self, pools: &[Pool]) -> bool {
        pools.iter().all(|pool| self.taken.get(&pool.name).copied().unwrap_or(0) < pool.places)
    }

    /// Whether one more of this node's own may begin, if so many are possible at once.
    pub(super) fn has_slot(&self, slots: usize) -> bool {
        !self.closing && self.own < slots
    }

    /// Nothing is begun any more.
    pub(super) fn close(&mut self) {
        self.closing = true;
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

    /// A claim of this node's own agents was decided. It takes its places at once; its work begins once the batch is durable.
    pub(super) fn begin_own(&mut self, step: StepId, epoch: u32, pools: Vec<Arc<str>>, share: &mut Share) {
        self.begin(step, epoch, Worker::Own, pools);
        share.begun.push((step, epoch));
    }

    /// A claim of a worker from outside was decided. Its lease begins to run once the batch is durable.
    pub(super) fn begin_outside(
        &mut self,
        step: StepId,
        epoch: u32,
        worker: WorkerId,
        lease_ms: u64,
        share: &mut Share,
    ) {
        self.begin(step, epoch, Worker::Outside { worker, lease_ms, deadline_ms: None }, Vec::new());
        share.begun.push((step, epoch));
    }

    /// A durable lease of a worker from outside was found in the rows: it gets one full term.
    pub(super) fn resume_outside(&mut self, hold: Hold, worker: WorkerId, lease_ms: u64, mono_ms: u64) {
        self.begin(hold.step, hold.epoch, Worker::Outside { worker, lease_ms, deadline_ms: None }, Vec::new());
        self.renew(hold.step, mono_ms);
    }

    fn begin(&mut self, step: StepId, epoch: u32, worker: Worker, pools: Vec<Arc<str>>) {
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

    /// A durable claim whose work is to begin. Its input may be in `batch`.
    pub(super) fn start(&mut self, hold: Hold, batch: Arc<Batch>) {
        self.to_start.push_back((hold, batch));
    }

    /// The next claim whose work is to begin.
    pub(super) fn pop_start(&mut self) -> Option<(Hold, Arc<Batch>)> {
        self.to_start.pop_front()
    }

    /// How many claims are durable and their work has not begun.
    pub(super) fn starts(&self) -> usize {
        self.to_start.len()
    }

    /// An outcome could not be written down. It is to be told again.
    pub(super) fn tell_again(&mut self, finished: Finished) {
        self.untold.push_back(finished);
    }

    /// Outcomes that are to be told again. They are not kept here any more.
    pub(super) fn take_untold(&mut self) -> VecDeque<Finished> {
        std::mem::take(&mut self.untold)
    }

    /// How many outcomes are to be told again.
    pub(super) fn untold(&self) -> usize {
        self.untold.len()
    }

    /// Journal rows that are to be written again. They are not kept here any more.
    pub(super) fn take_unwritten(&mut self) -> Vec<Spend> {
        std::mem::take(&mut self.unwritten)
    }

    /// The batch is rolled back. What it claimed was never begun; a step that it asked is found without an attempt and asked
    /// again. What was used was used, whether there is room to write it down or not.
    pub(super) fn undo(&mut self, share: Share, spends: impl IntoIterator<Item = Spend>) {
        let Share { begun, outcomes } = share;
        for (step, epoch) in begun {
            self.end(step, epoch);
        }
        self.untold.extend(outcomes);
        self.unwritten.extend(spends);
    }
}
