//! Ready steps that are held in memory: the window, and beside it those that wait for a place of their agent. The backlog
//! is in the store.

mod look;
mod parked;
mod shares;

pub(super) use look::At;
pub(super) use parked::{PARKED_MAX, Parked};
pub(super) use shares::RESERVED;

use relaymesh_core::{
    id::TaskId,
    lanes::{Lanes, Priority, Weights},
    name::Name,
};
use relaymesh_store::StepKey;
use shares::Shares;
use std::collections::{BTreeMap, BTreeSet};

#[derive(Debug)]
pub(super) struct Ready {
    max_consecutive_high: u32,
    weights: Weights,
    window: Lanes<(TaskId, u16)>,
    /// What namespaces have in the window and in the store.
    shares: Shares,
    /// Every step that is held here.
    held: BTreeSet<StepKey>,
    /// Whether the store may hold steps that are ready and not held here.
    backlog: bool,
    /// Whether some of the store's steps may have fallen due.
    fell_due: bool,
    /// Whether all of the store's steps are to be looked at when the next ones fall due: they could not be read, or not be written.
    look_at_all: bool,
    /// Steps of agents that had no place, by agent.
    parked: BTreeMap<Name, Parked>,
    /// Whose parked step was claimed last.
    served: Option<Name>,
}

/// Where a step stands.
#[derive(Debug, Clone)]
pub(super) struct Standing {
    pub(super) agent: Name,
    pub(super) namespace: Name,
    pub(super) priority: Priority,
    /// In the queue of the store.
    pub(super) at: At,
}

/// What a batch leaves in the store: it can be found there once the batch is durable.
#[derive(Debug, Default)]
pub(super) struct Share {
    /// Whether a step found no place in the window.
    overflow: bool,
    /// The first step of each namespace and lane that found none, if there are several namespaces.
    overflowed: BTreeMap<(Name, Priority), At>,
    /// The first step of each agent, namespace and lane that found no place of its agent.
    passed: BTreeMap<(Name, Name, Priority), At>,
}

impl Ready {
    /// Nothing is held, and the store may hold anything.
    pub(super) fn new(max_consecutive_high: u32, weights: &Weights) -> Self {
        let mut window = Lanes::new(max_consecutive_high);
        window.set_weights(weights);
        Self {
            max_consecutive_high,
            weights: weights.clone(),
            window,
            shares: Shares::unknown(),
            held: BTreeSet::new(),
            backlog: true,
            fell_due: false,
            look_at_all: false,
            parked: BTreeMap::new(),
            served: None,
        }
    }

    /// How much namespaces weigh from now on.
    pub(super) fn set_weights(&mut self, weights: &Weights) {
        self.weights.clone_from(weights);
        self.window.set_weights(weights);
        self.parked.values_mut().for_each(|parked| parked.set_weights(weights));
    }

    /// How many steps stand in the window.
    pub(super) fn len(&self) -> usize {
        self.window.len()
    }

    /// How many wait for a place.
    pub(super) fn parked(&self) -> usize {
        self.parked.values().map(Parked::len).sum()
    }

    /// How often a lower lane had to be forced.
    pub(super) fn low_starvation_count(&self) -> u64 {
        self.window.low_starvation_count() + self.parked.values().map(Parked::low_starvation_count).sum::<u64>()
    }

    /// Whether nothing waits for a slot, neither here nor in the store.
    pub(super) fn is_empty(&self) -> bool {
        self.window.is_empty() && !self.backlog
    }

    pub(super) fn contains(&self, key: StepKey) -> bool {
        self.held.contains(&key)
    }

    /// The step is held here from now on. `false`: it was already.
    pub(super) fn hold(&mut self, key: StepKey) -> bool {
        self.held.insert(key)
    }

    /// The step is held here no longer.
    pub(super) fn let_go(&mut self, key: StepKey) {
        self.held.remove(&key);
    }

    /// A step that is held goes into the window.
    pub(super) fn push(&mut self, priority: Priority, namespace: &Name, step: (TaskId, u16)) {
        self.window.push(priority, namespace, step);
    }

    /// Whether a window that is full has room for one more step of this namespace all the same.
    pub(super) fn has_share(&self, priority: Priority, namespace: &Name) -> bool {
        self.shares.has_room(&self.window, priority, namespace)
    }

    /// Whether the share of this namespace in the window is filled.
    pub(super) fn is_share_full(&self, priority: Priority, namespace: &Name) -> bool {
        self.window.len_in(priority, namespace) >= RESERVED
    }

    /// A namespace and a lane of which few are in the window and more may be in the store, and after which step to look.
    pub(super) fn next_share(&mut self, namespaces: &BTreeSet<Name>) -> Option<(Name, Priority, Option<At>)> {
        self.shares.next_look(&self.window, namespaces)
    }

