//! The machine: what it holds, and what is called from outside.

use super::{
    accept::{Accepted, Untaken},
    config::Config,
    content::{Contents, Fetched},
    frame::Frame,
    gate::{Around, Gate},
    peer::Peer,
    quarantine::Quarantine,
    want::Wanted,
};
use crate::feed::{DecodeError, Evidence, FeedId, FeedLog};
use rand_core::Rng;
use relaymesh_core::id::NodeId;
use std::collections::{BTreeMap, VecDeque};

/// How many events are kept for somebody who does not come for them.
const EVENTS_MAX: usize = 1_024;

/// Bytes for another node.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Transmit {
    /// For whom.
    pub to: NodeId,
    /// At most [`FRAME_BYTES_MAX`](super::FRAME_BYTES_MAX) of them.
    pub bytes: Vec<u8>,
}

/// What happened, for whoever watches.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Event {
    /// An author lies, from an earlier op on than was known.
    Evidence(Box<Evidence>),
    /// A run is dated too far ahead, and is held.
    Quarantined {
        /// Of which feed.
        feed: FeedId,
        /// How far ahead it is.
        ahead_ms: u64,
    },
    /// Time has caught up with it.
    Released {
        /// Of which feed.
        feed: FeedId,
    },
}

/// Why a frame was not taken in. Nothing but counters changed.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
pub enum Refused {
    /// Nobody that was named to the machine.
    #[error("{from} is no peer of this node")]
    Stranger {
        /// Who sent it.
        from: NodeId,
    },
    /// The sender has used up its quota for now.
    #[error("{from} sends more than is read of it")]
    Flood {
        /// Who sent it.
        from: NodeId,
    },
    /// The bytes are no frame.
    #[error("{from} sends what is no frame: {error}")]
    Malformed {
        /// Who sent it.
        from: NodeId,
        /// What is wrong with them.
        error: DecodeError,
    },
}

/// What was counted since the start.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub struct Counters {
    /// Frames of nobody that is known.
    pub strangers: u64,
    /// Frames that were not read, because their sender had used up its quota.
    pub flooded: u64,
    /// Frames that are none, and heads that nobody signed.
    pub malformed: u64,
    /// Heads and runs of origins that are not enrolled.
    pub unknown_origins: u64,
    /// Runs that were refused.
    pub refused: u64,
    /// Runs of which all was here already.
    pub duplicates: u64,
    /// Runs and offers for which there was no room.
    pub dropped: u64,
    /// Requests that were not answered in time.
    pub timeouts: u64,
    /// Requests that were sent.
    pub wants: u64,
    /// Runs that were given to others.
    pub served_runs: u64,
    /// Runs that were accepted.
    pub accepted_runs: u64,
    /// Ops that were accepted.
    pub accepted_ops: u64,
    /// Runs that were put into quarantine.
    pub quarantined: u64,
    /// Runs that were let out of it.
    pub released: u64,
    /// Proofs that somebody lies.
    pub evidence: u64,
    /// Contents that were withheld from somebody.
    pub withheld: u64,
    /// Events that nobody came for.
    pub events_lost: u64,
}

/// The sync of one node. After each `handle_*` drain [`poll_transmit`](Self::poll_transmit), [`poll_accepted`](Self::poll_accepted),
/// [`poll_fetched`](Self::poll_fetched) and [`poll_event`](Self::poll_event), and call [`handle_timeout`](Self::handle_timeout) when
/// [`poll_timeout`](Self::poll_timeout) is due. What was accepted goes into the log, and then
/// [`handle_taken`](Self::handle_taken) lets the feed go on.
pub struct Sync<R> {
    pub(super) own: NodeId,
    pub(super) config: Config,
    pub(super) peers: BTreeMap<NodeId, Peer>,
    pub(super) wanted: Wanted,
    pub(super) accepted: VecDeque<Accepted>,
    pub(super) untaken: Untaken,
    pub(super) quarantine: Quarantine,
    pub(super) contents: Contents,
    pub(super) fetched: VecDeque<Fetched>,
    pub(super) counters: Counters,
    /// From which op on authors are known to lie.
    pub(super) lies: BTreeMap<FeedId, u64>,
    /// The feed that this node writes.
    pub(super) own_feed: Option<FeedId>,
    pub(super) news_ms: Option<u64>,
    pub(super) news_told_ms: Option<u64>,
    pub(super) ring: NodeId,
    rng: R,
    round_ms: u64,
    transmits: VecDeque<Transmit>,
    events: VecDeque<Event>,
}

