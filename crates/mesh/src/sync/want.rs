//! Requests: what is known to be elsewhere, and who was asked for it.
//!
//! Only heads that were verified are remembered, so nobody can make this node ask for what there is not. One request is out for each feed; it
//! ends with an answer, or with its time, and then somebody else is asked. When nobody is left, the target is forgotten: whoever
//! has it names it again.

use super::{
    frame::{Frame, Want},
    gate::{Around, Gate},
    locator::locator,
    node::Sync,
};
use crate::feed::{FeedId, FeedLog, Place, RUN_BYTES_MAX, SignedHead};
use rand_core::Rng;
use relaymesh_core::{id::NodeId, op::ChainHead};
use std::collections::{BTreeMap, VecDeque};

/// How many heads of a feed are remembered.
const TARGETS_MAX: usize = 8;
/// How many peers are remembered for a head.
const OFFERED_BY_MAX: usize = 8;
/// How many heads that were refused are remembered for a feed.
const REFUSED_MAX: usize = 8;

/// What is wanted, by feed.
#[derive(Debug, Default)]
pub(super) struct Wanted {
    feeds: BTreeMap<FeedId, Targets>,
    asked: BTreeMap<FeedId, Asked>,
    /// Where asking goes on, so that all feeds have their turn.
    last: Option<FeedId>,
}

#[derive(Debug, Default)]
struct Targets {
    targets: Vec<Target>,
    refused: VecDeque<Place>,
}

#[derive(Debug)]
struct Target {
    place: Place,
    offered_by: Vec<NodeId>,
    /// A place that is here and on the way to it.
    reached: Option<Place>,
}

#[derive(Debug, Clone, Copy)]
struct Asked {
    peer: NodeId,
    target: Place,
    due_ms: u64,
}

impl Wanted {
    /// How many feeds something is remembered of.
    pub(super) fn len(&self) -> usize {
        self.feeds.len()
    }

    pub(super) fn is_bounded(&self) -> bool {
        let few = |target: &Target| target.offered_by.len() <= OFFERED_BY_MAX;
        self.feeds.values().all(|feed| {
            feed.targets.len() <= TARGETS_MAX && feed.refused.len() <= REFUSED_MAX && feed.targets.iter().all(few)
        })
    }

    /// How many answers are on their way.
    pub(super) fn asked(&self) -> usize {
        self.asked.len()
    }

    /// How many of them from one peer.
    pub(super) fn asked_of(&self, peer: NodeId) -> usize {
        self.asked.values().filter(|asked| asked.peer == peer).count()
    }

    pub(super) fn due_ms(&self) -> Option<u64> {
        self.asked.values().map(|asked| asked.due_ms).min()
    }

    /// The greatest sequence of a feed that is known to be elsewhere.
    pub(super) fn furthest(&self, feed: FeedId) -> Option<u64> {
        self.feeds.get(&feed)?.targets.iter().map(|target| target.place.seq).max()
    }

    /// How many heads of a feed were refused and not forgotten.
    pub(super) fn refused(&self, feed: FeedId) -> usize {
        self.feeds.get(&feed).map_or(0, |targets| targets.refused.len())
    }

    /// Feeds of which something is wanted.
    pub(super) fn feeds(&self) -> impl Iterator<Item = FeedId> {
        self.feeds.iter().filter(|(_, targets)| !targets.targets.is_empty()).map(|(feed, _)| *feed)
    }

    /// Ends the requests whose time is over, and says who kept silent. They are not asked for that target again.
    pub(super) fn expire(&mut self, now_ms: u64) -> Vec<NodeId> {
        let over = self.asked.iter().filter(|(_, asked)| asked.due_ms <= now_ms);
        let over: Vec<(FeedId, Asked)> = over.map(|(feed, asked)| (*feed, *asked)).collect();
        for (feed, asked) in &over {
            self.asked.remove(feed);
            self.not_from(*feed, asked.target, asked.peer);
        }
        over.into_iter().map(|(_, asked)| asked.peer).collect()
    }

    pub(super) fn forget_peer(&mut self, peer: NodeId) {
        self.asked.retain(|_, asked| asked.peer != peer);
        for feed in self.feeds.keys().copied().collect::<Vec<_>>() {
            if let Some(targets) = self.feeds.get_mut(&feed) {
                targets.targets.iter_mut().for_each(|target| target.offered_by.retain(|other| *other != peer));
            }
            self.tidy(feed);
        }
    }

