//! The numbers.

use crate::{membership, sync};

/// The numbers of a peer.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Config {
    /// Those of sync.
    pub sync: sync::Config,
    /// Those of membership.
    pub membership: membership::Config,
    /// How often a node that has nothing to say promises that nothing older is to come.
    pub promise_period_ms: u64,
    /// How often the coordinator looks whether there is something to seal.
    pub seal_period_ms: u64,
    /// How far ahead of the clock an op may be dated.
    pub max_clock_drift_ms: u64,
    /// How many scopes are folded again at one go.
    pub fold_batch: usize,
}

impl Default for Config {
    fn default() -> Self {
        Self {
            sync: sync::Config::default(),
            membership: membership::Config::default(),
            promise_period_ms: 2_000,
            seal_period_ms: 30_000,
            max_clock_drift_ms: relaymesh_core::hlc::MAX_CLOCK_DRIFT_MS,
            fold_batch: 64,
        }
    }
}
