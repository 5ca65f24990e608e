//! What is known of another node, and how much of it is read.

use super::{config::Quota, frame::FRAME_BYTES_MAX};
use crate::feed::{FeedId, Place};

/// How long a quota is for.
const QUOTA_PERIOD_MS: u64 = 1_000;

/// Another node.
#[derive(Debug, Clone)]
pub(super) struct Peer {
    /// Whether it can be reached, as far as membership can tell.
    pub(super) up: bool,
    /// When it last sent something that could be read.
    pub(super) heard_ms: Option<u64>,
    pub(super) budget: Budget,
    /// Where it stands in our own feed, as far as we know.
    pub(super) knows: Option<(FeedId, Place)>,
    /// Whether something that it has is not here, as far as it has told in the round that goes on.
    pub(super) lacks: Option<bool>,
    /// Whether all that it had was here, at some time since the start, or since somebody began another life.
    pub(super) agreed: bool,
    /// Up to which feed it was told our heads.
    pub(super) told_through: Option<FeedId>,
    /// Up to which feed it was told what it lacks.
    pub(super) answered_through: Option<FeedId>,
    pub(super) malformed: u64,
    pub(super) flooded: u64,
    pub(super) refused: u64,
    pub(super) timeouts: u64,
}

impl Peer {
    pub(super) const fn new(quota: Quota, now_ms: u64) -> Self {
        Self {
            up: true,
            heard_ms: None,
            budget: Budget::new(quota, now_ms),
            knows: None,
            lacks: None,
            agreed: false,
            told_through: None,
            answered_through: None,
            malformed: 0,
            flooded: 0,
            refused: 0,
            timeouts: 0,
        }
    }
}

/// How much of a peer is still read in this second. What was asked for does not count against it: each request adds the room for its
/// answer.
#[derive(Debug, Clone, Copy)]
pub(super) struct Budget {
    quota: Quota,
    since_ms: u64,
    frames: u64,
    bytes: u64,
    checks: u64,
    served_bytes: u64,
}

impl Budget {
    const fn new(quota: Quota, now_ms: u64) -> Self {
        let Quota { frames, bytes, checks, served_bytes } = quota;
        Self { quota, since_ms: now_ms, frames, bytes, checks, served_bytes }
    }

    /// Whether a frame of this length is read. `asked` answers are on their way.
    pub(super) fn read(&mut self, bytes: usize, asked: usize, now_ms: u64) -> bool {
        if now_ms.saturating_sub(self.since_ms) >= QUOTA_PERIOD_MS {
            *self = Self::new(self.quota, now_ms);
            (0..asked).for_each(|_| self.asked());
        }
        let (Some(frames), Some(rest)) = (self.frames.checked_sub(1), self.bytes.checked_sub(bytes as u64)) else {
            return false;
        };
        (self.frames, self.bytes) = (frames, rest);
        true
    }

    /// Whether a head of it that is not known may cost a signature.
    pub(super) const fn check(&mut self) -> bool {
        let may = self.checks > 0;
        self.checks = self.checks.saturating_sub(1);
        may
    }

    /// Makes room for one answer.
    pub(super) const fn asked(&mut self) {
        self.frames += 1;
        self.bytes += FRAME_BYTES_MAX as u64;
    }

    /// Whether so much is given out. The last one may be longer than what is left.
    pub(super) const fn serve(&mut self, bytes: usize) -> bool {
        let serves = self.served_bytes > 0;
        self.served_bytes = self.served_bytes.saturating_sub(bytes as u64);
        serves
    }
}