    /// The request to a peer about a feed is answered. The target, if there was one.
    pub(super) fn answered(&mut self, feed: FeedId, from: NodeId) -> Option<Place> {
        let asked = self.asked.get(&feed).filter(|asked| asked.peer == from)?;
        let target = asked.target;
        self.asked.remove(&feed);
        Some(target)
    }

    /// Somebody has this place. False if there is no room for it.
    fn offered(&mut self, feed: FeedId, place: Place, by: NodeId, feeds_max: usize) -> bool {
        if !self.feeds.contains_key(&feed) && self.feeds.len() >= feeds_max {
            return false;
        }
        let targets = &mut self.feeds.entry(feed).or_default().targets;
        if !targets.iter().any(|target| target.place == place) {
            targets.push(Target { place, offered_by: Vec::new(), reached: None });
            targets.sort_by_key(|target| target.place);
            if targets.len() > TARGETS_MAX {
                // The newest is what an honest feed comes to, the oldest may be a fork: one in between is given up.
                targets.remove(TARGETS_MAX - 1);
            }
        }
        if let Some(target) = targets.iter_mut().find(|target| target.place == place)
            && !target.offered_by.contains(&by)
            && target.offered_by.len() < OFFERED_BY_MAX
        {
            target.offered_by.push(by);
        }
        true
    }

    fn knows(&self, feed: FeedId, place: Place) -> bool {
        self.feeds.get(&feed).is_some_and(|targets| targets.targets.iter().any(|target| target.place == place))
    }

    fn was_refused(&self, feed: FeedId, place: Place) -> bool {
        self.feeds.get(&feed).is_some_and(|targets| targets.refused.contains(&place))
    }

    /// A head is not to be had here, whoever offers it.
    pub(super) fn refuse(&mut self, feed: FeedId, places: &[Place], feeds_max: usize) {
        if !self.feeds.contains_key(&feed) && self.feeds.len() >= feeds_max {
            return;
        }
        let targets = self.feeds.entry(feed).or_default();
        targets.targets.retain(|target| !places.contains(&target.place));
        for place in places {
            if !targets.refused.contains(place) {
                targets.refused.push_back(*place);
            }
        }
        while targets.refused.len() > REFUSED_MAX {
            targets.refused.pop_front();
        }
    }

    /// A peer is not asked for this any more.
    pub(super) fn not_from(&mut self, feed: FeedId, place: Place, peer: NodeId) {
        if let Some(targets) = self.feeds.get_mut(&feed) {
            let of = targets.targets.iter_mut().filter(|target| target.place == place);
            of.for_each(|target| target.offered_by.retain(|other| *other != peer));
        }
        self.tidy(feed);
    }

    /// From this place on it leads to the target. False if that was known.
    pub(super) fn reach(&mut self, feed: FeedId, target: Place, reached: Place) -> bool {
        let Some(targets) = self.feeds.get_mut(&feed) else { return false };
        let Some(target) = targets.targets.iter_mut().find(|other| other.place == target) else { return false };
        let further = target.reached.is_none_or(|before| before.seq < reached.seq);
        if further {
            target.reached = Some(reached);
        }
        further
    }

    /// Nothing of a feed is wanted until it is offered again.
    pub(super) fn forget(&mut self, feed: FeedId) {
        if let Some(targets) = self.feeds.get_mut(&feed) {
            targets.targets.clear();
        }
        self.tidy(feed);
    }

    /// Forgets targets that nobody offers, and feeds of which nothing is known.
    pub(super) fn tidy(&mut self, feed: FeedId) {
        let Some(targets) = self.feeds.get_mut(&feed) else { return };
        targets.targets.retain(|target| !target.offered_by.is_empty());
        if targets.targets.is_empty() && targets.refused.is_empty() {
            self.feeds.remove(&feed);
        }
    }

    /// Forgets targets that are here by now.
    fn drop_held(&mut self, feed: FeedId, log: &impl FeedLog) {
        if let Some(targets) = self.feeds.get_mut(&feed) {
            targets.targets.retain(|target| log.find(feed, target.place).is_none());
        }
        self.tidy(feed);
    }
}

