//! Who runs next: the ready window, filled from offers and, when those have overflowed, from the store's queues.

use super::{engine::Engine, ready::At};
use crate::world::{Alert, Pool, World};
use relaymesh_core::{
    id::{StepId, TaskId},
    lanes::Priority,
    name::Name,
    task::Step,
};
use relaymesh_store::{Error, Queue, Reader, StepKey};

/// How long a step waits for an answer before it is asked again, unless it has a timeout.
const ANSWER_MS_MAX: u64 = 30 * 24 * 60 * 60 * 1000;
/// Steps of the store that are looked at together for the share of a namespace.
const SHARE_PAGE: usize = 256;
/// Such looks in one go.
const SHARE_PAGES: usize = 4;

impl<R: Reader, W: World> Engine<R, W> {
    /// A step became ready. Claimed in this very batch if a slot is free and nobody waits before it.
    pub(super) fn offer(&mut self, task: TaskId, index: u16) {
        let Some((step, _)) = self.step(task, index) else { return };
        if !self.is_ours(step) {
            return; // a worker from outside will claim it
        }
        let pools = self.pools(step);
        let has_place = self.attempts.has_room(pools);
        let free = self.attempts.has_slot(self.config.slots);
        if !pools.is_empty() && (!has_place || self.ready.waits_for_place(&step.spec.agent)) {
            self.park_offered(task, index);
        } else if free && self.ready.is_empty() {
            self.claim_own(task, index);
        } else if self.ready.len() < self.config.queue_capacity {
            self.enqueue(task, index);
        } else {
            self.overflow(task, index);
        }
    }

    /// A step finds the window full. A namespace that has little in it has a few places of its own.
    fn overflow(&mut self, task: TaskId, index: u16) {
        let standing = if self.live.namespaces().len() > 1 { self.standing(task, index) } else { None };
        if standing.as_ref().is_some_and(|at| self.ready.has_share(at.priority, &at.namespace)) {
            self.enqueue(task, index);
        } else {
            self.ready.overflow(standing, &mut self.pipeline.after().ready);
        }
    }

    /// Claims from the window as long as there are slots.
    pub(super) fn dispatch(&mut self) {
        if self.live.namespaces().len() > 1 && self.attempts.has_slot(self.config.slots) {
            self.look_for_shares();
        }
        loop {
            if !self.attempts.has_slot(self.config.slots) || !self.has_room() {
                return;
            }
            if self.dispatch_parked() {
                continue;
            }
            if self.ready.is_to_refill(self.config.queue_capacity)
                && let Err(error) = self.refill()
            {
                self.unreadable(&error);
                self.ready.give_up_refill();
            }
            let Some((_, (task, index))) = self.ready.pop() else { return };
            let has_place = |(step, _): (&Step, _)| self.attempts.has_room(self.pools(step));
            if self.step(task, index).is_none_or(has_place) {
                self.claim_queued(task, index);
            } else {
                self.park_queued(task, index);
            }
        }
    }

    /// Something could not be read. Not at once again, or an unreadable disk would keep the processor busy; but soon, whatever
    /// else falls due.
    pub(super) fn unreadable(&mut self, error: &Error) {
        self.world.alert(Alert::Unreadable(error.to_string()));
        self.ready.look_at_all();
        let again_ms = self.world.now().wall_ms.saturating_add(self.config.reclaim_scan_interval_ms);
        self.timers.due_at(Some(again_ms));
    }

    /// Claims a step that stood in a queue here.
    pub(super) fn claim_queued(&mut self, task: TaskId, index: u16) {
        self.unqueue(task, index);
        self.claim_own(task, index);
        self.live.let_go_of(task, self.pipeline.settled()); // if it was not ours to run, nothing keeps it here
    }

    /// The step stands in no queue here any more.
    pub(super) fn unqueue(&mut self, task: TaskId, index: u16) {
        if let Some((_, key)) = self.step(task, index) {
            self.ready.let_go(key);
        }
        self.live.unqueue(task);
    }

    /// A claim was decided: remember who makes the attempt.
    pub(super) fn note_start(&mut self, task: TaskId, index: u16, epoch: u32) {
        let Some((step, _)) = self.step(task, index) else { return };
        let Some(lease) = step.lease.as_ref() else { return };
        let id = StepId { task, index };
        if lease.worker == self.identity.worker {
            let pools = self.pools(step).iter().map(|pool| pool.name.clone()).collect();
            self.attempts.begin_own(id, epoch, pools, &mut self.pipeline.after().attempts);
        } else {
            let (worker, lease_ms) = (lease.worker, lease.deadline_ms - lease.claimed_ms);
            self.attempts.begin_outside(id, epoch, worker, lease_ms, &mut self.pipeline.after().attempts);
        }
    }

    /// Whether this node has something to do about the step: its agent is here, or there is something to work out.
    fn is_ours(&self, step: &Step) -> bool {
        step.is_inward() || self.world.knows(&step.spec.agent)
    }

