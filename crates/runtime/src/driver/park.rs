//! Steps of agents that have no place: they wait beside the window, so that nobody else waits behind them.
//!
//! A few of each agent and lane are kept here; the others are *passed over* and stay in the store. When an agent has places
//! again, it is served from here, and when little is left here, from the store: only its own steps are looked for, namespace by
//! namespace, from where the last look ended.

use super::{
    engine::Engine,
    ready::{At, Standing},
};
use crate::world::World;
use relaymesh_core::{id::TaskId, lanes::Priority, name::Name};
use relaymesh_store::{Error, Queue, Reader, StepKey};

/// Steps of the store that are looked at together.
const PAGE: usize = 64;

impl<R: Reader, W: World> Engine<R, W> {
    /// A step that has just become ready finds no place. What is left in the store can be asked for once it is durable.
    pub(super) fn park_offered(&mut self, task: TaskId, index: u16) {
        let Some(standing) = self.standing(task, index) else { return };
        let Standing { agent, namespace, priority, .. } = &standing;
        if !self.ready.of(agent).has_room(*priority, namespace) {
            self.ready.pass(standing, &mut self.pipeline.after().ready);
        } else if self.queue(task, index).is_some() {
            self.ready.of(agent).push(*priority, namespace, (task, index));
        }
    }

    /// The same for a step that was found in the store.
    pub(super) fn park_found(&mut self, task: TaskId, index: u16) {
        let Some(Standing { agent, namespace, priority, at }) = self.standing(task, index) else { return };
        let parked = self.ready.of(&agent);
        if !parked.has_room(priority, &namespace) {
            parked.pass(priority, &namespace, at);
            self.live.let_go_of(task, self.pipeline.settled());
        } else if self.queue(task, index).is_some() {
            self.ready.of(&agent).push(priority, &namespace, (task, index));
        }
    }

    /// The same for a step that stood in the window: it goes beside it, or back to the store.
    pub(super) fn park_queued(&mut self, task: TaskId, index: u16) {
        let Some(standing) = self.standing(task, index) else { return };
        let Standing { agent, namespace, priority, .. } = &standing;
        let parked = self.ready.of(agent);
        if parked.is_full(*priority, namespace) {
            self.ready.pass(standing, &mut self.pipeline.after().ready);
            self.unqueue(task, index);
            self.live.let_go_of(task, self.pipeline.settled());
        } else {
            parked.push(*priority, namespace, (task, index));
        }
    }

    /// Where a live step stands among those that are ready.
    pub(super) fn standing(&self, task: TaskId, index: u16) -> Option<Standing> {
        let rows = self.live.task(task)?;
        let step = rows.steps.get(usize::from(index))?;
        let at = (step.due_ms, StepKey::new(rows.task.key, index));
        let (agent, namespace) = (step.spec.agent.clone(), rows.task.namespace.clone());
        Some(Standing { agent, namespace, priority: step.spec.priority, at })
    }

    /// Claims one step that waited for a place and has one now. `false`: there is none. Agents take turns.
    pub(super) fn dispatch_parked(&mut self) -> bool {
        for agent in self.ready.waiting() {
            if !self.attempts.has_room(self.world.pools(&agent)) {
                continue;
            }
            for priority in Priority::ALL {
                while let Some((namespace, after)) = self.ready.of(&agent).next_look(priority) {
                    if let Err(error) = self.look_for(&agent, &namespace, priority, after) {
                        self.unreadable(&error);
                        self.ready.of(&agent).end_look(priority, &namespace);
                    }
                }
            }
            if let Some((task, index)) = self.ready.serve(&agent) {
                self.claim_queued(task, index);
                return true;
            }
        }
        false
    }

    /// Looks through the store for steps of this agent, namespace and lane until enough are here, or it has come to the end.
    fn look_for(
        &mut self,
        agent: &Name,
        namespace: &Name,
        priority: Priority,
        mut after: Option<At>,
    ) -> Result<(), Error> {
        let now_ms = self.world.now().wall_ms;
        loop {
            let (page, last) = self.due_of(namespace, priority, now_ms, after, PAGE)?;
            for at in page {
                self.ready.of(agent).look_on(priority, namespace, at);
                self.take_parked(agent, at.1, now_ms)?;
                if self.ready.of(agent).is_full(priority, namespace) {
                    return Ok(());
                }
            }
            match last {
                None => {
                    self.ready.of(agent).end_look(priority, namespace);
                    return Ok(());
                }
                Some(at) => self.ready.of(agent).look_on(priority, namespace, at),
            }
            after = last;
        }
    }

    /// Ready steps of this namespace among the next `limit` of a lane, and the last that was looked at unless that was the end.
    pub(super) fn due_of(
        &mut self,
        namespace: &Name,
        priority: Priority,
        now_ms: u64,
        after: Option<At>,
        limit: usize,
    ) -> Result<(Vec<At>, Option<At>), Error> {
        let queue = Queue::Ready(priority);
        if self.live.namespaces().len() > 1 {
            return self.reader.due_in(namespace, queue, now_ms, after, limit);
        }
        let page = self.reader.due(queue, now_ms, after, limit)?;
        let last = page.last().copied().filter(|_| page.len() == limit);
        Ok((page, last))
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
        if let Some((priority, namespace)) = self.queue(task, key.place()) {
            self.ready.of(agent).push(priority, &namespace, (task, key.place()));
        }
        Ok(())
    }
}
