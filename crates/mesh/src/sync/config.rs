//! The numbers.

use crate::feed::RUN_BYTES_MAX;

/// The numbers of sync. Every queue has one.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Config {
    /// How often one other node is told our heads.
    pub period_ms: u64,
    /// How much earlier or later than that.
    pub jitter_ms: u64,
    /// How long news are collected before they are told again.
    pub news_gap_ms: u64,
    /// How long an answer is waited for before somebody else is asked.
    pub want_timeout_ms: u64,
    /// How many runs one peer is asked for at a time.
    pub wants_per_peer_max: usize,
    /// For how many feeds it is remembered who offers what.
    pub wanted_feeds_max: usize,
    /// How many accepted runs may wait for the node to take them, those that are on their way included.
    pub accepted_max: usize,
    /// How many bytes they may have together.
    pub accepted_bytes_max: usize,
    /// How many runs may be in quarantine, one for each feed.
    pub quarantined_max: usize,
    /// How many bytes they may have together.
    pub quarantined_bytes_max: usize,
    /// How often the author of what is in quarantine is told.
    pub notice_period_ms: u64,
    /// How much of what it did not ask for a node reads of one peer in a second.
    pub quota: Quota,
    /// How many contents are fetched at a time.
    pub contents_active_max: usize,
    /// How many contents may wait to be fetched.
    pub contents_max: usize,
}

/// What one peer may send and ask for in one second.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Quota {
    /// Frames, besides answers.
    pub frames: u64,
    /// Bytes, besides answers.
    pub bytes: u64,
    /// Heads that are not known here, each of which may cost the check of a signature.
    pub checks: u64,
    /// Bytes of runs and contents that it is given.
    pub served_bytes: u64,
}

impl Default for Config {
    fn default() -> Self {
        Self {
            period_ms: 2_000,
            jitter_ms: 500,
            news_gap_ms: 20,
            want_timeout_ms: 5_000,
            wants_per_peer_max: 4,
            wanted_feeds_max: 1_024,
            accepted_max: 64,
            accepted_bytes_max: 16 * RUN_BYTES_MAX,
            quarantined_max: 64,
            quarantined_bytes_max: 8 * RUN_BYTES_MAX,
            notice_period_ms: 20_000,
            quota: Quota { frames: 4_096, bytes: 8 << 20, checks: 2_048, served_bytes: 64 << 20 },
            contents_active_max: 4,
            contents_max: 256,
        }
    }
}
