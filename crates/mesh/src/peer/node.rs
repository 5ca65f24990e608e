//! The machine.

use super::{config::Config, gate::Gate, roster::Roster};
use crate::{
    feed::{Branch, FEEDS_PER_ORIGIN_MAX, FeedId, FeedLog, MemoryFeedLog},
    fold::Fold,
    membership::{self, Identity, Known, Membership, Rank, Status},
    sync::{Around, Sync},
};
use rand_core::Rng;
use relaymesh_bus::sign::{PublicKey, Signer};
use relaymesh_core::{
    hash::Hash,
    hlc::{Hlc, HlcClock},
    id::NodeId,
    name::Name,
    op::Chain,
};
use std::collections::BTreeMap;

/// What bytes between two nodes belong to.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
pub enum Channel {
    /// Who is there.
    Membership,
    /// What was written.
    Sync,
}

/// Bytes for another node.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Transmit {
    /// For whom.
    pub to: NodeId,
    /// What they belong to.
    pub channel: Channel,
    /// The bytes.
    pub bytes: Vec<u8>,
}

/// One node of a mesh. After each `handle_*` look at [`poll_commit`](Self::poll_commit) and drain
/// [`poll_transmit`](Self::poll_transmit); call [`handle_timeout`](Self::handle_timeout) when [`poll_timeout`](Self::poll_timeout) is due. Times are of
/// the clock that stamps ops, which does not go back.
pub struct Peer<R> {
    pub(super) signer: Signer,
    pub(super) node: NodeId,
    pub(super) feed: FeedId,
    pub(super) config: Config,
    pub(super) clock: HlcClock,
    pub(super) chain: Chain,
    pub(super) log: MemoryFeedLog,
    pub(super) fold: Fold,
    pub(super) sync: Sync<R>,
    pub(super) membership: Membership<R>,
    pub(super) roster: Roster,
    pub(super) contents: BTreeMap<Hash, Vec<u8>>,
    /// Own ops that are not durable yet.
    pub(super) open: Vec<Vec<u8>>,
    pub(super) is_writing: bool,
    /// Others have more of this node's own feed than the node itself.
    pub(super) is_forgetful: bool,
    pub(super) promise_ms: u64,
    pub(super) rng: R,
    pub(super) name: Name,
    pub(super) namespace: Name,
    pub(super) opened_ms: u64,
    seal_ms: u64,
}

/// Who somebody is when a peer starts.
pub struct Start<R> {
    /// The node's key.
    pub signer: Signer,
    /// The owner's key.
    pub root: PublicKey,
    /// Which of its feeds it writes: a later one if it lost its memory.
    pub origin_epoch: u32,
    /// Its life for membership: greater than that of any earlier start.
    pub life: u64,
    /// What is durable.
    pub log: MemoryFeedLog,
    /// The numbers.
    pub config: Config,
    /// Three generators that have nothing to do with each other.
    pub rngs: [R; 3],
}

impl<R: Rng> Peer<R> {
    /// A node that goes on where its log stands.
    pub fn open(start: Start<R>, now_ms: u64) -> Self {
        let Start { signer, root, origin_epoch, life, log, config, rngs: [rng, for_sync, for_membership] } = start;
        let node = signer.public_key().node();
        let feed = FeedId { origin: node, origin_epoch };
        let identity = Identity { node, life };
        let mut fold = Fold::of_mesh(root);
        let mut newest = Hlc { wall_ms: 0, logical: 0, node };
        for linked in log.all() {
            newest = newest.max(Hlc { node, ..linked.op.header.hlc });
        }
        fold.insert_all(log.all().cloned());
        while fold.settle(config.fold_batch.max(1)) > 0 {}
        let own = log.feeds(Some(FeedId { origin: node, origin_epoch: 0 }), FEEDS_PER_ORIGIN_MAX);
        let promised = own.into_iter().filter(|feed| feed.origin == node).filter_map(|feed| log.promised(feed)).max();
        let name = |text: &str| text.parse().unwrap_or_else(|_| unreachable!("`{text}` is a name"));
        fold.pass(Hlc { wall_ms: 0, logical: 0, node });
        let mut peer = Self {
            chain: log.chain(feed),
            clock: HlcClock::resume(promised.map_or(newest, |promised| newest.max(promised))),
            sync: Sync::new(node, config.sync, for_sync, now_ms),
            membership: Membership::new(identity, config.membership, for_membership, now_ms),
            roster: Roster::new(&fold, newest, now_ms),
            contents: BTreeMap::new(),
            open: Vec::new(),
            is_writing: false,
            is_forgetful: false,
            promise_ms: now_ms,
            opened_ms: now_ms,
            seal_ms: now_ms.saturating_add(config.seal_period_ms),
            name: name("node"),
            namespace: name(relaymesh_core::namespace::DEFAULT),
            signer,
            node,
            feed,
            config,
            log,
            fold,
            rng,
        };
        peer.pass();
        peer
    }

    /// Takes nodes for there that were known before, or that somebody named to begin with. Whoever is known to be no member is not.
    pub fn remember(&mut self, nodes: impl IntoIterator<Item = NodeId>, now_ms: u64) {
        let mut nodes: Vec<NodeId> = nodes.into_iter().filter(|node| *node != self.node).collect();
        self.roster.begin_with(nodes.iter().copied(), self.config.membership.members_max);
        let roster = &self.roster;
        nodes.retain(|node| self.membership.welcome(*node, |node| roster.rank(node), now_ms));
        for node in nodes {
            self.with_sync(now_ms, |sync, around| sync.handle_peer_up(node, around));
        }
        self.watch_members(now_ms);
    }

