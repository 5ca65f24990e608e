//! Runs that arrive: from the gate to the queue from which the node takes them.
//!
//! One run of a feed at a time: the next one is asked for when this one is in the log, which is then the only place that says how far we
//! are.

use super::{
    gate::{Around, Gate},
    node::{Event, Sync},
};
use crate::feed::{Admission, Admitted, FeedId, FeedLog, Place, Refusal, Run, admit};
use rand_core::Rng;
use relaymesh_core::id::NodeId;
use std::collections::BTreeMap;

/// A run that was verified and may go into the log, with all that a fold needs: for each op the op, its bytes and its two hashes.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Accepted {
    /// Who sent it. Its author is the feed's origin.
    pub from: NodeId,
    /// What it is, and where it goes.
    pub news: Admitted,
}

/// What was accepted and is not in the log yet, by feed, with its bytes.
#[derive(Debug, Default)]
pub(super) struct Untaken {
    feeds: BTreeMap<FeedId, usize>,
    bytes: usize,
}

impl Untaken {
    pub(super) fn len(&self) -> usize {
        self.feeds.len()
    }

    pub(super) fn bytes(&self) -> usize {
        self.bytes
    }

    pub(super) fn holds(&self, feed: FeedId) -> bool {
        self.feeds.contains_key(&feed)
    }

    fn add(&mut self, feed: FeedId, bytes: usize) {
        self.bytes += bytes;
        self.feeds.insert(feed, bytes);
    }

    fn remove(&mut self, feed: FeedId) {
        self.bytes -= self.feeds.remove(&feed).unwrap_or(0);
    }
}

impl<R: Rng> Sync<R> {
    /// The next run that may go into the log.
    pub fn poll_accepted(&mut self) -> Option<Accepted> {
        self.accepted.pop_front()
    }

    /// What was accepted of this feed is in the log: it goes on.
    pub fn handle_taken<L: FeedLog, G: Gate>(&mut self, feed: FeedId, around: &Around<'_, L, G>) {
        self.untaken.remove(feed);
        self.ask(around);
    }

    /// Somebody who lost its memory writes another feed. What it wrote before, any of the others may have: each has to be heard once more.
    pub fn handle_another_life(&mut self) {
        for peer in self.peers.values_mut() {
            (peer.agreed, peer.lacks) = (false, None);
        }
    }

    /// What was accepted of this feed could not be kept. It is offered again by whoever has it, and not asked for before.
    pub fn handle_put_back(&mut self, feed: FeedId) {
        self.untaken.remove(feed);
        self.wanted.forget(feed);
    }

    pub(super) fn hear_run<L: FeedLog, G: Gate>(&mut self, from: NodeId, run: Run, around: &Around<'_, L, G>) {
        let Ok(feed) = run.head.check() else { return self.malformed(from) };
        // An answer begins where we stand. What does not is news that crossed our request, and the answer is still to come.
        let joins = around.log.find(feed, run.after).is_some();
        let asked = if joins { self.wanted.answered(feed, from) } else { None };
        if !around.gate.enrolled(feed.origin) {
            self.counters.unknown_origins += 1;
        } else if asked.is_some() || self.may_check(from) {
            self.admit(from, feed, asked, run, around);
        }
        self.ask(around);
    }

    /// Looks at a run that nobody asked for.
    pub(super) fn consider<L: FeedLog, G: Gate>(
        &mut self,
        from: NodeId,
        feed: FeedId,
        run: Run,
        around: &Around<'_, L, G>,
    ) {
        self.admit(from, feed, None, run, around);
    }

