//! A few nodes with logs of their own, and the links between them, on one clock. What a link does is drawn from one seed.

use crate::{
    feed::{FeedId, FeedLog, MemoryFeedLog, Place, tests::Author},
    sync::{Accepted, Around, Config, Event, Fetched, Gate, Refused, Sync, Transmit},
};
use rand_pcg::{
    Pcg64Mcg,
    rand_core::{Rng as _, SeedableRng as _},
};
use relaymesh_core::{hash::Hash, id::NodeId, op::Scope};
use std::collections::{BTreeMap, BTreeSet};

/// When the worlds begin.
pub(super) const START_MS: u64 = 1_000_000;

/// What a node lets in and gives out.
#[derive(Debug, Clone, Default)]
pub(super) struct Door {
    /// If there are any here, only these are enrolled.
    pub(super) only: BTreeSet<NodeId>,
    pub(super) contents: BTreeMap<Hash, Vec<u8>>,
    /// Peers that may see no content.
    pub(super) blind: BTreeSet<NodeId>,
}

impl Gate for Door {
    fn enrolled(&self, origin: NodeId) -> bool {
        self.only.is_empty() || self.only.contains(&origin)
    }

    fn may_see(&self, peer: NodeId, _content: &Hash, _scope: Scope) -> bool {
        !self.blind.contains(&peer)
    }

    fn content(&self, content: &Hash, offset: u32, len_max: usize) -> Option<Vec<u8>> {
        let rest = self.contents.get(content)?.get(offset as usize..)?;
        Some(rest[..rest.len().min(len_max)].to_vec())
    }
}

pub(super) struct Node {
    pub(super) author: Author,
    pub(super) log: MemoryFeedLog,
    pub(super) door: Door,
    pub(super) sync: Sync<Pcg64Mcg>,
    /// How far its clock is ahead.
    pub(super) ahead_ms: u64,
    /// Whether it leaves what was accepted where it is.
    pub(super) idle: bool,
    pub(super) events: Vec<Event>,
    pub(super) fetched: Vec<Fetched>,
    /// Every op that it took in, in order.
    pub(super) taken: Vec<(FeedId, u64)>,
}

impl Node {
    fn id(&self) -> NodeId {
        self.author.feed().origin
    }
}

/// What the links do to frames.
#[derive(Debug, Clone, Copy)]
pub(super) struct Weather {
    /// In a hundred.
    pub(super) lost: u64,
    /// In a hundred.
    pub(super) doubled: u64,
    /// Up to this.
    pub(super) travel_ms: u64,
}

pub(super) const FAIR: Weather = Weather { lost: 0, doubled: 0, travel_ms: 1 };
pub(super) const FOUL: Weather = Weather { lost: 25, doubled: 15, travel_ms: 400 };

pub(super) struct World {
    pub(super) nodes: Vec<Node>,
    pub(super) now_ms: u64,
    pub(super) weather: Weather,
    /// Links that carry nothing, both ways.
    pub(super) cut: BTreeSet<(usize, usize)>,
    pub(super) config: Config,
    /// Bytes that arrived anywhere.
    pub(super) carried: u64,
    pub(super) refused: Vec<Refused>,
    on_the_way: BTreeMap<(u64, u64), (usize, usize, Vec<u8>)>,
    sent: u64,
    rng: Pcg64Mcg,
}

impl World {
    /// So many nodes that all know each other.
    pub(super) fn of(count: usize, seed: u64) -> Self {
        Self::with(count, seed, Config::default())
    }

    pub(super) fn with(count: usize, seed: u64, config: Config) -> Self {
        let mut world = Self {
            nodes: Vec::new(),
            now_ms: START_MS,
            weather: FAIR,
            cut: BTreeSet::new(),
            config,
            carried: 0,
            refused: Vec::new(),
            on_the_way: BTreeMap::new(),
            sent: 0,
            rng: Pcg64Mcg::seed_from_u64(seed),
        };
        for number in 0..count {
            let author = Author::new(number as u8 + 1);
            let sync = world.fresh(author.feed().origin);
            let (log, door) = (MemoryFeedLog::default(), Door::default());
            let (events, fetched, taken) = (Vec::new(), Vec::new(), Vec::new());
            world.nodes.push(Node { author, log, door, sync, ahead_ms: 0, idle: false, events, fetched, taken });
        }
        (0..count).for_each(|index| world.introduce(index));
        world
    }

    fn fresh(&mut self, own: NodeId) -> Sync<Pcg64Mcg> {
        Sync::new(own, self.config, Pcg64Mcg::seed_from_u64(self.rng.next_u64()), self.now_ms)
    }

    pub(super) fn id(&self, index: usize) -> NodeId {
        self.nodes[index].id()
    }

    pub(super) fn feed(&self, index: usize) -> FeedId {
        self.nodes[index].author.feed()
    }

    pub(super) fn seq(&self, at: usize, of: usize) -> u64 {
        self.nodes[at].log.chain(self.feed(of)).seq
    }