    /// Takes in bytes from another node, as the link that they came by says. What cannot be understood is counted and changes nothing.
    pub fn handle_bytes(&mut self, from: NodeId, channel: Channel, bytes: &[u8], now_ms: u64) {
        match channel {
            Channel::Membership => {
                let roster = &self.roster;
                drop(self.membership.handle_frame(from, bytes, |node| roster.rank(node), now_ms));
            }
            Channel::Sync => {
                self.with_sync(now_ms, |sync, around| drop(sync.handle_frame(from, bytes, around)));
            }
        }
        self.watch_members(now_ms);
    }

    /// Does whatever is due.
    pub fn handle_timeout(&mut self, now_ms: u64) {
        if self.membership.poll_timeout() <= now_ms {
            self.membership.handle_timeout(now_ms);
        }
        if self.sync.poll_timeout() <= now_ms {
            self.with_sync(now_ms, |sync, around| sync.handle_timeout(around));
        }
        self.fold.settle(self.config.fold_batch);
        if self.seal_ms <= now_ms {
            self.seal_ms = now_ms.saturating_add(self.seal_period_ms());
            drop(self.seal(now_ms));
        }
        self.review(now_ms);
        self.watch_members(now_ms);
    }

    /// When [`handle_timeout`](Self::handle_timeout) is due next; [`poll_commit`](Self::poll_commit) may have a promise then.
    pub fn poll_timeout(&self) -> u64 {
        let now = if self.fold.lag() > 0 { 0 } else { u64::MAX };
        let promise_ms = if self.is_forgetful { u64::MAX } else { self.promise_ms };
        let own = [promise_ms, self.seal_ms, self.roster.due_ms(), now];
        let due = [self.membership.poll_timeout(), self.sync.poll_timeout()].into_iter().chain(own);
        due.fold(u64::MAX, u64::min)
    }

    /// The next bytes to send.
    pub fn poll_transmit(&mut self) -> Option<Transmit> {
        if let Some(membership::Transmit { to, bytes }) = self.membership.poll_transmit() {
            return Some(Transmit { to, channel: Channel::Membership, bytes });
        }
        let sent = self.sync.poll_transmit()?;
        Some(Transmit { to: sent.to, channel: Channel::Sync, bytes: sent.bytes })
    }

    /// Who this node is.
    pub fn node(&self) -> NodeId {
        self.node
    }

    /// What everything came to.
    pub fn fold(&self) -> &Fold {
        &self.fold
    }

    /// The same, to ask for news or to bring its hash up to date.
    pub fn fold_mut(&mut self) -> &mut Fold {
        &mut self.fold
    }

    /// What is durable.
    pub fn log(&self) -> &MemoryFeedLog {
        &self.log
    }

    /// What is left of the node when it is gone.
    pub fn into_log(self) -> MemoryFeedLog {
        self.log
    }

    /// How feeds come and go.
    pub fn sync(&self) -> &Sync<R> {
        &self.sync
    }

    /// Who is there.
    pub fn membership(&self) -> &Membership<R> {
        &self.membership
    }

    /// The newest stamp.
    pub fn now(&self) -> Hlc {
        self.clock.last()
    }

    /// Whether this node should pull work: it is alive in its own eyes, and its clock is not ahead.
    pub fn may_pull(&self, now_ms: u64) -> bool {
        self.membership.may_pull() && self.ahead_ms(now_ms).is_none()
    }

    /// How far ahead this node's clock is, if more than half of the members that can be reached say so. One of them may lie.
    pub fn ahead_ms(&self, now_ms: u64) -> Option<u64> {
        let counts = |node: NodeId| self.roster.rank(node) == Rank::Member;
        let reached = |known: &&Known| known.status() != Status::Dead && counts(known.identity.node);
        let reached = self.membership.members().filter(reached).count();
        self.sync.told_ahead_by(counts, now_ms).filter(|ahead| ahead.peers * 2 > reached).map(|ahead| ahead.ahead_ms)
    }

    /// Whether others have more of this node's own feed than the node itself: it was set back to an older state without a new origin epoch.
    pub fn is_forgetful(&self) -> bool {
        self.is_forgetful
    }

    /// Whether nothing is on its way to the log.
    pub fn is_settled(&self) -> bool {
        !self.is_writing && self.open.is_empty() && self.fold.lag() == 0
    }

    /// The branches of forked feeds are known on this node.
    pub fn knows_fork(&self, feed: FeedId) -> bool {
        self.log.tips(feed).iter().any(|tip| tip.branch != Branch::TRUNK)
    }

    pub(super) fn with_sync<T>(
        &mut self,
        now_ms: u64,
        step: impl FnOnce(&mut Sync<R>, &Around<'_, MemoryFeedLog, Gate<'_>>) -> T,
    ) -> T {
        let gate = Gate {
            fold: &self.fold,
            contents: &self.contents,
            now: self.clock.last(),
            max_drift_ms: self.config.max_clock_drift_ms,
        };
        step(&mut self.sync, &Around { log: &self.log, gate: &gate, now_ms })
    }

    /// Tells sync who can be reached.
    pub(super) fn watch_members(&mut self, now_ms: u64) {
        while let Some(event) = self.membership.poll_event() {
            let (node, up) = match event {
                membership::Event::Changed { node, .. } if node == self.node => continue,
                membership::Event::Forgotten { node } => {
                    self.with_sync(now_ms, |sync, around| sync.remove_peer(node, around));
                    continue;
                }
                membership::Event::Discovered { node, .. } => (node, true),
                membership::Event::Changed { node, now, .. } => (node, now != Status::Dead),
                membership::Event::RecoverySuppressed { .. } | membership::Event::Renewed { .. } => continue,
            };
            self.with_sync(now_ms, |sync, around| {
                if up { sync.handle_peer_up(node, around) } else { sync.handle_peer_down(node, around) }
            });
        }
    }
}
