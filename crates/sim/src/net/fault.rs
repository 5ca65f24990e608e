//! What breaks.

use super::{
    node::Node,
    world::{Event, World},
};
use crate::time::MS;
use relaymesh_core::hash::Hash;
use relaymesh_mesh::feed::{Linked, MemoryFeedLog};
use std::collections::BTreeSet;

/// How many feeds a node begins at most.
const EPOCHS_MAX: u32 = 4;

impl World {
    /// Breaks something, and mends it after a while.
    pub(super) fn break_something(&mut self) {
        if self.healed {
            return;
        }
        self.agenda.after(self.plan.fault_gap / 2 + self.rng.between(0, self.plan.fault_gap), Event::Fault);
        self.faults += 1;
        match self.rng.weighted(&[30, 20, 20, 10, 10, 10]) {
            0 => self.kill_somebody(),
            1 | 2 => self.split(),
            3 => self.network.join(),
            4 => self.skew(),
            _ => self.lose_memory(),
        }
    }

    /// Half of the time whoever is writing something down: a write takes a few milliseconds, which nobody meets by chance.
    fn kill_somebody(&mut self) {
        let writing: Vec<usize> = self.honest().filter(|node| node.writing.is_some()).map(|node| node.number).collect();
        let chosen = self.rng.chance(500).then(|| self.rng.pick(&writing).copied()).flatten();
        let node = chosen.unwrap_or_else(|| self.rng.index(self.nodes.len()));
        if Some(node) == self.plan.liar {
            return;
        }
        let is_written = self.rng.chance(500);
        self.kill(node, is_written);
        let away = self.rng.spread(50, 12_000) * MS;
        self.agenda.after(away, Event::Start { node });
    }

    /// A node comes back with an empty disk and begins another feed. Only if somebody else has all that it had: a disk that takes the
    /// only copy of something with it is not what a mesh can mend. Of the owner, only if everybody who runs has all its words: they count whenever
    /// they turn up, and whoever has lost its rights meanwhile is not heard before it has others.
    fn lose_memory(&mut self) {
        let node = self.rng.index(self.nodes.len());
        if Some(node) == self.plan.liar || self.nodes[node].origin_epoch >= EPOCHS_MAX {
            return;
        }
        self.kill(node, false);
        let hashes = |log: &MemoryFeedLog| -> BTreeSet<Hash> { log.all().map(|linked| linked.hash).collect() };
        let known = hashes(self.nodes[node].log());
        let is_kept = self.honest().any(|other| other.number != node && known.is_subset(&hashes(other.log())));
        let own = |linked: &&Linked| linked.op.header.origin == self.nodes[node].id;
        let words: BTreeSet<Hash> = self.nodes[node].log().all().filter(own).map(|linked| linked.hash).collect();
        let lacks = |other: &Node| other.peer.is_some() && !words.is_subset(&hashes(other.log()));
        let is_known = node != 0 || !self.honest().any(|other| other.number != node && lacks(other));
        if is_kept && is_known {
            self.nodes[node].forget();
            self.forgot += 1;
        }
        self.agenda.after(self.rng.spread(50, 5_000) * MS, Event::Start { node });
    }

    fn split(&mut self) {
        let nodes = self.nodes.len();
        let mut group: BTreeSet<usize> = (0..nodes).filter(|_| self.rng.chance(400)).collect();
        if group.is_empty() {
            group.insert(self.rng.index(nodes));
        }
        let one_way = self.rng.chance(300);
        self.network.split(&group, nodes, one_way);
        self.agenda.after(self.rng.spread(200, 10_000) * MS, Event::Join);
    }

    /// A node comes back with another clock, mostly a little off, now and then far ahead. While it runs its time follows no clock
    /// that is set.
    fn skew(&mut self) {
        let node = self.rng.index(self.nodes.len());
        if Some(node) == self.plan.liar {
            return;
        }
        let far = self.rng.chance(100);
        self.kill(node, true);
        self.nodes[node].skew_ms = if far { 90_000 } else { self.rng.between(0, 8_000) as i64 - 4_000 };
        self.agenda.after(self.rng.spread(20, 2_000) * MS, Event::Start { node });
    }
}