impl<R: Rng> Sync<R> {
    /// A node that knows nobody yet.
    pub fn new(own: NodeId, config: Config, rng: R, now_ms: u64) -> Self {
        let mut sync = Self {
            own,
            config,
            peers: BTreeMap::new(),
            wanted: Wanted::default(),
            accepted: VecDeque::new(),
            untaken: Untaken::default(),
            quarantine: Quarantine::default(),
            contents: Contents::default(),
            fetched: VecDeque::new(),
            counters: Counters::default(),
            lies: BTreeMap::new(),
            own_feed: None,
            news_ms: None,
            news_told_ms: None,
            ring: own,
            rng,
            round_ms: 0,
            transmits: VecDeque::new(),
            events: VecDeque::new(),
        };
        sync.round_ms = sync.next_round(now_ms);
        sync
    }

    /// A peer can be reached: it is told our heads at once, and asked for its own.
    pub fn handle_peer_up<L: FeedLog, G: Gate>(&mut self, peer: NodeId, around: &Around<'_, L, G>) {
        if peer == self.own {
            return;
        }
        let known = self.peers.entry(peer).or_insert_with(|| Peer::new(self.config.quota, around.now_ms));
        (known.up, known.knows) = (true, None);
        self.tell_window(peer, around);
        self.ask(around);
        self.fetch(around.now_ms);
    }

    /// A peer cannot be reached: what it was asked for is asked of others.
    pub fn handle_peer_down<L: FeedLog, G: Gate>(&mut self, peer: NodeId, around: &Around<'_, L, G>) {
        if let Some(known) = self.peers.get_mut(&peer) {
            known.up = false;
        }
        self.wanted.forget_peer(peer);
        self.contents.forget_peer(peer);
        self.ask(around);
        self.fetch(around.now_ms);
    }

    /// A peer does not belong to the mesh any more.
    pub fn remove_peer<L: FeedLog, G: Gate>(&mut self, peer: NodeId, around: &Around<'_, L, G>) {
        self.handle_peer_down(peer, around);
        self.peers.remove(&peer);
        self.quarantine.told.remove(&peer);
    }

    /// This node wrote something, or promised more, in this feed. The others are told soon.
    pub fn handle_local_news(&mut self, feed: FeedId, now_ms: u64) {
        if self.own_feed != Some(feed) {
            self.own_feed = Some(feed);
            self.peers.values_mut().for_each(|peer| peer.knows = None);
        }
        let next_ms = self.news_told_ms.map_or(now_ms, |told_ms| told_ms.saturating_add(self.config.news_gap_ms));
        self.news_ms.get_or_insert(next_ms.max(now_ms));
    }

    /// Takes in bytes from another node.
    pub fn handle_frame<L: FeedLog, G: Gate>(
        &mut self,
        from: NodeId,
        bytes: &[u8],
        around: &Around<'_, L, G>,
    ) -> Result<(), Refused> {
        let asked = self.wanted.asked_of(from) + self.contents.asked_of(from);
        let Some(peer) = self.peers.get_mut(&from) else {
            self.counters.strangers += 1;
            return Err(Refused::Stranger { from });
        };
        if !peer.budget.read(bytes.len(), asked, around.now_ms) {
            peer.flooded += 1;
            self.counters.flooded += 1;
            return Err(Refused::Flood { from });
        }
        let frame = match Frame::decode(bytes) {
            Ok(frame) => frame,
            Err(error) => {
                self.malformed(from);
                return Err(Refused::Malformed { from, error });
            }
        };
        peer.heard_ms = Some(around.now_ms);
        self.dispatch(from, frame, around);
        Ok(())
    }

