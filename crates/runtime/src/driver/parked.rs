//! Steps of agents that have no place: they wait beside the window, so that nobody else waits behind them.
//!
//! A few of each agent and lane are kept here; the others are *passed over* and stay in the store. When an agent has places
//! again, it is served from here, and when little is left here, from the store: only its own steps are looked for, from where the
//! last look ended.

use super::engine::Engine;
use crate::world::World;
use relaymesh_core::{
    id::TaskId,
    lanes::{Lanes, Priority},
    name::Name,
};
use relaymesh_store::{Error, Queue, Reader, StepKey};

/// Steps of one agent and lane that are kept in memory.
pub(super) const PARKED_MAX: usize = 16;
/// Steps of the store that are looked at together.
const PAGE: usize = 64;

/// What waits for a place of one agent.
#[derive(Debug)]
pub(super) struct Parked {
    pub(super) lanes: Lanes<(TaskId, u16)>,
    looks: [Look; 3],
}

/// The look through the store for the steps of one agent and lane.
#[derive(Debug, Default, Clone, Copy)]
struct Look {
    /// Whether the store may hold more than is kept here.
    more: bool,
    /// Whether some of it may lie before where the look has come to.
    again: bool,
    /// Where it has come to.
    after: Option<(u64, StepKey)>,
}

impl Parked {
    fn new(max_consecutive_high: u32) -> Self {
        Self { lanes: Lanes::new(max_consecutive_high), looks: [Look::default(); 3] }
    }

    /// A step was left in the store.
    pub(super) fn pass(&mut self, priority: Priority) {
        let look = self.look(priority);
        look.again |= look.more;
        look.more = true;
    }

    fn look(&mut self, priority: Priority) -> &mut Look {
        &mut self.looks[usize::from(priority.as_u8())]
    }

    /// Whether one more can be kept here without overtaking those in the store.
    fn has_room(&mut self, priority: Priority) -> bool {
        !self.look(priority).more && self.lanes.len_of(priority) < PARKED_MAX
    }

    fn waits(&self) -> bool {
        !self.lanes.is_empty() || self.looks.iter().any(|look| look.more)
    }
}

impl<R: Reader, W: World> Engine<R, W> {
    /// Whether steps of the agent wait for a place: whoever comes now stands behind them.
    pub(super) fn waits_for_place(&self, agent: &Name) -> bool {
        self.parked.get(agent).is_some_and(Parked::waits)
    }

    pub(super) fn park_of(&mut self, agent: &Name) -> &mut Parked {
        let max = self.config.max_consecutive_high;
        self.parked.entry(agent.clone()).or_insert_with(|| Parked::new(max))
    }

    /// A step that has just become ready finds no place. What is left in the store can be asked for once it is durable.
    pub(super) fn park_offered(&mut self, task: TaskId, index: u16) {
        let Some((step, _)) = self.step(task, index) else { return };
        let (agent, priority) = (step.spec.agent.clone(), step.spec.priority);
        let parked = self.park_of(&agent);
        if !parked.has_room(priority) {
            parked.pass(priority);
            self.open.after.passed.insert((agent, priority));
        } else if self.queue(task, index).is_some() {
            self.park_of(&agent).lanes.push(priority, (task, index));
        }
    }

    /// The same for a step that was found in the store.
    pub(super) fn park_found(&mut self, agent: &Name, task: TaskId, index: u16) {
        let Some((step, _)) = self.step(task, index) else { return };
        let priority = step.spec.priority;
        let parked = self.park_of(agent);
        if !parked.has_room(priority) {
            parked.pass(priority);
            self.cache.settle(task, self.settled_batch());
        } else if self.queue(task, index).is_some() {
            self.park_of(agent).lanes.push(priority, (task, index));
        }
    }

    /// The same for a step that stood in the window: it goes beside it, or back to the store.
    pub(super) fn park_queued(&mut self, priority: Priority, task: TaskId, index: u16) {
        let Some((step, _)) = self.step(task, index) else { return };
        let agent = step.spec.agent.clone();
        let parked = self.park_of(&agent);
        if parked.lanes.len_of(priority) < PARKED_MAX {
            parked.lanes.push(priority, (task, index));
        } else {
            parked.pass(priority);
            self.unqueue(task, index);
            self.open.after.passed.insert((agent, priority));
            self.cache.settle(task, self.settled_batch());
        }
    }

    /// Claims one step that waited for a place and has one now. `false`: there is none. Agents take turns.
    pub(super) fn dispatch_parked(&mut self) -> bool {
        if self.parked.is_empty() {
            return false;
        }
        let waits = |(_, parked): &(&Name, &Parked)| parked.waits();
        let mut waiting: Vec<Name> = self.parked.iter().filter(waits).map(|(agent, _)| agent.clone()).collect();
        let next = waiting.partition_point(|agent| Some(agent) <= self.served.as_ref());
        waiting.rotate_left(next);
        for agent in waiting {
            if !self.attempts.has_room(self.world.pools(&agent)) {
                continue;
            }
            for priority in Priority::ALL {
                if let Err(error) = self.look_for(&agent, priority) {
                    self.unreadable(&error);
                    *self.park_of(&agent).look(priority) = Look::default(); // the next look at all of them finds what is left
                }
            }
            if let Some((_, (task, index))) = self.park_of(&agent).lanes.pop() {
                self.served = Some(agent);
                self.claim_queued(task, index);
                return true;
            }
        }
        false
    }

    /// Looks through the store for steps of this agent and lane, if few are left here.
    fn look_for(&mut self, agent: &Name, priority: Priority) -> Result<(), Error> {
        let parked = self.park_of(agent);
        if !parked.look(priority).more || parked.lanes.len_of(priority) >= PARKED_MAX / 2 {
            return Ok(());
        }
        let now_ms = self.world.now().wall_ms;
        loop {
            let after = self.park_of(agent).look(priority).after;
            let page = self.reader.due(Queue::Ready(priority), now_ms, after, PAGE)?;
            let is_last = page.len() < PAGE;
            for (due_ms, key) in page {
                self.park_of(agent).look(priority).after = Some((due_ms, key));
                self.take_parked(agent, key, now_ms)?;
                if self.park_of(agent).lanes.len_of(priority) >= PARKED_MAX {
                    return Ok(());
                }
            }
            if is_last {
                let look = self.park_of(agent).look(priority);
                *look = Look { more: look.again, again: false, after: None };
                return Ok(());
            }
        }
    }

    fn take_parked(&mut self, agent: &Name, key: StepKey, now_ms: u64) -> Result<(), Error> {
        if self.windowed.contains(&key) {
            return Ok(());
        }
        let Some(task) = self.cache.load_key(key.task(), &mut self.reader)? else { return Ok(()) };
        let Some((step, _)) = self.step(task, key.place()) else { return Ok(()) };
        if !step.is_claimable(now_ms) || step.spec.agent != *agent || step.is_inward() {
            self.cache.settle(task, self.settled_batch());
            return Ok(());
        }
        if let Some(priority) = self.queue(task, key.place()) {
            self.park_of(agent).lanes.push(priority, (task, key.place()));
        }
        Ok(())
    }
}
