//! Who runs next: the ready window, filled from offers and, when those have overflowed, from the store's queues.

use super::{attempts::Worker, commit::earlier, engine::Engine};
use crate::world::{Alert, Hold, World};
use relaymesh_core::{
    id::{StepId, TaskId},
    lanes::Priority,
    task::Step,
};
use relaymesh_store::{Error, Queue, Reader, StepKey};

impl<R: Reader, W: World> Engine<R, W> {
    /// A step became ready. Claimed in this very batch if a slot is free and nobody waits before it.
    pub(super) fn offer(&mut self, task: TaskId, index: u16) {
        let Some((step, _)) = self.step(task, index) else { return };
        if !self.world.knows(&step.spec.agent) {
            return; // a worker from outside will claim it
        }
        let free = !self.closing && self.attempts.own() < self.config.slots;
        if free && self.window.is_empty() && !self.backlog {
            self.claim_own(task, index);
        } else if self.window.len() < self.config.queue_capacity {
            self.enqueue(task, index);
        } else {
            self.backlog = true;
            self.open.after.overflow = true;
        }
    }

    /// Claims from the window as long as there are slots.
    pub(super) fn dispatch(&mut self) {
        loop {
            if self.closing || self.attempts.own() >= self.config.slots || !self.has_room() {
                return;
            }
            let low = self.window.len() < self.config.queue_capacity.div_ceil(2);
            if self.backlog
                && low
                && let Err(error) = self.refill()
            {
                // Not at once, or an unreadable disk would keep the processor busy; but soon, whatever else falls due.
                self.world.alert(Alert::Unreadable(error.to_string()));
                self.backlog = false;
                let again_ms = self.world.now().wall_ms.saturating_add(self.config.reclaim_scan_interval_ms);
                self.due_ms = earlier(self.due_ms, Some(again_ms));
            }
            let Some((_, (task, index))) = self.window.pop() else { return };
            if let Some((_, key)) = self.step(task, index) {
                self.windowed.remove(&key);
            }
            if let Some(entry) = self.cache.get_mut(task) {
                entry.queued = entry.queued.saturating_sub(1);
            }
            self.claim_own(task, index);
            self.cache.settle(task, self.settled_batch()); // if it was not ours to run, nothing keeps it here
        }
    }

    /// A claim was decided: remember who makes the attempt, and what to do once it is durable.
    pub(super) fn note_start(&mut self, task: TaskId, index: u16, epoch: u32) {
        let Some((step, _)) = self.step(task, index) else { return };
        let Some(lease) = step.lease.clone() else { return };
        let hold = Hold { step: StepId { task, index }, epoch, token: lease.token };
        if lease.worker == self.worker {
            self.attempts.begin(hold.step, epoch, Worker::Own);
            self.open.after.starts.push(hold);
        } else {
            let lease_ms = lease.deadline_ms - lease.claimed_ms;
            let worker = Worker::Outside { worker: lease.worker, lease_ms, deadline_ms: None };
            self.attempts.begin(hold.step, epoch, worker);
            self.open.after.leases.push(hold);
        }
    }

    /// The live rows of a step.
    pub(super) fn step(&self, task: TaskId, index: u16) -> Option<(&Step, StepKey)> {
        let rows = self.cache.get(task)?.rows.as_ref()?;
        Some((rows.steps.get(usize::from(index))?, StepKey::new(rows.task.key, index)))
    }

    fn claim_own(&mut self, task: TaskId, index: u16) {
        let caller = self.itself.clone();
        let (worker, lease_ms) = (self.worker, self.config.lease_timeout_ms);
        // A refusal means that the step was cancelled or claimed meanwhile: it is not ours to run.
        let _ = self.claim(&caller, StepId { task, index }, worker, lease_ms);
    }

    fn enqueue(&mut self, task: TaskId, index: u16) {
        let Some((step, key)) = self.step(task, index) else { return };
        let priority = step.spec.priority;
        if !self.windowed.insert(key) {
            return;
        }
        self.window.push(priority, (task, index));
        if let Some(entry) = self.cache.get_mut(task) {
            entry.queued += 1;
        }
    }

    /// Fills the window from the store. Rows that are live here are newer than what the store's queues say.
    fn refill(&mut self) -> Result<(), Error> {
        let now_ms = self.world.now().wall_ms;
        let mut exhausted = true;
        for priority in Priority::ALL {
            let share = (self.config.queue_capacity / Priority::ALL.len()).max(1);
            let mut after = None;
            let mut found = 0;
            while found < share && self.window.len() < self.config.queue_capacity {
                let page = self.reader.due(Queue::Ready(priority), now_ms, after, share)?;
                let Some(last) = page.last() else { break };
                after = Some(*last);
                for (_, key) in page {
                    if self.window.len() >= self.config.queue_capacity {
                        break;
                    }
                    found += usize::from(self.take_in(key, now_ms)?);
                }
            }
            exhausted &= found < share && self.window.len() < self.config.queue_capacity;
        }
        self.backlog = !exhausted;
        Ok(())
    }

    fn take_in(&mut self, key: StepKey, now_ms: u64) -> Result<bool, Error> {
        if self.windowed.contains(&key) {
            return Ok(false);
        }
        let Some(task) = self.cache.load_key(key.task(), &mut self.reader)? else { return Ok(false) };
        let Some((step, _)) = self.step(task, key.place()) else { return Ok(false) };
        let wanted = step.is_claimable(now_ms) && self.world.knows(&step.spec.agent);
        if wanted {
            self.enqueue(task, key.place());
        } else {
            self.cache.settle(task, self.settled_batch());
        }
        Ok(wanted)
    }
}
