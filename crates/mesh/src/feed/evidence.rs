//! Proof that an author lies: two heads that it signed and that cannot both be true (D24).

use super::{head::SignedHead, place::FeedId};
use std::fmt;

/// In what way two heads contradict each other.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
pub enum Lie {
    /// There are two different ops in one place.
    Fork,
    /// An op is dated at or before a promise that was made before it.
    Promise,
}

/// Two signed heads of one feed that cannot both be true. After a fork nothing of the feed counts from `from_seq` on; a broken promise is told
/// and changes nothing.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Evidence {
    /// Whose.
    pub feed: FeedId,
    /// In what way.
    pub lie: Lie,
    /// The first op that is a lie.
    pub from_seq: u64,
    /// The head that was known.
    pub known: SignedHead,
    /// The head that contradicts it.
    pub other: SignedHead,
}

impl fmt::Display for Evidence {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let Self { feed, from_seq, .. } = self;
        match self.lie {
            Lie::Fork => write!(f, "{feed} has two ops in place {from_seq}"),
            Lie::Promise => write!(f, "{feed} dates op {from_seq} before what it promised"),
        }
    }
}
