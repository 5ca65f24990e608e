//! What a seed decides before anything happens.

use crate::{
    rng::Rng,
    time::{MS, Ns, SECOND},
};

/// The numbers of a world.
#[derive(Debug, Clone)]
pub(super) struct Plan {
    pub(super) nodes: usize,
    /// The node that lies: never the owner.
    pub(super) liar: Option<usize>,
    pub(super) break_ends: Ns,
    pub(super) rest_by: Ns,
    pub(super) fault_gap: Ns,
    pub(super) act_gap_ms: u64,
    pub(super) delay_max_ms: u64,
    pub(super) loss_per_mille: u64,
    pub(super) double_per_mille: u64,
    /// How far each node's clock is from the world's, in milliseconds.
    pub(super) skew_ms: Vec<i64>,
    /// A node that goes away early and comes back after so many ops of others.
    pub(super) absent: Option<(usize, usize)>,
}

impl Plan {
    pub(super) fn new(rng: &mut Rng) -> Self {
        let nodes = rng.index(6) + 2;
        let liar = (nodes > 2 && rng.chance(500)).then(|| rng.index(nodes - 1) + 1);
        let broken = rng.between(8, 30);
        let skew = |rng: &mut Rng| if rng.chance(500) { 0 } else { rng.between(0, 8_000) as i64 - 4_000 };
        let skew_ms = (0..nodes).map(|_| skew(rng)).collect();
        let honest: Vec<usize> = (1..nodes).filter(|node| Some(*node) != liar).collect();
        let absent = rng.chance(60).then(|| honest.first().map(|node| (*node, 1_000))).flatten();
        Self {
            nodes,
            liar,
            break_ends: broken * SECOND,
            rest_by: (broken + 400) * SECOND,
            fault_gap: rng.between(500, 4_000) * MS,
            act_gap_ms: if absent.is_some() { 40 } else { rng.between(150, 600) },
            delay_max_ms: rng.spread(2, 400),
            loss_per_mille: if rng.chance(300) { 0 } else { rng.between(5, 200) },
            double_per_mille: if rng.chance(300) { 0 } else { rng.between(5, 100) },
            skew_ms,
            absent,
        }
    }
}
