//! A word on stderr now and then, when something takes longer than a person likes to wait without one.

use crate::output;
use std::time::{Duration, Instant};

const EVERY: Duration = Duration::from_secs(1);

/// Says how far something has come, at most once a second and not within the first one.
pub(crate) struct Progress {
    what: &'static str,
    total: u64,
    next: Instant,
}

impl Progress {
    pub(crate) fn new(what: &'static str, total: u64) -> Self {
        Self { what, total, next: Instant::now() + EVERY }
    }

    /// `done` of `total` are done; for callers that learn the total late.
    pub(crate) fn tell_of(&mut self, done: u64, total: u64) {
        self.total = total;
        self.tell(done);
    }

    /// `done` of the total are done.
    pub(crate) fn tell(&mut self, done: u64) {
        let now = Instant::now();
        if now >= self.next {
            self.next = now + EVERY;
            output::note(&format!("{} {done} of {}", self.what, self.total));
        }
    }
}
