//! What is read of a node's feeds, whoever keeps them.

use super::{
    head::SignedHead,
    place::{FeedId, Place},
    run::Run,
};
use relaymesh_core::{hash::Hash, hlc::Hlc, id::NodeId};

/// How many branches of a feed are kept. Two are proof enough, but which two would be another matter on every node.
pub const BRANCHES_MAX: usize = 16;
/// How many of them need no seal: one more has room, for a branch that all others have agreed on.
pub const BRANCHES_UNSEALED_MAX: usize = BRANCHES_MAX - 1;
/// How many feeds of one origin are kept. Each restore of a node begins one; a liar would begin four thousand million.
pub const FEEDS_PER_ORIGIN_MAX: usize = 128;
/// How many of them need no seal.
pub const FEEDS_UNSEALED_MAX: usize = FEEDS_PER_ORIGIN_MAX / 2;

/// Which branch of a feed, counted in the order in which they became known here. An honest feed has the trunk alone.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
pub struct Branch(pub(super) u8);

impl Branch {
    /// The one that was known first.
    pub const TRUNK: Branch = Branch(0);
}

/// The end of a branch.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Tip {
    /// Which branch.
    pub branch: Branch,
    /// The last place that it has in common with the branch that it leaves; 0 for the trunk.
    pub since: u64,
    /// Its newest head. Every branch ends at one.
    pub head: SignedHead,
}

/// What lies in a place.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Held {
    /// The hash of the op there.
    pub hash: Hash,
    /// When it is dated; `None` at place 0.
    pub hlc: Option<Hlc>,
}

/// The feeds of a node, to be read. What cannot be read is not there: an implementation says so itself, and the worst that follows
/// is that something is fetched again.
pub trait FeedLog {
    /// The feeds after one, in order, at most so many.
    fn feeds(&self, after: Option<FeedId>, limit: usize) -> Vec<FeedId>;

    /// How many feeds of an origin there are.
    fn epochs(&self, origin: NodeId) -> usize;

    /// The ends of a feed's branches, the trunk's first; none if the feed is not here.
    fn tips(&self, feed: FeedId) -> Vec<Tip>;

    /// What lies in a place of a branch, if the branch reaches it. Up to where it leaves another one the two are one.
    fn held(&self, feed: FeedId, branch: Branch, seq: u64) -> Option<Held>;

    /// The longest run of a branch from a place on that is within the bounds of runs and whose head is as of `until_ms` or before; if
    /// there is none, the shortest. At the branch's end it is the head alone. `None` if the branch is not here, or if no head is near enough.
    fn run(&self, feed: FeedId, branch: Branch, after: u64, until_ms: u64) -> Option<Run>;

    /// The branch on which a place lies; of several the one that the others leave.
    fn find(&self, feed: FeedId, place: Place) -> Option<Branch> {
        if place.seq == 0 {
            return (place == feed.start()).then_some(Branch::TRUNK);
        }
        let has = |branch: &Branch| self.held(feed, *branch, place.seq).is_some_and(|held| held.hash == place.hash);
        self.tips(feed).into_iter().map(|tip| tip.branch).find(has)
    }

    /// Up to when nothing more is to come on the trunk of a feed, as its author has promised.
    fn promised(&self, feed: FeedId) -> Option<Hlc> {
        self.tips(feed).first().map(|tip| tip.head.as_of)
    }

    /// The last place that all branches of a feed have in common, if it has several.
    fn forked_at(&self, feed: FeedId) -> Option<u64> {
        self.tips(feed).into_iter().filter(|tip| tip.branch != Branch::TRUNK).map(|tip| tip.since).min()
    }
}
