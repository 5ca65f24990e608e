//! Quarantine: what is dated too far ahead (D20).
//!
//! One wild clock would pull all others along, and every lease would be over. The date of its last op tells whether a run is too far ahead;
//! what is promised with it does not. Such a run is verified and held, one for each feed, and what comes besides goes its own way: a liar must
//! not hold up what others vouch for. It does not reach the node, so it moves no clock. When time has caught up it goes the way of any
//! other run.
//!
//! Its author is told, again and again while it lasts, and a node that was told should write nothing until then. That is only a word: any
//! peer may say it. So it counts for a short time, and who said it is known.

use super::{
    config::Config,
    frame::Frame,
    gate::{Around, Gate},
    node::{Event, Sync},
};
use crate::feed::{FeedId, FeedLog, Place, Run, SignedHead};
use rand_core::Rng;
use relaymesh_core::{hlc::Hlc, id::NodeId};
use std::collections::BTreeMap;

/// For how long the word of a peer counts that we are ahead.
const TOLD_MS_MAX: u64 = 60_000;

/// A run that is dated too far ahead.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Quarantined {
    /// Of which feed.
    pub feed: FeedId,
    /// Who sent it.
    pub from: NodeId,
    /// How many ops it has.
    pub ops: usize,
    /// Where it ends.
    pub head: SignedHead,
    /// When it came.
    pub since_ms: u64,
    /// How far it was ahead of this node's clock then.
    pub ahead_ms: u64,
}

/// That this node is ahead, as others say.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Ahead {
    /// How far, at most.
    pub ahead_ms: u64,
    /// How many peers say so.
    pub peers: usize,
}

/// What is held, and what we were told ourselves.
#[derive(Debug, Default)]
pub(super) struct Quarantine {
    held: BTreeMap<FeedId, Held>,
    bytes: usize,
    /// By whom, how far, and until when it counts.
    pub(super) told: BTreeMap<NodeId, (u64, u64)>,
}

#[derive(Debug)]
struct Held {
    shown: Quarantined,
    run: Run,
    /// When its last op is dated.
    dated: Hlc,
    /// When it may be let out.
    due_ms: u64,
    /// When its author is told again.
    notice_ms: u64,
}

impl Quarantine {
    pub(super) fn holds(&self, feed: FeedId) -> bool {
        self.held.contains_key(&feed)
    }

    /// Whether the run that is held leads to this place.
    pub(super) fn is_held(&self, feed: FeedId, place: Place) -> bool {
        self.held.get(&feed).is_some_and(|held| held.run.head.place() == place)
    }

    /// Where the run of a feed ends that is held.
    pub(super) fn end(&self, feed: FeedId) -> Option<u64> {
        self.held.get(&feed).map(|held| held.run.head.seq)
    }

    pub(super) fn is_bounded(&self, config: &Config) -> bool {
        let bytes: usize = self.held.values().map(|held| held.run.bytes()).sum();
        bytes == self.bytes && bytes <= config.quarantined_bytes_max && self.held.len() <= config.quarantined_max
    }

    pub(super) fn due_ms(&self) -> Option<u64> {
        self.held.values().map(|held| held.due_ms.min(held.notice_ms)).min()
    }

    pub(super) fn bytes_of(&self, feed: FeedId) -> usize {
        self.held.get(&feed).map_or(0, |held| held.run.bytes())
    }

    /// The feeds whose run is not too far ahead any more.
    pub(super) fn ripe(&self, latest_ms: u64) -> Vec<FeedId> {
        let ripe = |held: &&Held| held.dated.wall_ms <= latest_ms;
        self.held.values().filter(ripe).map(|held| held.shown.feed).collect()
    }

    pub(super) fn postpone(&mut self, feed: FeedId, due_ms: u64) {
        if let Some(held) = self.held.get_mut(&feed) {
            held.due_ms = due_ms;
        }
    }

    pub(super) fn take(&mut self, feed: FeedId) -> Option<(NodeId, Run)> {
        let held = self.held.remove(&feed)?;
        self.bytes -= held.run.bytes();
        Some((held.shown.from, held.run))
    }
}

