//! A few nodes and the links between them, on one clock. A message takes 5 ms or is lost.

use super::*;
use rand_pcg::{Pcg64Mcg, rand_core::SeedableRng as _};
use std::collections::{BTreeMap, BTreeSet};

const TRAVEL_MS: u64 = 5;

pub(super) struct World {
    pub(super) nodes: Vec<Membership<Pcg64Mcg>>,
    pub(super) now_ms: u64,
    /// Nodes whose process is gone or cut off: they neither send nor receive.
    pub(super) cut: BTreeSet<usize>,
    /// Nodes whose process stands still.
    pub(super) stopped: BTreeSet<usize>,
    pub(super) events: Vec<(usize, Event)>,
    on_the_way: BTreeMap<(u64, u64), (usize, Vec<u8>)>,
    sent: u64,
}

impl World {
    /// So many nodes that have heard of each other through node 0.
    pub(super) fn of(nodes: usize, config: Config) -> Self {
        let mut world = Self::strangers(nodes, config);
        for index in 1..nodes {
            world.nodes[index].join(node(0), 0);
        }
        world.run(10_000);
        for index in 0..nodes {
            assert_eq!(world.nodes[index].members().count(), nodes - 1, "everybody knows everybody");
        }
        world.events.clear();
        world
    }

    /// So many nodes that know nobody.
    pub(super) fn strangers(nodes: usize, config: Config) -> Self {
        let make = |index| Membership::new(Identity { node: node(index), life: 1 }, config, rng(index), 0);
        Self {
            nodes: (0..nodes as u128).map(make).collect(),
            now_ms: 0,
            cut: BTreeSet::new(),
            stopped: BTreeSet::new(),
            events: Vec::new(),
            on_the_way: BTreeMap::new(),
            sent: 0,
        }
    }

    /// Lets so much time pass.
    pub(super) fn run(&mut self, for_ms: u64) {
        let end_ms = self.now_ms + for_ms;
        loop {
            self.collect();
            let running = |index: &usize| !self.stopped.contains(index);
            let due = |index: usize| (self.nodes[index].poll_timeout().max(self.now_ms), index);
            let timeout = (0..self.nodes.len()).filter(running).map(due).min();
            let arrival = self.on_the_way.first_key_value().map(|((at_ms, _), _)| *at_ms);
            let next_ms = timeout.map_or(u64::MAX, |(at_ms, _)| at_ms).min(arrival.unwrap_or(u64::MAX));
            if next_ms > end_ms {
                self.now_ms = end_ms;
                return;
            }
            self.now_ms = next_ms;
            if arrival == Some(next_ms) {
                if let Some((_, (to, bytes))) = self.on_the_way.pop_first()
                    && !self.cut.contains(&to)
                    && !self.stopped.contains(&to)
                {
                    self.nodes[to].handle_datagram(&bytes, next_ms).unwrap();
                }
            } else if let Some((_, index)) = timeout {
                self.nodes[index].handle_timeout(next_ms);
            }
        }
    }

    fn collect(&mut self) {
        let count = self.nodes.len();
        for (index, membership) in self.nodes.iter_mut().enumerate() {
            while let Some(transmit) = membership.poll_transmit() {
                let to = (0..count).find(|to| node(*to as u128) == transmit.to);
                if let Some(to) = to.filter(|_| !self.cut.contains(&index)) {
                    self.sent += 1;
                    self.on_the_way.insert((self.now_ms + TRAVEL_MS, self.sent), (to, transmit.bytes));
                }
            }
            while let Some(event) = membership.poll_event() {
                self.events.push((index, event));
            }
        }
    }

    /// The node's process starts again, with nothing but its name and a later life.
    pub(super) fn restart(&mut self, index: usize, life: u64, config: Config) {
        let identity = Identity { node: node(index as u128), life };
        self.nodes[index] = Membership::new(identity, config, rng(index as u128 + 100), self.now_ms);
        let seed = (0..self.nodes.len()).find(|other| *other != index && !self.cut.contains(other)).unwrap();
        self.nodes[index].join(node(seed as u128), self.now_ms);
    }

    /// How node `of` is in the eyes of node `by`.
    pub(super) fn status(&self, by: usize, of: usize) -> Option<Status> {
        self.nodes[by].status(node(of as u128))
    }

    /// When node `by` first showed node `of` in this state.
    pub(super) fn when(&self, by: usize, of: usize, wanted: Status) -> Option<u64> {
        self.events.iter().find_map(|(at, event)| match event {
            Event::Changed { node: about, now, at_ms, .. }
                if *at == by && *about == node(of as u128) && *now == wanted =>
            {
                Some(*at_ms)
            }
            Event::Changed { .. }
            | Event::Discovered { .. }
            | Event::RecoverySuppressed { .. }
            | Event::Forgotten { .. }
            | Event::Renewed { .. } => None,
        })
    }
}

fn rng(seed: u128) -> Pcg64Mcg {
    Pcg64Mcg::seed_from_u64(u64::try_from(seed).unwrap())
}