    /// Calls something of a node's machine with what is around it.
    pub(super) fn with_node<T>(
        &mut self,
        index: usize,
        call: impl FnOnce(&mut Sync<Pcg64Mcg>, &Around<'_, MemoryFeedLog, Door>) -> T,
    ) -> T {
        let node = &mut self.nodes[index];
        let around = Around { log: &node.log, gate: &node.door, now_ms: self.now_ms + node.ahead_ms };
        let told = call(&mut node.sync, &around);
        assert_eq!(node.sync.validate(), Ok(()));
        told
    }

    fn introduce(&mut self, index: usize) {
        for peer in (0..self.nodes.len()).filter(|peer| *peer != index) {
            let id = self.id(peer);
            self.with_node(index, |sync, around| sync.handle_peer_up(id, around));
        }
    }

    /// The node writes so many ops and signs them.
    pub(super) fn write(&mut self, index: usize, count: u64) {
        let now_ms = self.now_ms + self.nodes[index].ahead_ms;
        let node = &mut self.nodes[index];
        let last_ms = node.log.tips(node.author.feed()).first().map_or(0, |tip| tip.head.as_of.wall_ms);
        let from_ms = now_ms.max(last_ms + 1);
        let ops = node.author.write(count, from_ms, "x");
        let as_of = node.author.stamp(from_ms + count.saturating_sub(1));
        node.log.author(&node.author.signer, 1, ops, as_of).unwrap();
        node.sync.handle_local_news(node.author.feed(), now_ms);
    }

    /// The node promises that nothing older than now is to come.
    pub(super) fn promise(&mut self, index: usize) {
        self.write(index, 0);
    }

    /// The process starts again with nothing but its log.
    pub(super) fn restart(&mut self, index: usize) {
        self.nodes[index].sync = self.fresh(self.id(index));
        self.introduce(index);
    }

    pub(super) fn cut_off(&mut self, index: usize) {
        let others = (0..self.nodes.len()).filter(|other| *other != index);
        self.cut.extend(others.map(|other| (index.min(other), index.max(other))));
    }

    pub(super) fn heal(&mut self) {
        self.cut.clear();
        self.weather = FAIR;
    }

    /// Puts bytes on their way as if a node had sent them.
    pub(super) fn send(&mut self, from: usize, to: usize, bytes: Vec<u8>) {
        let drawn = self.rng.next_u64();
        let copies =
            if drawn % 100 < self.weather.lost { 0 } else { 1 + u64::from((drawn >> 16) % 100 < self.weather.doubled) };
        for _ in 0..copies {
            let travel_ms = 1 + self.rng.next_u64() % self.weather.travel_ms;
            self.sent += 1;
            self.on_the_way.insert((self.now_ms + travel_ms, self.sent), (from, to, bytes.clone()));
        }
    }

    /// Lets so much time pass.
    pub(super) fn run(&mut self, for_ms: u64) {
        let end_ms = self.now_ms + for_ms;
        loop {
            (0..self.nodes.len()).for_each(|index| self.settle(index));
            let due = |index: usize| {
                let node = &self.nodes[index];
                (node.sync.poll_timeout().saturating_sub(node.ahead_ms).max(self.now_ms), index)
            };
            let timeout = (0..self.nodes.len()).map(due).min().unwrap();
            let arrival_ms = self.on_the_way.first_key_value().map_or(u64::MAX, |((at_ms, _), _)| *at_ms);
            let next_ms = timeout.0.min(arrival_ms);
            if next_ms > end_ms {
                self.now_ms = end_ms;
                return;
            }
            self.now_ms = next_ms;
            if arrival_ms == next_ms {
                self.arrive();
            } else {
                self.with_node(timeout.1, |sync, around| sync.handle_timeout(around));
            }
        }
    }

    fn arrive(&mut self) {
        let Some((_, (from, to, bytes))) = self.on_the_way.pop_first() else { return };
        if self.cut.contains(&(from.min(to), from.max(to))) {
            return;
        }
        self.carried += bytes.len() as u64;
        let from = self.id(from);
        let told = self.with_node(to, |sync, around| sync.handle_frame(from, &bytes, around));
        self.refused.extend(told.err());
    }

    /// Does what a node does after each call: it sends, takes and keeps.
    fn settle(&mut self, index: usize) {
        loop {
            while let Some(Transmit { to, bytes }) = self.nodes[index].sync.poll_transmit() {
                if let Some(to) = (0..self.nodes.len()).find(|other| self.id(*other) == to) {
                    self.send(index, to, bytes);
                }
            }
            let node = &mut self.nodes[index];
            node.events.extend(std::iter::from_fn(|| node.sync.poll_event()));
            node.fetched.extend(std::iter::from_fn(|| node.sync.poll_fetched()));
            if node.idle {
                return;
            }
            let Some(Accepted { news, .. }) = node.sync.poll_accepted() else { return };
            let feed = news.feed;
            node.taken.extend(news.ops.iter().map(|linked| (feed, linked.op.header.seq)));
            match node.log.take(news) {
                Ok(()) => self.with_node(index, |sync, around| sync.handle_taken(feed, around)),
                Err(_) => node.sync.handle_put_back(feed),
            }
        }
    }

    /// All feeds of a node, with the ends of their branches.
    pub(super) fn ends(&self, index: usize) -> BTreeMap<FeedId, BTreeSet<Place>> {
        let log = &self.nodes[index].log;
        let feeds = log.feeds(None, usize::MAX).into_iter();
        feeds.map(|feed| (feed, log.tips(feed).iter().map(|tip| tip.head.place()).collect())).collect()
    }

    /// Checks that all these nodes hold the same ops, and nothing is wrong with any log.
    pub(super) fn assert_agreed(&self, nodes: impl IntoIterator<Item = usize>) {
        let nodes: Vec<usize> = nodes.into_iter().collect();
        for index in &nodes {
            assert_eq!(self.nodes[*index].log.validate(), Ok(()));
            assert_eq!(self.ends(*index), self.ends(nodes[0]), "node {index} and node {}", nodes[0]);
        }
    }
}
