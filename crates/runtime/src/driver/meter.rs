//! What the driver measures of its own commits: a clock read twice a batch, and nothing a task.

use crate::spread::Spread;
use relaymesh_store::Error;
use std::{
    sync::atomic::{AtomicU64, Ordering::Relaxed},
    time::{Duration, Instant},
};

const MICROS: &[u64] =
    &[100, 200, 500, 1_000, 2_000, 5_000, 10_000, 25_000, 50_000, 100_000, 250_000, 1_000_000, 5_000_000];
const OPS: &[u64] = &[1, 2, 4, 8, 16, 32, 64, 128, 256, 512, 1_024];

/// How commits went.
#[derive(Debug)]
pub struct Meter {
    /// How long each took, written and synced, in microseconds.
    pub commit_micros: Spread,
    /// How many ops each had.
    pub commit_ops: Spread,
    /// How many found no room, and were undone.
    pub full: AtomicU64,
    /// How many failed in another way.
    pub failed: AtomicU64,
    born: Instant,
    /// When the commit that is under way began, in milliseconds after `born` and one more; 0 when none is.
    began: AtomicU64,
}

impl Default for Meter {
    fn default() -> Self {
        let (full, failed) = (AtomicU64::new(0), AtomicU64::new(0));
        let (born, began) = (Instant::now(), AtomicU64::new(0));
        Self { commit_micros: Spread::new(MICROS), commit_ops: Spread::new(OPS), full, failed, born, began }
    }
}

impl Meter {
    /// For how long the writer has been at one commit; `None` when it is at none.
    pub fn committing_for(&self) -> Option<Duration> {
        let began_ms = self.began.load(Relaxed).checked_sub(1)?;
        Some(self.born.elapsed().saturating_sub(Duration::from_millis(began_ms)))
    }

    /// A commit has begun.
    pub(super) fn begin(&self) {
        let began_ms = u64::try_from(self.born.elapsed().as_millis()).unwrap_or(u64::MAX);
        self.began.store(began_ms.saturating_add(1), Relaxed);
    }

    /// A commit of so many ops has ended.
    pub(super) fn committed(&self, ops: usize, took: Duration, result: &Result<(), Error>) {
        self.began.store(0, Relaxed);
        match result {
            Ok(()) => {
                self.commit_micros.add(u64::try_from(took.as_micros()).unwrap_or(u64::MAX));
                self.commit_ops.add(ops as u64);
            }
            Err(Error::Full { .. }) => {
                self.full.fetch_add(1, Relaxed);
            }
            Err(_) => {
                self.failed.fetch_add(1, Relaxed);
            }
        }
    }
}
