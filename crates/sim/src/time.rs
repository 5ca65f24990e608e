//! Simulated time: nanoseconds of a monotonic clock that starts at 0 with the world.

use std::collections::BTreeMap;

/// Nanoseconds.
pub type Ns = u64;

/// One millisecond.
pub const MS: Ns = 1_000_000;

/// One second.
pub const SECOND: Ns = 1_000 * MS;

/// What is going to happen, in order of time; what falls on one moment, in the order in which it was put here.
#[derive(Debug)]
pub(crate) struct Agenda<E> {
    events: BTreeMap<(Ns, u64), E>,
    numbered: u64,
    now: Ns,
}

impl<E> Agenda<E> {
    pub(crate) fn new() -> Self {
        Self { events: BTreeMap::new(), numbered: 0, now: 0 }
    }

    pub(crate) fn now(&self) -> Ns {
        self.now
    }

    /// The past cannot be written to: what is late happens now.
    pub(crate) fn at(&mut self, at: Ns, event: E) {
        self.numbered += 1;
        self.events.insert((at.max(self.now), self.numbered), event);
    }

    pub(crate) fn after(&mut self, delay: Ns, event: E) {
        self.at(self.now + delay, event);
    }

    /// The next event, if it comes no later than `end`; otherwise time goes on to `end`.
    pub(crate) fn next_until(&mut self, end: Ns) -> Option<E> {
        if self.events.first_key_value().is_none_or(|((at, _), _)| *at > end) {
            self.now = self.now.max(end);
            return None;
        }
        self.next()
    }

    pub(crate) fn next(&mut self) -> Option<E> {
        let ((at, _), event) = self.events.pop_first()?;
        self.now = at;
        Some(event)
    }
}
