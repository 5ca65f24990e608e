//! What kind of world a seed makes: how many clients, how small the limits, how often what breaks.

use crate::{
    fault::Fault,
    rng::Rng,
    share::Shares,
    time::{MS, Ns, SECOND},
};
use relaymesh_runtime::driver::Config;
use relaymesh_store::Day;

/// Everything that is decided before the first event.
#[derive(Debug, Clone)]
pub(crate) struct Plan {
    /// The driver's settings: small limits, so that they are reached.
    pub(crate) config: Config,
    /// Which agents the node has, and what they may use.
    pub(crate) shares: Shares,
    /// Attempts and requests that are decided before the writer is looked after, as in the driver's kernel thread.
    pub(crate) decisions_at_once: usize,
    /// A round of the process takes up to this long: some machines are slow, and then much can happen in between.
    pub(crate) round: Ns,
    pub(crate) nodes: usize,
    pub(crate) clients: usize,
    pub(crate) workers: usize,
    pub(crate) lockers: usize,
    pub(crate) senders: usize,
    pub(crate) recipients: usize,
    pub(crate) janitors: usize,
    /// Clients think about this long between two commands, in milliseconds.
    pub(crate) think_ms: (u64, u64),
    /// Faults come until here.
    pub(crate) break_ends: Ns,
    /// Clients begin new things until here, in a world without faults.
    pub(crate) work_ends: Ns,
    /// By here everything must have come to rest.
    pub(crate) rest_by: Ns,
    /// Mean time between two faults.
    pub(crate) fault_gap: Ns,
    /// How likely each fault is, in the order of [`Fault::ALL`].
    pub(crate) weights: Vec<u64>,
    /// Messages that are lost in the break phase, of a thousand, each way.
    pub(crate) loss_per_mille: u64,
    /// How far the wall clock's year is from ours does not matter; where it starts is only a number.
    pub(crate) wall_start_ms: u64,
}

impl Plan {
    pub(crate) fn new(rng: &mut Rng) -> Self {
        let size = |n: u64| usize::try_from(n).expect("small");
        let config = Config {
            queue_capacity: size(rng.spread(2, 32)),
            slots: size(rng.spread(1, 16)),
            lease_timeout_ms: 15_000,
            reclaim_scan_interval_ms: rng.between(1_000, 5_000),
            batch_ops_max: size(rng.spread(8, 128)),
            max_consecutive_high: u32::try_from(rng.between(1, 100)).expect("small"),
            ..Config::default()
        };
        let break_ends = rng.between(120, 240) * SECOND;
        let work_ends = break_ends + 60 * SECOND;
        let weights = weights(rng);
        let shares = Shares::new(rng);
        Self {
            config,
            shares,
            decisions_at_once: size(rng.spread(1, 32)),
            round: rng.spread(50, 10_000) * 1_000,
            nodes: 1,
            clients: size(rng.between(3, 8)),
            workers: size(rng.between(2, 5)),
            lockers: size(rng.between(2, 5)),
            senders: size(rng.between(1, 4)),
            recipients: size(rng.between(3, 6)),
            janitors: size(rng.between(0, 2)),
            think_ms: (200, rng.between(1_000, 4_000)),
            break_ends,
            work_ends,
            rest_by: work_ends + 1_200 * SECOND,
            fault_gap: rng.between(2, 10) * SECOND,
            weights,
            loss_per_mille: rng.between(0, 40),
            wall_start_ms: wall_start_ms(rng, break_ends),
        }
    }
}

/// When the world begins: every third one has midnight (UTC) in its first phase, when a budget of the day begins anew.
fn wall_start_ms(rng: &mut Rng, break_ends: Ns) -> u64 {
    let somewhere_ms = 1_700_000_000_000 + rng.between(0, 1_000_000_000);
    if !rng.chance(333) {
        return somewhere_ms;
    }
    Day::of(somewhere_ms).end_ms() - rng.between(1_000, break_ends / MS)
}

/// Every seed has its own favourites. A restart mends so much that a world with kills in it hides whatever a world
/// without them would show: so some worlds never lose their process, and some break in one to three ways only.
fn weights(rng: &mut Rng) -> Vec<u64> {
    let mut weights: Vec<u64> = Fault::ALL.iter().map(|_| rng.between(0, 4)).collect();
    match rng.weighted(&[50, 30, 20]) {
        0 => {}
        1 => {
            for (weight, fault) in weights.iter_mut().zip(Fault::ALL) {
                *weight = if fault.ends_the_process() { 0 } else { *weight + 1 };
            }
        }
        _ => {
            let few = 1 + rng.index(3);
            let kept: Vec<usize> = (0..few).map(|_| rng.index(weights.len())).collect();
            for (place, weight) in weights.iter_mut().enumerate() {
                *weight = u64::from(kept.contains(&place));
            }
        }
    }
    weights
}
