//! What a node's process sees of the simulated machine, and what it leaves there for the world to find.
//!
//! The driver owns its world and its reader, so both reach the machine through this panel. The lock is never waited
//! for: there is one thread.

use super::outside::{Begun, HeldNow, Refused};
use crate::{call::CallId, rng::Rng, share::Shares, time::MS, time::Ns};
use relaymesh_core::id::StepId;
use relaymesh_runtime::{
    clock::Source,
    driver::{Answer, Error},
    world::Alert,
};
use relaymesh_store::Spend;
use std::{
    collections::BTreeMap,
    fmt,
    sync::{Arc, Mutex, MutexGuard, PoisonError},
};

/// The machine as its process sees it.
pub(crate) struct Panel {
    pub(crate) now: Ns,
    pub(crate) wall: Wall,
    pub(crate) rng: Rng,
    /// Reads that fail, of a thousand.
    pub(crate) reads_fail: u64,
    pub(crate) reads_failed: u64,
    /// Which agents there are.
    pub(crate) shares: Shares,
    /// Providers that turn everybody away.
    pub(crate) busy: BTreeMap<String, Busy>,
    /// Who is held, as it was last written down.
    pub(crate) held: Option<Vec<u8>>,
    pub(crate) held_now: Vec<HeldNow>,
    pub(crate) begun: Vec<Begun>,
    pub(crate) refused: Vec<Refused>,
    /// What is to be written to the journal.
    pub(crate) spent: Vec<Spend>,
    pub(crate) stopped: Vec<(StepId, u32)>,
    pub(crate) alerts: Vec<Alert>,
    pub(crate) answers: Vec<(CallId, Result<Answer, Error>)>,
}

/// A provider that has enough of us for a while.
#[derive(Debug, Clone, Copy)]
pub(crate) struct Busy {
    pub(crate) until: Ns,
    /// Whether it says for how long.
    pub(crate) says_until: bool,
}

/// The wall clock: how far it is from the monotonic one, and how fast it runs away.
#[derive(Debug, Clone, Copy)]
pub(crate) struct Wall {
    set_at: Ns,
    /// What it showed when it was last set.
    shown_ms: i64,
    drift_ppm: i64,
}

#[derive(Clone)]
pub(crate) struct Shared(Arc<Mutex<Panel>>);

impl fmt::Debug for Shared {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Shared").finish_non_exhaustive()
    }
}

impl Shared {
    pub(crate) fn new(rng: Rng, wall_ms: u64, shares: Shares) -> Self {
        let shown_ms = i64::try_from(wall_ms).unwrap_or(0);
        Self(Arc::new(Mutex::new(Panel {
            now: 0,
            wall: Wall { set_at: 0, shown_ms, drift_ppm: 0 },
            rng,
            reads_fail: 0,
            reads_failed: 0,
            shares,
            busy: BTreeMap::new(),
            held: None,
            held_now: Vec::new(),
            begun: Vec::new(),
            refused: Vec::new(),
            spent: Vec::new(),
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
