//! The shares of namespaces in the window.
//!
//! The window holds a hundred steps and the store a hundred thousand. Lanes that take turns are of no use to a namespace none
//! of whose steps is in the window. So each namespace has room for a few of its own, and a look of its own through the store for the others.

use super::look::{At, Looks};
use relaymesh_core::{
    lanes::{Lanes, Priority},
    name::Name,
};
use relaymesh_store::StepKey;
use std::{
    collections::{BTreeMap, BTreeSet},
    ops::Bound,
};

/// Steps of each namespace and lane that the window has room for, however full it is.
pub(in crate::driver) const RESERVED: usize = 16;
/// Of more namespaces than these not all are looked for when it is unknown what the store holds.
const LOOKED_FOR_MAX: usize = 64;

#[derive(Debug, Default)]
pub(super) struct Shares {
    /// Namespaces of which the store may hold steps that are ready.
    left: BTreeMap<Name, Looks>,
    /// Which of them was looked for last.
    looked_for: Option<Name>,
    /// From which due time on the store may hold steps of anybody.
    unknown_from_ms: Option<u64>,
}

impl Shares {
    /// Nothing is known of what the store holds.
    pub(super) fn unknown() -> Self {
        Self { unknown_from_ms: Some(0), ..Self::default() }
    }

    /// Steps of anybody may have fallen due.
    pub(super) fn fell_due(&mut self) {
        self.unknown_from_ms.get_or_insert(1);
    }

    pub(super) fn pass(&mut self, priority: Priority, namespace: &Name, at: At) {
        self.left.entry(namespace.clone()).or_default().pass(priority, at);
    }

    /// Whether one more may go into a window that is full, without overtaking those of its namespace in the store.
    pub(super) fn has_room<T>(&self, window: &Lanes<T>, priority: Priority, namespace: &Name) -> bool {
        self.unknown_from_ms.is_none()
            && !self.left.get(namespace).is_some_and(|looks| looks.is_open(priority))
            && window.len_in(priority, namespace) < RESERVED
    }

    /// The next namespace and lane of which few are in the window and more may be in the store, and after which step to look.
    pub(super) fn next_look<T>(
        &mut self,
        window: &Lanes<T>,
        namespaces: &BTreeSet<Name>,
    ) -> Option<(Name, Priority, Option<At>)> {
        if let Some(from_ms) = self.unknown_from_ms.take() {
            for (namespace, priority) in
                namespaces.iter().take(LOOKED_FOR_MAX).flat_map(|name| Priority::ALL.map(|priority| (name, priority)))
            {
                self.pass(priority, namespace, (from_ms, StepKey::from_raw(0)));
            }
        }
        let is_to_look = |(namespace, looks): (&Name, &Looks)| {
            let few =
                |priority: &Priority| looks.is_open(*priority) && window.len_in(*priority, namespace) < RESERVED / 2;
            let priority = Priority::ALL.into_iter().find(few)?;
            Some((namespace.clone(), priority, looks.after(priority)))
        };
        let last = self.looked_for.take();
        let after = last.as_ref().map_or(Bound::Unbounded, Bound::Excluded);
        let later = self.left.range::<Name, _>((after, Bound::Unbounded));
        let found = later.chain(&self.left).find_map(is_to_look);
        self.looked_for = found.as_ref().map(|(namespace, ..)| namespace.clone());
        found
    }

    /// The look has come past this step.
    pub(super) fn look_on(&mut self, priority: Priority, namespace: &Name, at: At) {
        if let Some(looks) = self.left.get_mut(namespace) {
            looks.look_on(priority, at);
        }
    }

    /// The look has come to the end.
    pub(super) fn end_look(&mut self, priority: Priority, namespace: &Name) {
        if let Some(looks) = self.left.get_mut(namespace) {
            looks.end(priority);
            if !looks.is_any_open() {
                self.left.remove(namespace);
            }
        }
    }
}