    fn dispatch<L: FeedLog, G: Gate>(&mut self, from: NodeId, frame: Frame, around: &Around<'_, L, G>) {
        match frame {
            Frame::Frontier(frontier) => self.hear_frontier(from, &frontier, around),
            Frame::Want(want) => self.serve(from, &want, around),
            Frame::Run(run) => self.hear_run(from, run, around),
            Frame::Lacking { target, start } => self.hear_lacking(from, &target, start, around),
            Frame::ContentWant { content, scope, offset } => self.give_content(from, content, scope, offset, around),
            Frame::ContentPart { content, offset, bytes } => {
                self.hear_part(from, content, offset, &bytes, around.now_ms);
            }
            Frame::ContentWithheld { content } => self.hear_withheld(from, content, around.now_ms),
            Frame::Notice { origin, ahead_ms } => self.hear_notice(from, origin, ahead_ms, around.now_ms),
        }
    }

    /// Does whatever is due.
    pub fn handle_timeout<L: FeedLog, G: Gate>(&mut self, around: &Around<'_, L, G>) {
        let now_ms = around.now_ms;
        if self.news_ms.is_some_and(|due_ms| due_ms <= now_ms) {
            (self.news_ms, self.news_told_ms) = (None, Some(now_ms));
            self.tell_news(around);
        }
        for silent in self.wanted.expire(now_ms) {
            self.counters.timeouts += 1;
            if let Some(peer) = self.peers.get_mut(&silent) {
                peer.timeouts += 1;
            }
        }
        self.release(around);
        self.expire_contents(now_ms);
        if self.round_ms <= now_ms {
            self.round_ms = self.next_round(now_ms);
            self.tell_next(around);
        }
        self.ask(around);
    }

    /// When [`handle_timeout`](Self::handle_timeout) is due next.
    pub fn poll_timeout(&self) -> u64 {
        let due = [self.news_ms, self.wanted.due_ms(), self.quarantine.due_ms(), self.contents.due_ms()];
        due.into_iter().flatten().fold(self.round_ms, u64::min)
    }

    /// The next bytes to send.
    pub fn poll_transmit(&mut self) -> Option<Transmit> {
        self.transmits.pop_front()
    }

    /// What happened next.
    pub fn poll_event(&mut self) -> Option<Event> {
        self.events.pop_front()
    }

    /// What was counted.
    pub fn counters(&self) -> Counters {
        self.counters
    }

    pub(super) fn transmit(&mut self, to: NodeId, frame: &Frame) {
        self.transmits.push_back(Transmit { to, bytes: frame.encode() });
    }

    pub(super) fn event(&mut self, event: Event) {
        if self.events.len() == EVENTS_MAX {
            self.events.pop_front();
            self.counters.events_lost += 1;
        }
        self.events.push_back(event);
    }

    /// An author lies. Told once for each earlier place.
    pub(super) fn prove(&mut self, evidence: Evidence) {
        let known = self.lies.get(&evidence.feed).copied();
        if known.is_none_or(|from_seq| evidence.from_seq < from_seq) {
            self.lies.insert(evidence.feed, evidence.from_seq);
            self.counters.evidence += 1;
            self.event(Event::Evidence(Box::new(evidence)));
        }
    }

    pub(super) fn malformed(&mut self, from: NodeId) {
        self.counters.malformed += 1;
        if let Some(peer) = self.peers.get_mut(&from) {
            peer.malformed += 1;
        }
    }

    pub(super) fn up(&self) -> impl Iterator<Item = NodeId> {
        self.peers.iter().filter(|(_, peer)| peer.up).map(|(node, _)| *node)
    }

    /// The next peer of the ring that can be reached.
    pub(super) fn up_after(&self, node: NodeId) -> Option<NodeId> {
        self.up().find(|peer| *peer > node).or_else(|| self.up().next())
    }

    fn next_round(&mut self, now_ms: u64) -> u64 {
        let jitter_ms = self.config.jitter_ms.min(self.config.period_ms);
        let drawn_ms = self.rng.next_u64() % jitter_ms.saturating_mul(2).saturating_add(1);
        now_ms.saturating_add((self.config.period_ms - jitter_ms).saturating_add(drawn_ms).max(1))
    }
}
