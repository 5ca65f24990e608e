//! Locators: where a node stands, in few places.
//!
//! Two logs of one feed have a beginning in common, and nobody knows how much of it. Asking place by place takes a round trip for
//! each halving. So the one who asks names places of its branches that go back 1, 2, 4, 8 … to the start, and the other one
//! goes on from the newest that it has as well. At worst half of what the asker has beyond that is sent once more.

use super::frame::LOCATOR_MAX;
use crate::feed::{Branch, FeedId, FeedLog, Place};

/// Places of all branches of a feed, the newest first; `reached` is one more that is known to be a good start.
pub(super) fn locator(log: &impl FeedLog, feed: FeedId, reached: Option<Place>) -> Vec<Place> {
    let mut places: Vec<Place> = reached.into_iter().collect();
    let tips = log.tips(feed);
    let room = (LOCATOR_MAX - places.len()) / tips.len().max(1);
    for tip in tips {
        let back = std::iter::successors(Some(0u64), |back| Some(back.saturating_mul(2).max(1)));
        let seqs = back.map_while(|back| tip.head.seq.checked_sub(back).filter(|seq| *seq > tip.since));
        let place = |seq| log.held(feed, tip.branch, seq).map(|held| Place { seq, hash: held.hash });
        places.extend(seqs.take(room - 1).chain(Some(tip.since).filter(|since| *since > 0)).filter_map(place));
    }
    places
}

/// The newest of these places that lies on a branch. The start does, if the branch is there at all.
pub(super) fn newest_common(log: &impl FeedLog, feed: FeedId, branch: Branch, places: &[Place]) -> u64 {
    let has = |place: &&Place| log.held(feed, branch, place.seq).is_some_and(|held| held.hash == place.hash);
    places.iter().filter(has).map(|place| place.seq).max().unwrap_or(0)
}