    fn admit<L: FeedLog, G: Gate>(
        &mut self,
        from: NodeId,
        feed: FeedId,
        asked: Option<Place>,
        run: Run,
        around: &Around<'_, L, G>,
    ) {
        let (head, bytes, is_promise) = (run.head, run.bytes(), run.is_empty());
        if self.untaken.holds(feed) || !self.has_room_for(bytes) {
            // A promise is told again before long; ops are remembered.
            if !is_promise && around.log.find(feed, head.place()).is_none() {
                self.counters.dropped += 1;
                self.offer(from, feed, head, around);
            }
            return;
        }
        // What was written decides, not what is promised with it: else a liar could have one run believed here and held there.
        let dated = run.newest().unwrap_or(head.as_of);
        let kept = (dated.wall_ms > around.latest_ms()).then(|| run.clone());
        match admit(around.log, run, &|feed| around.gate.sealed(feed)) {
            Ok(Admission::News(news)) => match kept {
                Some(run) => {
                    if let Some(target) = asked.filter(|_| self.quarantine.holds(feed)) {
                        self.wanted.not_from(feed, target, from);
                    }
                    self.hold(from, run, dated, around);
                }
                None => self.accept(from, *news, bytes),
            },
            Ok(Admission::Known) => self.known(from, feed, asked, head.place(), is_promise, around),
            Err(Refusal::Gap { .. }) if asked.is_none() => self.offer(from, feed, head, around),
            Err(refusal) => self.refuse(from, feed, asked, head.place(), &refusal),
        }
    }

    pub(super) fn accept(&mut self, from: NodeId, news: Admitted, bytes: usize) {
        self.counters.accepted_runs += 1;
        self.counters.accepted_ops += news.ops.len() as u64;
        self.untaken.add(news.feed, bytes);
        if let Some(evidence) = news.evidence {
            self.prove(evidence);
        }
        self.accepted.push_back(Accepted { from, news });
    }

    /// Whether one more head of this peer is worth a look at its signature.
    pub(super) fn may_check(&mut self, from: NodeId) -> bool {
        let Some(peer) = self.peers.get_mut(&from) else { return false };
        let may = peer.budget.check();
        peer.flooded += u64::from(!may);
        self.counters.flooded += u64::from(!may);
        may
    }

    pub(super) fn has_room_for(&self, bytes: usize) -> bool {
        let fits = self.untaken.bytes() + bytes <= self.config.accepted_bytes_max;
        self.untaken.len() < self.config.accepted_max && fits
    }

    /// A run of which all is here. If it was asked for, it leads to the target all the same.
    fn known<L: FeedLog, G: Gate>(
        &mut self,
        from: NodeId,
        feed: FeedId,
        asked: Option<Place>,
        end: Place,
        is_promise: bool,
        around: &Around<'_, L, G>,
    ) {
        self.counters.duplicates += u64::from(!is_promise);
        if let Some(target) = asked
            && around.log.find(feed, target).is_none()
            && !self.wanted.reach(feed, target, end)
        {
            self.wanted.not_from(feed, target, from);
        }
    }

    fn refuse(&mut self, from: NodeId, feed: FeedId, asked: Option<Place>, end: Place, refusal: &Refusal) {
        self.counters.refused += 1;
        if let Some(peer) = self.peers.get_mut(&from) {
            peer.refused += 1;
        }
        if let Some(evidence) = refusal.evidence() {
            self.prove(*evidence);
        }
        match refusal {
            // The sender's fault: somebody else may have it right.
            Refusal::Start { .. }
            | Refusal::Signature(_)
            | Refusal::Length { .. }
            | Refusal::Hash { .. }
            | Refusal::Gap { .. }
            | Refusal::Feeds { .. }
            | Refusal::Moved { .. } => {
                if let Some(target) = asked {
                    self.wanted.not_from(feed, target, from);
                }
            }
            // The author's fault, or the end of our patience: it is the same from everybody.
            Refusal::Stamp { .. }
            | Refusal::Op(_)
            | Refusal::AsOf { .. }
            | Refusal::Promise { .. }
            | Refusal::Branches { .. } => {
                let places: Vec<Place> = asked.into_iter().chain([end]).collect();
                self.wanted.refuse(feed, &places, self.config.wanted_feeds_max);
            }
        }
    }

    /// Lets out of quarantine what time has caught up with, as far as there is room.
    pub(super) fn release<L: FeedLog, G: Gate>(&mut self, around: &Around<'_, L, G>) {
        self.notify(around.now_ms);
        for feed in self.quarantine.ripe(around.latest_ms()) {
            let bytes = self.quarantine.bytes_of(feed);
            if self.untaken.holds(feed) || !self.has_room_for(bytes) {
                self.quarantine.postpone(feed, around.now_ms.saturating_add(self.config.period_ms));
                continue;
            }
            let Some((from, run)) = self.quarantine.take(feed) else { continue };
            self.counters.released += 1;
            self.event(Event::Released { feed });
            self.admit(from, feed, None, run, around);
        }
    }
}
