//! What the machine asks the node that runs it.

use crate::feed::{FeedId, FeedLog, Place};
use relaymesh_core::{hash::Hash, hlc::MAX_CLOCK_DRIFT_MS, id::NodeId, op::Scope};

/// What a node lets in and gives out.
pub trait Gate {
    /// Whether this origin belongs to the mesh. What others write is refused, and offered again later.
    fn enrolled(&self, origin: NodeId) -> bool;

    /// The places of a feed that were sealed: what leads there is taken even where there is no room for anything else of its origin.
    fn sealed(&self, feed: FeedId) -> Vec<Place> {
        let _ = feed;
        Vec::new()
    }

    /// How far ahead of the clock an op may be dated.
    fn max_drift_ms(&self) -> u64 {
        MAX_CLOCK_DRIFT_MS
    }

    /// Whether a peer may see content of this scope (L13). That the content is named in the scope is for the node to check: the scope is only
    /// what the peer says.
    fn may_see(&self, peer: NodeId, content: &Hash, scope: Scope) -> bool;

    /// At most `len_max` bytes of a content from `offset` on, if it is here.
    fn content(&self, content: &Hash, offset: u32, len_max: usize) -> Option<Vec<u8>>;
}

/// What is around the machine while it handles something.
#[derive(Debug, Clone, Copy)]
pub struct Around<'a, L, G> {
    /// The feeds that are here.
    pub log: &'a L,
    /// What is let in and given out.
    pub gate: &'a G,
    /// The time, of the clock that stamps ops are compared with. It does not go back.
    pub now_ms: u64,
}

impl<L: FeedLog, G: Gate> Around<'_, L, G> {
    /// The latest time that is believed.
    pub(super) fn latest_ms(&self) -> u64 {
        self.now_ms.saturating_add(self.gate.max_drift_ms())
    }
}