impl<R: Rng> Sync<R> {
    /// What is in quarantine, by feed.
    pub fn quarantined(&self) -> impl Iterator<Item = &Quarantined> {
        self.quarantine.held.values().map(|held| &held.shown)
    }

    /// Whether others say that this node's clock is ahead. Then it should write nothing until nobody says so any more.
    pub fn told_ahead(&self, now_ms: u64) -> Option<Ahead> {
        self.told_ahead_by(|_| true, now_ms)
    }

    /// The same, as far as these say so.
    pub fn told_ahead_by(&self, counts: impl Fn(NodeId) -> bool, now_ms: u64) -> Option<Ahead> {
        let recent = self.quarantine.told.iter().filter(|(by, (_, until_ms))| *until_ms > now_ms && counts(**by));
        let told = recent.map(|(_, (ahead_ms, _))| *ahead_ms);
        let (peers, ahead_ms) = told.fold((0, 0), |(peers, most), ahead_ms| (peers + 1, most.max(ahead_ms)));
        (peers > 0).then_some(Ahead { ahead_ms, peers })
    }

    /// Holds a run that was verified and is dated too far ahead.
    pub(super) fn hold<L: FeedLog, G: Gate>(&mut self, from: NodeId, run: Run, dated: Hlc, around: &Around<'_, L, G>) {
        let (feed, head, now_ms) = (run.head.feed(), run.head, around.now_ms);
        let ahead_ms = dated.wall_ms.saturating_sub(now_ms);
        // One run for each feed: whoever brought another one brings it again.
        let full = self.quarantine.holds(feed)
            || self.quarantine.held.len() >= self.config.quarantined_max
            || self.quarantine.bytes + run.bytes() > self.config.quarantined_bytes_max;
        // A promise alone is not worth the room: it is told again.
        if full || run.is_empty() {
            self.counters.dropped += u64::from(full);
            return self.notify_author(from, feed.origin, ahead_ms);
        }
        let shown = Quarantined { feed, from, ops: run.len(), head, since_ms: now_ms, ahead_ms };
        let due_ms = dated.wall_ms.saturating_sub(around.gate.max_drift_ms());
        let notice_ms = now_ms.saturating_add(self.config.notice_period_ms);
        self.quarantine.bytes += run.bytes();
        self.quarantine.held.insert(feed, Held { shown, run, dated, due_ms, notice_ms });
        self.counters.quarantined += 1;
        self.event(Event::Quarantined { feed, ahead_ms });
        self.notify_author(from, feed.origin, ahead_ms);
    }

    /// Tells the authors of what is held once more, when it is time.
    pub(super) fn notify(&mut self, now_ms: u64) {
        let again_ms = now_ms.saturating_add(self.config.notice_period_ms);
        let due = self.quarantine.held.values_mut().filter(|held| held.notice_ms <= now_ms);
        let told: Vec<_> = due
            .map(|held| {
                held.notice_ms = again_ms;
                let ahead_ms = held.dated.wall_ms.saturating_sub(now_ms);
                (held.shown.from, held.shown.feed.origin, ahead_ms)
            })
            .collect();
        told.into_iter().for_each(|(from, origin, ahead_ms)| self.notify_author(from, origin, ahead_ms));
    }

    /// Tells the author, or whoever brought it if the author cannot be reached.
    fn notify_author(&mut self, from: NodeId, origin: NodeId, ahead_ms: u64) {
        let reachable = self.peers.get(&origin).is_some_and(|peer| peer.up);
        self.transmit(if reachable { origin } else { from }, &Frame::Notice { origin, ahead_ms });
    }

    pub(super) fn hear_notice(&mut self, from: NodeId, origin: NodeId, ahead_ms: u64, now_ms: u64) {
        if origin == self.own {
            let until_ms = now_ms.saturating_add(ahead_ms.min(TOLD_MS_MAX));
            self.quarantine.told.insert(from, (ahead_ms, until_ms));
        }
    }
}