    /// The look for the share of this namespace has come past this step; `None`: to the end.
    pub(super) fn share_looked(&mut self, priority: Priority, namespace: &Name, at: Option<At>) {
        match at {
            Some(at) => self.shares.look_on(priority, namespace, at),
            None => self.shares.end_look(priority, namespace),
        }
    }

    /// The next step of the window. It is still held.
    pub(super) fn pop(&mut self) -> Option<(Priority, (TaskId, u16))> {
        self.window.pop()
    }

    /// A step has become ready and finds no place in the window. Where it stands is of interest if there are several namespaces.
    pub(super) fn overflow(&mut self, standing: Option<Standing>, share: &mut Share) {
        self.backlog = true;
        share.overflow = true;
        if let Some(Standing { namespace, priority, at, .. }) = standing {
            self.shares.pass(priority, &namespace, at);
            first(&mut share.overflowed, (namespace, priority), at);
        }
    }

    /// The store may hold steps that are ready, if `is_so`.
    pub(super) fn note_backlog(&mut self, is_so: bool) {
        self.backlog |= is_so;
    }

    /// Whether the window of this capacity is to be filled from the store.
    pub(super) fn is_to_refill(&self, capacity: usize) -> bool {
        (self.backlog || self.fell_due) && self.window.len() < capacity.div_ceil(2)
    }

    /// After which step of the store's queues to look. What fell due stands behind everything that has no due time.
    pub(super) fn refill_after(&self) -> Option<(u64, StepKey)> {
        if self.backlog { None } else { Some((0, StepKey::from_raw(u64::MAX >> 1))) }
    }

    /// The window was filled; `backlog`: the store may hold more.
    pub(super) fn refilled(&mut self, backlog: bool) {
        self.fell_due = false;
        self.backlog = backlog;
    }

    /// The window could not be filled.
    pub(super) fn give_up_refill(&mut self) {
        self.backlog = false;
    }

    /// Not all of the store's steps could be read: all are to be looked at when the next ones fall due.
    pub(super) fn look_at_all(&mut self) {
        self.look_at_all = true;
    }

    /// Some of the store's steps may have fallen due.
    pub(super) fn fell_due(&mut self) {
        self.fell_due = true;
        if self.look_at_all {
            self.shares = Shares::unknown();
        }
        if self.backlog {
            self.shares.fell_due();
        }
        self.backlog |= std::mem::take(&mut self.look_at_all);
    }

    /// Whether steps of the agent wait for a place: a new one stands behind them.
    pub(super) fn waits_for_place(&self, agent: &Name) -> bool {
        self.parked.get(agent).is_some_and(Parked::waits)
    }

    /// What waits for a place of the agent.
    pub(super) fn of(&mut self, agent: &Name) -> &mut Parked {
        let (max, weights) = (self.max_consecutive_high, &self.weights);
        self.parked.entry(agent.clone()).or_insert_with(|| Parked::new(max, weights))
    }

    /// A step is left in the store because its agent has no place.
    pub(super) fn pass(&mut self, standing: Standing, share: &mut Share) {
        let Standing { agent, namespace, priority, at } = standing;
        self.of(&agent).pass(priority, &namespace, at);
        first(&mut share.passed, (agent, namespace, priority), at);
    }

    /// Agents whose steps wait for a place, the one after the last that was served first.
    pub(super) fn waiting(&self) -> Vec<Name> {
        let waits = |(_, parked): &(&Name, &Parked)| parked.waits();
        let mut waiting: Vec<Name> = self.parked.iter().filter(waits).map(|(agent, _)| agent.clone()).collect();
        let next = waiting.partition_point(|agent| Some(agent) <= self.served.as_ref());
        waiting.rotate_left(next);
        waiting
    }

    /// The agent's next step: it has a place now. The step is still held.
    pub(super) fn serve(&mut self, agent: &Name) -> Option<(TaskId, u16)> {
        let step = self.parked.get_mut(agent)?.pop()?;
        self.served = Some(agent.clone());
        Some(step)
    }

    /// The batch is durable: what it left in the store can be asked for.
    pub(super) fn settle(&mut self, share: Share) {
        self.backlog |= share.overflow;
        for ((namespace, priority), at) in share.overflowed {
            self.shares.pass(priority, &namespace, at);
        }
        for ((agent, namespace, priority), at) in share.passed {
            self.of(&agent).pass(priority, &namespace, at);
        }
    }

    /// A batch is rolled back: everything here may come from it. The store is not looked at before the disk may have room again: a claim
    /// would only be rolled back, too.
    pub(super) fn undo(&mut self) {
        let served = self.served.take();
        let fresh = Self::new(self.max_consecutive_high, &self.weights);
        *self = Self { backlog: false, shares: Shares::default(), look_at_all: true, served, ..fresh };
    }
}

/// Notes the first of several.
fn first<K: Ord>(known: &mut BTreeMap<K, At>, key: K, at: At) {
    known.entry(key).and_modify(|known| *known = at.min(*known)).or_insert(at);
}