impl<R: Rng> Sync<R> {
    /// Asks for a head by its hash, on whichever branch it lies, of everybody who can be reached. False if there is nobody, or no room.
    pub fn want<L: FeedLog, G: Gate>(&mut self, head: &ChainHead, around: &Around<'_, L, G>) -> bool {
        let (feed, place) = FeedId::of(head);
        let (peers, feeds_max) = (self.up().collect::<Vec<_>>(), self.config.wanted_feeds_max);
        let room = peers.into_iter().fold(false, |_, peer| self.wanted.offered(feed, place, peer, feeds_max));
        self.ask(around);
        room
    }

    /// A peer offers a head that is not here.
    pub(super) fn offer<L: FeedLog, G: Gate>(
        &mut self,
        from: NodeId,
        feed: FeedId,
        head: SignedHead,
        around: &Around<'_, L, G>,
    ) {
        let place = head.place();
        if self.wanted.was_refused(feed, place) || self.quarantine.is_held(feed, place) {
            return;
        }
        let tips = around.log.tips(feed);
        if !self.wanted.knows(feed, place) && head.verify_beside(tips.first().map(|tip| &tip.head)).is_err() {
            return self.malformed(from);
        }
        if !self.wanted.offered(feed, place, from, self.config.wanted_feeds_max) {
            self.counters.dropped += 1;
        }
    }

    /// Sends requests for as much as there is room for.
    pub(super) fn ask<L: FeedLog, G: Gate>(&mut self, around: &Around<'_, L, G>) {
        let mut feeds: Vec<FeedId> = self.wanted.feeds().collect();
        if let Some(last) = self.wanted.last {
            let turn = feeds.partition_point(|feed| *feed <= last);
            feeds.rotate_left(turn);
        }
        for feed in feeds {
            if !self.has_room() {
                return;
            }
            let busy = self.wanted.asked.contains_key(&feed) || self.untaken.holds(feed);
            if !busy {
                self.wanted.drop_held(feed, around.log);
                self.ask_for(feed, around);
            }
        }
    }

    fn ask_for<L: FeedLog, G: Gate>(&mut self, feed: FeedId, around: &Around<'_, L, G>) {
        let may_ask = |peer: &NodeId| {
            let up = self.peers.get(peer).is_some_and(|peer| peer.up);
            up && self.wanted.asked_of(*peer) < self.config.wants_per_peer_max
        };
        let targets = self.wanted.feeds.get(&feed).map_or(&[][..], |targets| &targets.targets);
        let choice = targets.iter().find_map(|target| {
            let peer = target.offered_by.iter().copied().find(may_ask)?;
            Some((peer, target.place, target.reached))
        });
        let Some((peer, target, reached)) = choice else { return };
        let due_ms = around.now_ms.saturating_add(self.config.want_timeout_ms);
        self.wanted.asked.insert(feed, Asked { peer, target, due_ms });
        self.wanted.last = Some(feed);
        self.counters.wants += 1;
        if let Some(peer) = self.peers.get_mut(&peer) {
            peer.budget.asked();
        }
        let locator = locator(around.log, feed, reached);
        let want = Want { target: feed.head(target), locator, until_ms: around.latest_ms() };
        self.transmit(peer, &Frame::Want(want));
    }

    /// Whether one more run could be kept, if those that are on their way are as long as they may be.
    fn has_room(&self) -> bool {
        let on_the_way = self.wanted.asked();
        let runs = self.untaken.len() + on_the_way;
        let bytes = self.untaken.bytes() + (on_the_way + 1) * RUN_BYTES_MAX;
        runs < self.config.accepted_max && bytes <= self.config.accepted_bytes_max
    }

    /// A peer does not have what it was asked for, or not from where we stand.
    pub(super) fn hear_lacking<L: FeedLog, G: Gate>(
        &mut self,
        from: NodeId,
        target: &ChainHead,
        start: Option<Place>,
        around: &Around<'_, L, G>,
    ) {
        let (feed, place) = FeedId::of(target);
        if self.wanted.answered(feed, from) != Some(place) {
            return;
        }
        let here = start.filter(|start| around.log.find(feed, *start).is_some());
        if !here.is_some_and(|start| self.wanted.reach(feed, place, start)) {
            self.wanted.not_from(feed, place, from);
        }
        self.ask(around);
    }
}
