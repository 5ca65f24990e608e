//! Steps of one agent that wait for a place, and how far the store was searched for more of them.

use relaymesh_core::{
    id::TaskId,
    lanes::{Lanes, Priority},
};
use relaymesh_store::StepKey;

/// Steps of one agent and lane that are kept in memory.
pub(in crate::driver) const PARKED_MAX: usize = 16;

/// What waits for a place of one agent.
#[derive(Debug)]
pub(in crate::driver) struct Parked {
    lanes: Lanes<(TaskId, u16)>,
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
    pub(super) fn new(max_consecutive_high: u32) -> Self {
        Self { lanes: Lanes::new(max_consecutive_high), looks: [Look::default(); 3] }
    }

    pub(super) fn len(&self) -> usize {
        self.lanes.len()
    }

    pub(super) fn low_starvation_count(&self) -> u64 {
        self.lanes.low_starvation_count()
    }

    pub(super) fn waits(&self) -> bool {
        !self.lanes.is_empty() || self.looks.iter().any(|look| look.more)
    }

    /// A step was left in the store.
    pub(in crate::driver) fn pass(&mut self, priority: Priority) {
        let look = self.look(priority);
        look.again |= look.more;
        look.more = true;
    }

    /// Whether one more can be kept here without overtaking those in the store.
    pub(in crate::driver) fn has_room(&mut self, priority: Priority) -> bool {
        !self.look(priority).more && !self.is_full(priority)
    }

    /// Whether no more of this lane are kept here.
    pub(in crate::driver) fn is_full(&self, priority: Priority) -> bool {
        self.lanes.len_of(priority) >= PARKED_MAX
    }

    pub(in crate::driver) fn push(&mut self, priority: Priority, step: (TaskId, u16)) {
        self.lanes.push(priority, step);
    }

    pub(super) fn pop(&mut self) -> Option<(TaskId, u16)> {
        self.lanes.pop().map(|(_, step)| step)
    }

    /// Whether the store is to be searched, because little is left here.
    pub(in crate::driver) fn is_to_look(&mut self, priority: Priority) -> bool {
        self.look(priority).more && self.lanes.len_of(priority) < PARKED_MAX / 2
    }

    /// Where the look through the store has come to.
    pub(in crate::driver) fn looked(&mut self, priority: Priority) -> Option<(u64, StepKey)> {
        self.look(priority).after
    }

    /// The look has come to this step.
    pub(in crate::driver) fn look_on(&mut self, priority: Priority, at: (u64, StepKey)) {
        self.look(priority).after = Some(at);
    }

    /// The look has come to the end.
    pub(in crate::driver) fn end_look(&mut self, priority: Priority) {
        let look = self.look(priority);
        *look = Look { more: look.again, again: false, after: None };
    }

    /// The store could not be read. The next look at all steps finds what is left.
    pub(in crate::driver) fn give_up_look(&mut self, priority: Priority) {
        *self.look(priority) = Look::default();
    }

    fn look(&mut self, priority: Priority) -> &mut Look {
        &mut self.looks[usize::from(priority.as_u8())]
    }
}
