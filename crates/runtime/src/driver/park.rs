//! Steps of agents that have no place: they wait beside the window, so that nobody else waits behind them.
//!
//! A few of each agent and lane are kept here; the others are *passed over* and stay in the store. When an agent has places
//! again, it is served from here, and when little is left here, from the store: only its own steps are looked for, from where the
//! last look ended.

use super::engine::Engine;
use crate::world::World;
use relaymesh_core::{id::TaskId, lanes::Priority, name::Name};
use relaymesh_store::{Error, Queue, Reader, StepKey};

/// Steps of the store that are looked at together.
const PAGE: usize = 64;

impl<R: Reader, W: World> Engine<R, W> {
    /// A step that has just become ready finds no place. What is left in the store can be asked for once it is durable.
    pub(super) fn park_offered(&mut self, task: TaskId, index: u16) {
        let Some((step, _)) = self.step(task, index) else { return };
        let (agent, priority) = (step.spec.agent.clone(), step.spec.priority);
        if !self.ready.of(&agent).has_room(priority) {
            self.ready.pass(agent, priority, &mut self.pipeline.after().ready);
        } else if self.queue(task, index).is_some() {
            self.ready.of(&agent).push(priority, (task, index));
        }
    }

    /// The same for a step that was found in the store.
    pub(super) fn park_found(&mut self, agent: &Name, task: TaskId, index: u16) {
        let Some((step, _)) = self.step(task, index) else { return };
        let priority = step.spec.priority;
        let parked = self.ready.of(agent);
        if !parked.has_room(priority) {
            parked.pass(priority);
            self.live.let_go_of(task, self.pipeline.settled());
        } else if self.queue(task, index).is_some() {
            self.ready.of(agent).push(priority, (task, index));
        }
    }

    /// The same for a step that stood in the window: it goes beside it, or back to the store.
    pub(super) fn park_queued(&mut self, priority: Priority, task: TaskId, index: u16) {
        let Some((step, _)) = self.step(task, index) else { return };
        let agent = step.spec.agent.clone();
        let parked = self.ready.of(&agent);
        if parked.is_full(priority) {
            self.ready.pass(agent, priority, &mut self.pipeline.after().ready);
            self.unqueue(task, index);
            self.live.let_go_of(task, self.pipeline.settled());
        } else {
            parked.push(priority, (task, index));
        }
    }

    /// Claims one step that waited for a place and has one now. `false`: there is none. Agents take turns.
    pub(super) fn dispatch_parked(&mut self) -> bool {
        for agent in self.ready.waiting() {
            if !self.attempts.has_room(self.world.pools(&agent)) {
                continue;
            }
            for priority in Priority::ALL {
                if let Err(error) = self.look_for(&agent, priority) {
                    self.unreadable(&error);
                    self.ready.of(&agent).give_up_look(priority);
                }
            }
            if let Some((task, index)) = self.ready.serve(&agent) {
                self.claim_queued(task, index);
                return true;
            }
        }
        false
    }

    /// Looks through the store for steps of this agent and lane, if few are left here.
    fn look_for(&mut self, agent: &Name, priority: Priority) -> Result<(), Error> {
        if !self.ready.of(agent).is_to_look(priority) {
            return Ok(());
        }
        let now_ms = self.world.now().wall_ms;
        loop {
            let after = self.ready.of(agent).looked(priority);
            let page = self.reader.due(Queue::Ready(priority), now_ms, after, PAGE)?;
            let is_last = page.len() < PAGE;
            for (due_ms, key) in page {
                self.ready.of(agent).look_on(priority, (due_ms, key));
                self.take_parked(agent, key, now_ms)?;
                if self.ready.of(agent).is_full(priority) {
                    return Ok(());
                }
            }
            if is_last {
                self.ready.of(agent).end_look(priority);
                return Ok(());
            }
        }
    }

    fn take_parked(&mut self, agent: &Name, key: StepKey, now_ms: u64) -> Result<(), Error> {
        if self.ready.contains(key) {
            return Ok(());
        }
        let Some(task) = self.live.load_key(key.task(), &mut self.reader)? else { return Ok(()) };
        let Some((step, _)) = self.step(task, key.place()) else { return Ok(()) };
        if !step.is_claimable(now_ms) || step.spec.agent != *agent || step.is_inward() {
            self.live.let_go_of(task, self.pipeline.settled());
            return Ok(());
        }
        if let Some(priority) = self.queue(task, key.place()) {
            self.ready.of(agent).push(priority, (task, key.place()));
        }
        Ok(())
    }
}