    /// What the next attempt takes a place in. To work something out takes none.
    fn pools(&self, step: &Step) -> &[Pool] {
        if step.is_inward() { &[] } else { self.world.pools(&step.spec.agent) }
    }

    /// The live rows of a step.
    pub(super) fn step(&self, task: TaskId, index: u16) -> Option<(&Step, StepKey)> {
        let rows = self.live.task(task)?;
        Some((rows.steps.get(usize::from(index))?, StepKey::new(rows.task.key, index)))
    }

    fn claim_own(&mut self, task: TaskId, index: u16) {
        let caller = self.identity.driver.clone();
        let asks =
            self.step(task, index).is_some_and(|(step, _)| !step.is_inward() && self.world.asks(&step.spec.agent));
        let own = (self.identity.worker, self.config.lease_timeout_ms);
        let (worker, lease_ms) = if asks { (self.identity.asker, ANSWER_MS_MAX) } else { own };
        // A refusal means that the step was cancelled or claimed meanwhile: it is not ours to run.
        let _ = self.claim(&caller, StepId { task, index }, worker, lease_ms);
    }

    fn enqueue(&mut self, task: TaskId, index: u16) {
        if let Some((priority, namespace)) = self.queue(task, index) {
            self.ready.push(priority, &namespace, (task, index));
        }
    }

    /// The step is about to stand in a queue here; `None` when it does already.
    pub(super) fn queue(&mut self, task: TaskId, index: u16) -> Option<(Priority, Name)> {
        let rows = self.live.task(task)?;
        let priority = rows.steps.get(usize::from(index))?.spec.priority;
        let (key, namespace) = (StepKey::new(rows.task.key, index), rows.task.namespace.clone());
        if !self.ready.hold(key) {
            return None;
        }
        self.live.queue(task);
        Some((priority, namespace))
    }

    /// Fills the shares of namespaces that have little in the window and may have more in the store: a few pages at a time, because
    /// what is found later is found in time.
    fn look_for_shares(&mut self) {
        for _ in 0..SHARE_PAGES {
            let Some((namespace, priority, after)) = self.ready.next_share(self.live.namespaces()) else { return };
            if let Err(error) = self.look_for_share(&namespace, priority, after) {
                self.unreadable(&error);
                self.ready.share_looked(priority, &namespace, None);
            }
        }
    }

    fn look_for_share(&mut self, namespace: &Name, priority: Priority, after: Option<At>) -> Result<(), Error> {
        let now_ms = self.world.now().wall_ms;
        let (page, last) = self.due_of(namespace, priority, now_ms, after, SHARE_PAGE)?;
        for at in page {
            self.ready.share_looked(priority, namespace, Some(at));
            self.take_in(at.1, now_ms)?;
            if self.ready.is_share_full(priority, namespace) {
                return Ok(());
            }
        }
        self.ready.share_looked(priority, namespace, last);
        Ok(())
    }

    /// Fills the window from the store. Rows that are live here are newer than what the store's queues say.
    fn refill(&mut self) -> Result<(), Error> {
        let now_ms = self.world.now().wall_ms;
        let mut exhausted = true;
        let start = self.ready.refill_after();
        for priority in Priority::ALL {
            let share = (self.config.queue_capacity / Priority::ALL.len()).max(1);
            let mut after = start;
            let mut found = 0;
            while found < share && self.ready.len() < self.config.queue_capacity {
                let page = self.reader.due(Queue::Ready(priority), now_ms, after, share)?;
                let Some(last) = page.last() else { break };
                after = Some(*last);
                for (_, key) in page {
                    if self.ready.len() >= self.config.queue_capacity {
                        break;
                    }
                    found += usize::from(self.take_in(key, now_ms)?);
                }
            }
            exhausted &= found < share && self.ready.len() < self.config.queue_capacity;
        }
        self.ready.refilled(!exhausted);
        Ok(())
    }

    fn take_in(&mut self, key: StepKey, now_ms: u64) -> Result<bool, Error> {
        if self.ready.contains(key) {
            return Ok(false);
        }
        let Some(task) = self.live.load_key(key.task(), &mut self.reader)? else { return Ok(false) };
        let Some((step, _)) = self.step(task, key.place()) else { return Ok(false) };
        let wanted = step.is_claimable(now_ms) && self.is_ours(step);
        let agent = step.spec.agent.clone();
        let pools = self.pools(step);
        let parks =
            wanted && !pools.is_empty() && (!self.attempts.has_room(pools) || self.ready.waits_for_place(&agent));
        match (wanted, parks) {
            (true, false) => self.enqueue(task, key.place()),
            (true, true) => self.park_found(task, key.place()),
            (false, _) => self.live.let_go_of(task, self.pipeline.settled()),
        }
        Ok(wanted && !parks)
    }
}
