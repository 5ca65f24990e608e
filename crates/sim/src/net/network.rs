//! The network: bytes go from one node to another, or not, or twice, and when they like.

use super::plan::Plan;
use crate::{
    rng::Rng,
    time::{MS, Ns},
};
use std::collections::BTreeSet;

/// The links between all nodes.
#[derive(Debug)]
pub(super) struct Network {
    /// Directions in which nothing gets through.
    cut: BTreeSet<(usize, usize)>,
    healthy: bool,
    delay_max_ms: u64,
    loss_per_mille: u64,
    double_per_mille: u64,
    rng: Rng,
    pub(super) sent: u64,
    pub(super) lost: u64,
    pub(super) doubled: u64,
}

impl Network {
    pub(super) fn new(plan: &Plan, rng: Rng) -> Self {
        Self {
            cut: BTreeSet::new(),
            healthy: false,
            delay_max_ms: plan.delay_max_ms,
            loss_per_mille: plan.loss_per_mille,
            double_per_mille: plan.double_per_mille,
            rng,
            sent: 0,
            lost: 0,
            doubled: 0,
        }
    }

    /// After how long each copy arrives.
    pub(super) fn carry(&mut self, from: usize, to: usize) -> Vec<Ns> {
        self.sent += 1;
        if self.cut.contains(&(from, to)) || (!self.healthy && self.rng.chance(self.loss_per_mille)) {
            self.lost += 1;
            return Vec::new();
        }
        let copies = if !self.healthy && self.rng.chance(self.double_per_mille) { 2 } else { 1 };
        self.doubled += copies - 1;
        let max_ms = if self.healthy { 10 } else { self.delay_max_ms };
        (0..copies).map(|_| self.rng.between(1, max_ms.max(1)) * MS).collect()
    }

    /// Nothing gets through between the two groups; in one direction only if `one_way`.
    pub(super) fn split(&mut self, group: &BTreeSet<usize>, nodes: usize, one_way: bool) {
        for inside in group {
            for outside in (0..nodes).filter(|node| !group.contains(node)) {
                self.cut.insert((*inside, outside));
                if !one_way {
                    self.cut.insert((outside, *inside));
                }
            }
        }
    }

    /// Everything gets through again, as well as it ever did.
    pub(super) fn join(&mut self) {
        self.cut.clear();
    }

    /// Nothing is lost any more.
    pub(super) fn heal(&mut self) {
        self.join();
        self.healthy = true;
    }
}
