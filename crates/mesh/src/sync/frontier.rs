//! Frontiers: who has what.
//!
//! A frontier that is *complete* for a span of feeds says also what its sender does not have, and is answered with that. An answer is
//! never complete, so it is not answered: two nodes that agree fall silent.

use super::{
    frame::{FRONTIER_FEEDS_MAX, Frame, Frontier, Span},
    gate::{Around, Gate},
    node::Sync,
};
use crate::feed::{Branch, FeedId, FeedLog, Run, SignedHead, Tip};
use rand_core::Rng;
use relaymesh_core::id::NodeId;
use std::collections::BTreeMap;

/// Runs up to this size are sent to everybody as news; of longer ones only the head.
const PUSHED_BYTES_MAX: usize = 64 * 1024;
/// How many own feeds are looked at for one answer.
const LOOKED_AT_MAX: usize = 4 * FRONTIER_FEEDS_MAX;

impl<R: Rng> Sync<R> {
    /// Tells the next peer of the ring.
    pub(super) fn tell_next<L: FeedLog, G: Gate>(&mut self, around: &Around<'_, L, G>) {
        let Some(peer) = self.up_after(self.ring) else { return };
        self.ring = peer;
        self.tell_window(peer, around);
    }

    /// Tells a peer the heads of the next feeds, all around in as many rounds as that takes.
    pub(super) fn tell_window<L: FeedLog, G: Gate>(&mut self, to: NodeId, around: &Around<'_, L, G>) {
        let Some(peer) = self.peers.get_mut(&to) else { return };
        let after = peer.told_through;
        let feeds = around.log.feeds(after, FRONTIER_FEEDS_MAX + 1);
        let through = feeds.get(FRONTIER_FEEDS_MAX).and_then(|_| feeds.get(FRONTIER_FEEDS_MAX - 1)).copied();
        peer.told_through = through;
        let heads = feeds.into_iter().take(FRONTIER_FEEDS_MAX).flat_map(|feed| heads(around.log.tips(feed))).collect();
        self.transmit(to, &Frame::Frontier(Frontier { complete: Some(Span { after, through }), heads }));
    }

    /// Tells everybody what is new in our own feed: the ops, to whom they are the next ones, and the head to the others.
    pub(super) fn tell_news<L: FeedLog, G: Gate>(&mut self, around: &Around<'_, L, G>) {
        let Some(feed) = self.own_feed else { return };
        let tips = around.log.tips(feed);
        let Some(tip) = tips.first().copied() else { return };
        let news = Frame::Frontier(Frontier { complete: None, heads: heads(tips) });
        for to in self.up().collect::<Vec<_>>() {
            let pushed = self.pushed(to, feed, &tip, around).map(Frame::Run);
            self.transmit(to, pushed.as_ref().unwrap_or(&news));
        }
    }

    fn pushed<L: FeedLog, G: Gate>(
        &mut self,
        to: NodeId,
        feed: FeedId,
        tip: &Tip,
        around: &Around<'_, L, G>,
    ) -> Option<Run> {
        let peer = self.peers.get_mut(&to)?;
        let (_, place) = peer.knows.filter(|(known, place)| *known == feed && place.seq < tip.head.seq)?;
        let run = around.log.run(feed, Branch::TRUNK, place.seq, u64::MAX)?;
        if run.after != place || run.head != tip.head || run.bytes() > PUSHED_BYTES_MAX {
            return None;
        }
        // If it gets lost, the next one does not join, and the peer asks.
        peer.knows = Some((feed, tip.head.place()));
        Some(run)
    }

    pub(super) fn hear_frontier<L: FeedLog, G: Gate>(
        &mut self,
        from: NodeId,
        frontier: &Frontier,
        around: &Around<'_, L, G>,
    ) {
        let mut said: BTreeMap<FeedId, Vec<SignedHead>> = BTreeMap::new();
        for head in &frontier.heads {
            let Ok(feed) = head.check() else {
                self.malformed(from);
                continue;
            };
            self.hear_head(from, feed, *head, around);
            said.entry(feed).or_default().push(*head);
        }
        self.notice_standing(from, &said, around);
        if let Some(span) = frontier.complete {
            self.notice_agreement(from, span, &frontier.heads, around);
            self.answer(from, span, &said, around);
        }
        self.ask(around);
    }

