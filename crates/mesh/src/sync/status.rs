//! What an operator sees (F17).

use super::node::Sync;
use crate::feed::{FeedId, FeedLog};
use relaymesh_core::id::NodeId;

/// Another node, as sync sees it.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct PeerStatus {
    /// Which.
    pub peer: NodeId,
    /// Whether it can be reached.
    pub up: bool,
    /// When it last sent something that could be read.
    pub heard_ms: Option<u64>,
    /// Whether all that it had was here, at some time since the start.
    pub agreed: bool,
    /// How many of our own ops it had not heard of when it last told; `None` if it never did.
    pub behind_ops: Option<u64>,
    /// How many answers of it are on their way.
    pub asked: usize,
    /// Frames that are none, and heads that nobody signed.
    pub malformed: u64,
    /// Frames that were not read, because it had used up its quota.
    pub flooded: u64,
    /// Runs that were refused.
    pub refused: u64,
    /// Requests that it did not answer in time.
    pub timeouts: u64,
}

/// A feed, as it is here and elsewhere.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct FeedStatus {
    /// Which.
    pub feed: FeedId,
    /// How many ops of its trunk are here.
    pub seq: u64,
    /// Up to when all of it is here, in milliseconds.
    pub as_of_ms: Option<u64>,
    /// How many ops others are known to have beyond that.
    pub lag_ops: u64,
    /// The last place that its branches have in common, if it is forked.
    pub forked_at: Option<u64>,
    /// From which op on its author is known to lie.
    pub lies_from: Option<u64>,
    /// Whether a run of it is in quarantine.
    pub quarantined: bool,
    /// Heads that were refused and are not asked for.
    pub refused: usize,
}

impl<R> Sync<R> {
    /// Every peer, in order.
    pub fn peers(&self, log: &impl FeedLog) -> Vec<PeerStatus> {
        let own = self.own_feed.and_then(|feed| Some((feed, log.tips(feed).first()?.head.seq)));
        let status = |(node, peer): (&NodeId, &super::peer::Peer)| PeerStatus {
            peer: *node,
            up: peer.up,
            heard_ms: peer.heard_ms,
            agreed: peer.agreed,
            behind_ops: own.and_then(|(feed, seq)| {
                let (_, place) = peer.knows.filter(|(known, _)| *known == feed)?;
                Some(seq.saturating_sub(place.seq))
            }),
            asked: self.wanted.asked_of(*node),
            malformed: peer.malformed,
            flooded: peer.flooded,
            refused: peer.refused,
            timeouts: peer.timeouts,
        };
        self.peers.iter().map(status).collect()
    }

    /// Whether all that a peer had was here, at some time since the start, or since somebody began another life.
    pub fn has_agreed(&self, peer: NodeId) -> bool {
        self.peers.get(&peer).is_some_and(|peer| peer.agreed)
    }

    /// Whether anybody has agreed.
    pub fn has_any_agreed(&self) -> bool {
        self.peers.values().any(|peer| peer.agreed)
    }

    /// How a feed is.
    pub fn feed(&self, feed: FeedId, log: &impl FeedLog) -> FeedStatus {
        let tips = log.tips(feed);
        let seq = tips.first().map_or(0, |tip| tip.head.seq);
        FeedStatus {
            feed,
            seq,
            as_of_ms: tips.first().map(|tip| tip.head.as_of.wall_ms),
            lag_ops: self.wanted.furthest(feed).max(self.quarantine.end(feed)).unwrap_or(0).saturating_sub(seq),
            forked_at: log.forked_at(feed),
            lies_from: self.lies.get(&feed).copied(),
            quarantined: self.quarantine.holds(feed),
            refused: self.wanted.refused(feed),
        }
    }
}
