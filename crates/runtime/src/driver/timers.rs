//! When something is to be done, if nothing else comes in.
//!
//! What falls due in the store goes by the wall clock, as its rows do; everything else by the monotonic clock (R10).

use crate::clock::Now;

/// How long to wait before a full disk is tried again.
const FULL_RETRY_MS: u64 = 1_000;
/// A deadline that was passed by more than this was not watched.
const LATE_MS_MAX: u64 = 1_000;

#[derive(Debug)]
pub(super) struct Timers {
    began: Now,
    /// When to look in the store for what has fallen due. Wall clock.
    due_ms: Option<u64>,
    /// When scopes are to be looked at again. Wall clock.
    scopes_due_ms: Option<u64>,
    /// When to take up again what could not be written or read. Monotonic clock.
    retry_at_ms: Option<u64>,
    /// Nothing runs out before this time, because the wall clock jumped. Monotonic clock.
    put_off_until_ms: u64,
    /// The last look at deadlines came late, and leases were put off.
    was_late: bool,
}

impl Timers {
    /// The store is looked at as soon as possible.
    pub(super) fn new(began: Now) -> Self {
        Self { began, due_ms: Some(0), scopes_due_ms: None, retry_at_ms: None, put_off_until_ms: 0, was_late: false }
    }

    /// When the engine was started.
    pub(super) fn began(&self) -> Now {
        self.began
    }

    /// The first time to wake up at, by the monotonic clock.
    pub(super) fn next_ms(&self, now: Now) -> Option<u64> {
        let due = self.due_ms.map(|due_ms| now.mono_ms.saturating_add(due_ms.saturating_sub(now.wall_ms)));
        earlier(due, self.retry_at_ms)
    }

    /// Something falls due in the store at this time.
    pub(super) fn due_at(&mut self, wall_ms: Option<u64>) {
        self.due_ms = earlier(self.due_ms, wall_ms);
    }

    pub(super) fn is_due(&self, now: Now) -> bool {
        self.due_ms.is_some_and(|due_ms| due_ms <= now.wall_ms)
    }

    /// A look at what has fallen due begins.
    pub(super) fn begin_look(&mut self) {
        self.scopes_due_ms = None;
    }

    /// The look has ended; the next one is at this time.
    pub(super) fn end_look(&mut self, next_ms: Option<u64>) {
        self.due_ms = next_ms;
    }

    /// Scopes are to be looked at again at this time.
    pub(super) fn scopes_at(&mut self, wall_ms: u64) {
        self.scopes_due_ms = earlier(self.scopes_due_ms, Some(wall_ms));
    }

    pub(super) fn scopes_due_ms(&self) -> Option<u64> {
        self.scopes_due_ms
    }

    /// What could not be written or read is to be taken up again at this time.
    pub(super) fn retry_at(&mut self, mono_ms: u64) {
        self.retry_at_ms = earlier(self.retry_at_ms, Some(mono_ms));
    }

    /// Whether it is time to retry. If so, the timer is cleared.
    pub(super) fn take_retry(&mut self, now: Now) -> bool {
        self.retry_at_ms.take_if(|at_ms| *at_ms <= now.mono_ms).is_some()
    }

    /// The wall clock jumped: nothing runs out before this time.
    pub(super) fn put_off(&mut self, until_mono_ms: u64) {
        self.put_off_until_ms = until_mono_ms;
    }

    pub(super) fn is_put_off(&self, now: Now) -> bool {
        now.mono_ms < self.put_off_until_ms
    }

    /// Whether leases are to be put off, because a deadline was passed by so much. By one round only: a node that is always late reclaims
    /// all the same.
    pub(super) fn is_late(&mut self, by_ms: u64) -> bool {
        self.was_late = by_ms > LATE_MS_MAX && !self.was_late;
        self.was_late
    }

    /// A batch is rolled back because the disk is full: nothing is tried before it may have room again.
    pub(super) fn undo(&mut self, now: Now) {
        self.due_ms = Some(now.wall_ms + FULL_RETRY_MS);
        self.retry_at_ms = Some(now.mono_ms + FULL_RETRY_MS);
    }
}

pub(super) fn earlier(a: Option<u64>, b: Option<u64>) -> Option<u64> {
    match (a, b) {
        (Some(a), Some(b)) => Some(a.min(b)),
        (a, b) => a.or(b),
    }
}
