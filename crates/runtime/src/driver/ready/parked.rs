//! Steps of one agent that wait for a place, and how far the store was searched for more of them.

use super::look::{At, Looks};
use relaymesh_core::{
    id::TaskId,
    lanes::{Lanes, Priority, Weights},
    name::Name,
};
use std::collections::BTreeMap;

/// Steps of one agent, lane and namespace that are kept in memory.
pub(in crate::driver) const PARKED_MAX: usize = 16;

/// What waits for a place of one agent. Each namespace has its own room here and its own look through the store, so that nobody's
/// steps wait behind all of somebody else's.
#[derive(Debug)]
pub(in crate::driver) struct Parked {
    lanes: Lanes<(TaskId, u16)>,
    looks: BTreeMap<Name, Looks>,
}

impl Parked {
    pub(super) fn new(max_consecutive_high: u32, weights: &Weights) -> Self {
        let mut lanes = Lanes::new(max_consecutive_high);
        lanes.set_weights(weights);
        Self { lanes, looks: BTreeMap::new() }
    }

    pub(super) fn set_weights(&mut self, weights: &Weights) {
        self.lanes.set_weights(weights);
    }

    pub(super) fn len(&self) -> usize {
        self.lanes.len()
    }

    pub(super) fn low_starvation_count(&self) -> u64 {
        self.lanes.low_starvation_count()
    }

    pub(super) fn waits(&self) -> bool {
        !self.lanes.is_empty() || self.looks.values().any(Looks::is_any_open)
    }

    /// A step was left in the store.
    pub(in crate::driver) fn pass(&mut self, priority: Priority, namespace: &Name, at: At) {
        self.looks.entry(namespace.clone()).or_default().pass(priority, at);
    }

    /// Whether one more can be kept here without overtaking those of its namespace in the store.
    pub(in crate::driver) fn has_room(&self, priority: Priority, namespace: &Name) -> bool {
        let is_left = self.looks.get(namespace).is_some_and(|looks| looks.is_open(priority));
        !is_left && !self.is_full(priority, namespace)
    }

    /// Whether no more of this lane and namespace are kept here.
    pub(in crate::driver) fn is_full(&self, priority: Priority, namespace: &Name) -> bool {
        self.lanes.len_in(priority, namespace) >= PARKED_MAX
    }

    pub(in crate::driver) fn push(&mut self, priority: Priority, namespace: &Name, step: (TaskId, u16)) {
        self.lanes.push(priority, namespace, step);
    }

    pub(super) fn pop(&mut self) -> Option<(TaskId, u16)> {
        self.lanes.pop().map(|(_, step)| step)
    }

    /// A namespace for whose steps the store is to be searched, because few are left here; and after which step.
    pub(in crate::driver) fn next_look(&self, priority: Priority) -> Option<(Name, Option<At>)> {
        let is_to_look = |(namespace, looks): &(&Name, &Looks)| {
            looks.is_open(priority) && self.lanes.len_in(priority, namespace) < PARKED_MAX / 2
        };
        let found = self.looks.iter().find(is_to_look);
        found.map(|(namespace, looks)| (namespace.clone(), looks.after(priority)))
    }

    /// The look has come past this step.
    pub(in crate::driver) fn look_on(&mut self, priority: Priority, namespace: &Name, at: At) {
        if let Some(looks) = self.looks.get_mut(namespace) {
            looks.look_on(priority, at);
        }
    }

    /// The look has come to the end; or the store could not be read, and the next look at all steps finds what is left.
    pub(in crate::driver) fn end_look(&mut self, priority: Priority, namespace: &Name) {
        if let Some(looks) = self.looks.get_mut(namespace) {
            looks.end(priority);
            if !looks.is_any_open() {
                self.looks.remove(namespace);
            }
        }
    }
}
