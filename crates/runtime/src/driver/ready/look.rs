//! How far the store was searched for steps that were left there, lane by lane.

use relaymesh_core::lanes::Priority;
use relaymesh_store::StepKey;

/// Where a step stands in a queue of the store.
pub(in crate::driver) use relaymesh_store::Due as At;

/// Steps of some kind that were left in the store: from where on there may be any, in each lane.
#[derive(Debug, Default, Clone, Copy)]
pub(super) struct Looks([Option<At>; 3]);

impl Looks {
    /// A step was left in the store. What lies before it is not searched for its sake.
    pub(super) fn pass(&mut self, priority: Priority, at: At) {
        let from = self.lane_mut(priority);
        *from = Some(from.map_or(at, |from| from.min(at)));
    }

    /// Whether the store may hold some of this lane.
    pub(super) fn is_open(&self, priority: Priority) -> bool {
        self.0[usize::from(priority.as_u8())].is_some()
    }

    /// Whether it may hold any.
    pub(super) fn is_any_open(&self) -> bool {
        self.0.iter().any(Option::is_some)
    }

    /// After which step of the queue to look.
    pub(super) fn after(&self, priority: Priority) -> Option<At> {
        let (due_ms, key) = self.0[usize::from(priority.as_u8())]?;
        match key.raw().checked_sub(1) {
            Some(raw) => Some((due_ms, StepKey::from_raw(raw))),
            None => due_ms.checked_sub(1).map(|due_ms| (due_ms, StepKey::from_raw(u64::MAX >> 1))),
        }
    }

    /// The look has come past this step.
    pub(super) fn look_on(&mut self, priority: Priority, (due_ms, key): At) {
        *self.lane_mut(priority) = Some((due_ms, StepKey::from_raw(key.raw() + 1)));
    }

    /// There are no more of this lane.
    pub(super) fn end(&mut self, priority: Priority) {
        *self.lane_mut(priority) = None;
    }

    fn lane_mut(&mut self, priority: Priority) -> &mut Option<At> {
        &mut self.0[usize::from(priority.as_u8())]
    }
}
