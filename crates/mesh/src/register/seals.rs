//! The seals: up to where everything is agreed on (D29).
//!
//! In a mesh whose nodes come and go a claim may turn up that is older than one that was already worked on. That has to end
//! somewhere, or no result is ever final. A seal is where it ends: it names a time and where each chain stood then. Whatever is
//! dated up to that time and lies behind a head was not known to anybody who agreed, and has no effect, for ever and everywhere.
//!
//! ```text
//!            upto
//!  A ──●──●───┊─●──●      head A = its second op
//!  B ─────●───┊───●       head B = its first
//!  C ──○──────┊           C was cut off; ○ turns up later: sealed out
//! ```
//!
//! The tempting wrong answer has every node find out by itself what nobody can change any more, from what the others say they
//! have. It is right as long as nobody lies: a liar that shows two branches of its feed takes back what all had agreed on (D24).
//! A seal is on the log, so what it protects is protected on every node alike.
//!
//! Seals only go forward: each names a later time than the one before it, and no chain goes back.

use super::apply::Refusal;
use relaymesh_core::{hlc::Hlc, id::NodeId, op::ChainHead};
use serde::{Deserialize, Serialize};

/// The most chains that a seal names: as many as an op has room for.
pub const SEAL_HEADS_MAX: usize = 256;

/// One seal.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct SealWord {
    /// When it was said.
    pub at: Hlc,
    /// Up to when everything is agreed on.
    pub upto: Hlc,
    /// Where each chain stood, by origin and epoch.
    pub heads: Vec<ChainHead>,
}

impl SealWord {
    /// Where a chain stood. A chain that is not named had nothing yet.
    pub fn head(&self, origin: NodeId, origin_epoch: u32) -> Option<&ChainHead> {
        let key = |head: &ChainHead| (head.origin, head.origin_epoch);
        self.heads.binary_search_by_key(&(origin, origin_epoch), key).ok().map(|index| &self.heads[index])
    }
}

/// Every seal, the oldest first.
#[derive(Debug, Clone, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct Seals {
    seals: Vec<SealWord>,
}

impl Seals {
    /// Takes in the next seal.
    pub(crate) fn push(&mut self, seal: SealWord) -> Result<(), Refusal> {
        let SealWord { at, upto, heads } = &seal;
        if upto >= at {
            return Err(Refusal::SealAhead { upto: *upto, at: *at });
        }
        let sorted = heads.is_sorted_by(|one, next| (one.origin, one.origin_epoch) < (next.origin, next.origin_epoch));
        if heads.len() > SEAL_HEADS_MAX || !sorted {
            return Err(Refusal::SealHeads { heads: heads.len() });
        }
        if let Some(last) = self.seals.last() {
            let goes_on = |before: &ChainHead| {
                let now = seal.head(before.origin, before.origin_epoch);
                now.is_some_and(|now| now.seq > before.seq || (now.seq == before.seq && now.hash == before.hash))
            };
            if *upto <= last.upto || !last.heads.iter().all(goes_on) {
                return Err(Refusal::SealBack { upto: *upto, last: last.upto });
            }
        }
        self.seals.push(seal);
        Ok(())
    }

    /// The seal that says whether something of this time counts: the first one that reaches it.
    pub fn over(&self, dated: Hlc) -> Option<&SealWord> {
        let first = self.seals.partition_point(|seal| seal.upto < dated);
        self.seals.get(first)
    }

    /// The newest seal.
    pub fn last(&self) -> Option<&SealWord> {
        self.seals.last()
    }

    /// Every seal, the oldest first.
    pub fn all(&self) -> &[SealWord] {
        &self.seals
    }
}
