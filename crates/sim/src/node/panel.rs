//! What a node's process sees of the simulated machine, and what it leaves there for the world to find.
//!
//! The driver owns its world and its reader, so both reach the machine through this panel. The lock is never waited
//! for: there is one thread.

use crate::{call::CallId, rng::Rng, time::MS, time::Ns};
use relaymesh_core::id::StepId;
use relaymesh_runtime::{
    clock::Source,
    driver::{Answer, Error},
    world::{Alert, Outcome, Work},
};
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};

/// The machine as its process sees it.
#[derive(Debug)]
pub(crate) struct Panel {
    pub(crate) now: Ns,
    pub(crate) wall: Wall,
    pub(crate) rng: Rng,
    /// Reads that fail, of a thousand.
    pub(crate) reads_fail: u64,
    pub(crate) reads_failed: u64,
    /// Work that was begun, with when and how it will end; `None`: never.
    pub(crate) begun: Vec<(Work, Option<(Ns, Outcome)>)>,
    pub(crate) stopped: Vec<(StepId, u32)>,
    pub(crate) alerts: Vec<Alert>,
    pub(crate) answers: Vec<(CallId, Result<Answer, Error>)>,
}

/// The wall clock: how far it is from the monotonic one, and how fast it runs away.
#[derive(Debug, Clone, Copy)]
pub(crate) struct Wall {
    set_at: Ns,
    /// What it showed when it was last set.
    shown_ms: i64,
    drift_ppm: i64,
}

#[derive(Debug, Clone)]
pub(crate) struct Shared(Arc<Mutex<Panel>>);

impl Shared {
    pub(crate) fn new(rng: Rng, wall_ms: u64) -> Self {
        let shown_ms = i64::try_from(wall_ms).unwrap_or(0);
        Self(Arc::new(Mutex::new(Panel {
            now: 0,
            wall: Wall { set_at: 0, shown_ms, drift_ppm: 0 },
            rng,
            reads_fail: 0,
            reads_failed: 0,
            begun: Vec::new(),
            stopped: Vec::new(),
            alerts: Vec::new(),
            answers: Vec::new(),
        })))
    }

    pub(crate) fn look(&self) -> MutexGuard<'_, Panel> {
        self.0.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

impl Panel {
    /// Sets the wall clock ahead or back.
    pub(crate) fn jump(&mut self, by_ms: i64) {
        self.wall = self.wall.set(self.now, by_ms, self.wall.drift_ppm);
    }

    pub(crate) fn drift(&mut self, ppm: i64) {
        self.wall = self.wall.set(self.now, 0, ppm);
    }

    pub(crate) fn wall_ms(&self) -> u64 {
        u64::try_from(self.wall.at(self.now)).unwrap_or(0)
    }
}

impl Wall {
    fn at(self, now: Ns) -> i64 {
        let passed_ms = i64::try_from((now - self.set_at) / MS).unwrap_or(0);
        self.shown_ms + passed_ms + passed_ms * self.drift_ppm / 1_000_000
    }

    fn set(self, now: Ns, by_ms: i64, drift_ppm: i64) -> Self {
        Self { set_at: now, shown_ms: self.at(now) + by_ms, drift_ppm }
    }
}

impl Source for Shared {
    fn wall_ms(&self) -> u64 {
        self.look().wall_ms()
    }

    fn boot_ms(&self) -> u64 {
        self.look().now / MS
    }
}