    /// A peer has this head.
    pub(super) fn hear_head<L: FeedLog, G: Gate>(
        &mut self,
        from: NodeId,
        feed: FeedId,
        head: SignedHead,
        around: &Around<'_, L, G>,
    ) {
        if !around.gate.enrolled(feed.origin) {
            self.counters.unknown_origins += 1;
            return;
        }
        if around.log.tips(feed).iter().any(|tip| tip.head == head) || !self.may_check(from) {
            return;
        }
        if around.log.find(feed, head.place()).is_some() {
            self.consider(from, feed, Run::promise(head), around);
        } else {
            self.offer(from, feed, head, around);
        }
    }

    /// Where the peer stands in our own feed.
    fn notice_standing<L: FeedLog, G: Gate>(
        &mut self,
        from: NodeId,
        said: &BTreeMap<FeedId, Vec<SignedHead>>,
        around: &Around<'_, L, G>,
    ) {
        let Some(feed) = self.own_feed else { return };
        let known = said.get(&feed).into_iter().flatten();
        let place = known.map(SignedHead::place).find(|place| around.log.find(feed, *place) == Some(Branch::TRUNK));
        if let (Some(place), Some(peer)) = (place, self.peers.get_mut(&from)) {
            peer.knows = Some((feed, place));
        }
    }

    /// Whether all that a peer has is here. It tells in windows, the first one from the beginning, the last one to the end. What this node itself
    /// promised has to be here, too: it may have forgotten it.
    fn notice_agreement<L: FeedLog, G: Gate>(
        &mut self,
        from: NodeId,
        span: Span,
        heads: &[SignedHead],
        around: &Around<'_, L, G>,
    ) {
        let own = self.own;
        let is_here = |head: &SignedHead| {
            let feed = head.feed();
            let is_bound = feed.origin != own || around.log.promised(feed) >= Some(head.as_of);
            is_bound && around.log.find(feed, head.place()).is_some()
        };
        let lacks = !heads.iter().all(is_here);
        let Some(peer) = self.peers.get_mut(&from) else { return };
        let before = if span.after.is_none() { Some(false) } else { peer.lacks };
        peer.lacks = before.map(|before| before || lacks);
        peer.agreed |= span.through.is_none() && peer.lacks == Some(false);
    }

    /// Names what the other one lacks. Where it stopped last time it goes on, so that feeds that are refused over there are in nobody's way.
    fn answer<L: FeedLog, G: Gate>(
        &mut self,
        to: NodeId,
        span: Span,
        said: &BTreeMap<FeedId, Vec<SignedHead>>,
        around: &Around<'_, L, G>,
    ) {
        let Some(peer) = self.peers.get_mut(&to) else { return };
        let start = peer.answered_through.filter(|feed| span.contains(*feed)).or(span.after);
        let mut looked_at = around.log.feeds(start, LOOKED_AT_MAX);
        looked_at.retain(|feed| span.contains(*feed));
        if looked_at.len() < LOOKED_AT_MAX && start != span.after {
            looked_at.extend(around.log.feeds(span.after, LOOKED_AT_MAX - looked_at.len()));
        }
        let mut lacking: BTreeMap<FeedId, Vec<SignedHead>> = BTreeMap::new();
        for feed in looked_at.into_iter().filter(|feed| span.contains(*feed)) {
            peer.answered_through = Some(feed);
            let tips = around.log.tips(feed);
            let theirs = said.get(&feed).map_or(&[][..], Vec::as_slice);
            if tips.iter().any(|tip| is_news(around.log, feed, tip, theirs)) {
                lacking.insert(feed, heads(tips));
            }
            if lacking.len() == FRONTIER_FEEDS_MAX {
                break;
            }
        }
        if !lacking.is_empty() {
            let heads = lacking.into_values().flatten().collect();
            self.transmit(to, &Frame::Frontier(Frontier { complete: None, heads }));
        }
    }
}

fn heads(tips: Vec<Tip>) -> Vec<SignedHead> {
    tips.into_iter().map(|tip| tip.head).collect()
}

/// Whether somebody with these heads lacks ours, as far as we can tell. If a head of theirs is beyond ours and unknown here, we are the one
/// who lacks something, and the other one learns of a fork when we have caught up.
fn is_news(log: &impl FeedLog, feed: FeedId, tip: &Tip, theirs: &[SignedHead]) -> bool {
    !theirs.iter().any(|head| {
        let same = head.place() == tip.head.place() && head.as_of >= tip.head.as_of;
        same || (head.seq > tip.head.seq && log.find(feed, head.place()).is_none())
    })
}
