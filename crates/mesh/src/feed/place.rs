//! Names of feeds, and of places in them.

use relaymesh_core::{
    hash::Hash,
    id::NodeId,
    op::{Chain, ChainHead},
};
use serde::{Deserialize, Serialize};
use std::fmt;

/// One chain of one origin.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize, Deserialize)]
pub struct FeedId {
    /// Who writes it.
    pub origin: NodeId,
    /// Which of its chains.
    pub origin_epoch: u32,
}

/// A place in a feed: an op, and by its hash every op before it. Place 0 is before the first op.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Serialize, Deserialize)]
pub struct Place {
    /// How many ops lie up to it.
    pub seq: u64,
    /// The hash of the last of them.
    pub hash: Hash,
}

impl FeedId {
    /// The place before the first op.
    pub fn start(self) -> Place {
        Place { seq: 0, hash: self.chain().head }
    }

    /// The feed without ops.
    pub fn chain(self) -> Chain {
        Chain::new(self.origin, self.origin_epoch)
    }

    /// A place of this feed, as others name it.
    pub const fn head(self, place: Place) -> ChainHead {
        ChainHead { origin: self.origin, origin_epoch: self.origin_epoch, seq: place.seq, hash: place.hash }
    }

    /// The feed of a head, and the place.
    pub const fn of(head: &ChainHead) -> (Self, Place) {
        let feed = Self { origin: head.origin, origin_epoch: head.origin_epoch };
        (feed, Place { seq: head.seq, hash: head.hash })
    }
}

impl fmt::Display for FeedId {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{} epoch {}", self.origin, self.origin_epoch)
    }
}
