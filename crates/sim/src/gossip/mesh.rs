//! The world: nodes, a network, and one agenda.

use crate::{
    rng::Rng,
    time::{Agenda, MS},
};
use rand_pcg::{Pcg64Mcg, rand_core::SeedableRng as _};
use relaymesh_core::id::NodeId;
use relaymesh_mesh::membership::{Config, Event, Identity, Membership, Status};

/// The nodes start within this time, so that their probes do not fall on one moment.
const START_MS: u64 = 1_000;

enum Happening {
    Start(usize),
    Wake(usize),
    Arrive { to: usize, bytes: Vec<u8> },
}

pub(super) struct Mesh {
    nodes: Vec<Option<Membership<Pcg64Mcg>>>,
    agenda: Agenda<Happening>,
    wakes_ms: Vec<u64>,
    rng: Rng,
    loss_per_mille: u64,
    seed: u64,
    pub(super) sent: u64,
    pub(super) bytes: u64,
    /// Changes of what nodes show of others: who shows, of whom, what, when.
    pub(super) shown: Vec<(usize, usize, Status, u64)>,
}

impl Mesh {
    /// So many nodes that know of each other from the start.
    pub(super) fn new(nodes: usize, loss_per_mille: u64, seed: u64) -> Self {
        let mut agenda = Agenda::new();
        for index in 0..nodes {
            agenda.at(index as u64 * START_MS / nodes as u64 * MS, Happening::Start(index));
        }
        Self {
            nodes: (0..nodes).map(|_| None).collect(),
            agenda,
            wakes_ms: vec![u64::MAX; nodes],
            rng: Rng::new(seed),
            loss_per_mille,
            seed,
            sent: 0,
            bytes: 0,
            shown: Vec::new(),
        }
    }

    pub(super) fn now_ms(&self) -> u64 {
        self.agenda.now() / MS
    }

    pub(super) fn len(&self) -> usize {
        self.nodes.len()
    }

    /// The node is gone, without a word.
    pub(super) fn kill(&mut self, index: usize) {
        self.nodes[index] = None;
    }

    /// Whether every node that is left shows `of` like this.
    pub(super) fn all_show(&self, of: usize, status: Status) -> bool {
        let mut others =
            self.nodes.iter().enumerate().filter(|(by, _)| *by != of).filter_map(|(_, node)| node.as_ref());
        others.all(|node| node.status(name(of)) == Some(status))
    }

    /// What all counters of suppressed recoveries come to.
    pub(super) fn suppressed(&self) -> u64 {
        self.nodes.iter().flatten().map(|node| node.counters().recovery_suppressed).sum()
    }

    /// Lets the world go on until `end_ms`, or until `done` says so; it is asked twice a simulated second.
    pub(super) fn run(&mut self, end_ms: u64, done: impl Fn(&Self) -> bool) {
        let mut asked_ms = self.now_ms();
        while let Some(happening) = self.agenda.next_until(end_ms * MS) {
            let now_ms = self.now_ms();
            match happening {
                Happening::Start(index) => self.start(index, now_ms),
                Happening::Wake(index) => {
                    self.wakes_ms[index] = u64::MAX;
                    if let Some(node) = &mut self.nodes[index] {
                        node.handle_timeout(now_ms);
                    }
                    self.collect(index, now_ms);
                }
                Happening::Arrive { to, bytes } => {
                    if let Some(node) = &mut self.nodes[to] {
                        node.handle_datagram(&bytes, now_ms).expect("the network bends nothing");
                    }
                    self.collect(to, now_ms);
                }
            }
            if now_ms >= asked_ms + 500 {
                asked_ms = now_ms;
                if done(self) {
                    return;
                }
            }
        }
    }

    fn start(&mut self, index: usize, now_ms: u64) {
        let identity = |index| Identity { node: name(index), life: 1 };
        let rng = Pcg64Mcg::seed_from_u64(self.seed ^ ((index as u64 + 1) << 32));
        let mut node = Membership::new(identity(index), Config::default(), rng, now_ms);
        node.remember((0..self.nodes.len()).filter(|other| *other != index).map(identity), now_ms);
        self.nodes[index] = Some(node);
        self.collect(index, now_ms);
    }

    /// Sends what a node wants sent, keeps what it shows, and wakes it when it is due.
    fn collect(&mut self, index: usize, now_ms: u64) {
        let Some(node) = &mut self.nodes[index] else { return };
        while let Some(transmit) = node.poll_transmit() {
            self.sent += 1;
            self.bytes += transmit.bytes.len() as u64;
            let travel_ms = self.rng.between(1, 20);
            if !self.rng.chance(self.loss_per_mille) {
                let to = number(transmit.to);
                self.agenda.at((now_ms + travel_ms) * MS, Happening::Arrive { to, bytes: transmit.bytes });
            }
        }
        while let Some(event) = node.poll_event() {
            match event {
                Event::Changed { node, now, at_ms, .. } => self.shown.push((index, number(node), now, at_ms)),
                Event::Discovered { .. }
                | Event::RecoverySuppressed { .. }
                | Event::Forgotten { .. }
                | Event::Renewed { .. } => {}
            }
        }
        let due_ms = node.poll_timeout();
        if due_ms < self.wakes_ms[index] {
            self.wakes_ms[index] = due_ms;
            self.agenda.at(due_ms * MS, Happening::Wake(index));
        }
    }
}

fn name(index: usize) -> NodeId {
    NodeId::new(0, index as u128)
}

fn number(node: NodeId) -> usize {
    let bytes = node.to_bytes();
    usize::from(bytes[14]) << 8 | usize::from(bytes[15])
}
