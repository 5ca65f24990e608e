//! What a run came to, and what many came to.

use super::{check::Broken, world::World};
use crate::time::{Ns, SECOND};
use relaymesh_core::hash::Hash;
use std::{fmt::Write as _, panic};

/// A run with fewer ops proves nothing.
pub(super) const OPS_MIN: u64 = 40;

/// What a run came to.
#[derive(Debug)]
pub struct NetReport {
    /// The seed that decided everything.
    pub seed: u64,
    /// What was not true, if anything was not.
    pub broken: Option<Broken>,
    /// Hash of everything that happened.
    pub events: Hash,
    /// Nodes, the liar included.
    pub nodes: usize,
    /// Whether one of them lies.
    pub has_liar: bool,
    /// Simulated time.
    pub simulated: Ns,
    /// Ops that were acknowledged by honest nodes.
    pub ops: u64,
    /// Tasks that became stable.
    pub stable: u64,
    /// What honest nodes were refused.
    pub refused: u64,
    /// Faults of nodes and links.
    pub faults: u64,
    /// How often a node lost its memory.
    pub forgot: u64,
    /// Frames that were sent, lost and doubled.
    pub frames: [u64; 3],
    /// What the liar did.
    pub lies: u64,
}

/// Runs the world of a seed to its end.
pub fn run(seed: u64) -> NetReport {
    let mut world = World::new(seed);
    let ran = panic::catch_unwind(panic::AssertUnwindSafe(|| world.run()));
    let mut broken = world.broken.clone();
    if let Err(panic) = ran {
        let text = panic.downcast_ref::<String>().cloned();
        let text = text.or_else(|| panic.downcast_ref::<&str>().map(|text| (*text).to_owned())).unwrap_or_default();
        broken = Some(Broken { invariant: "PANIC", found: text });
    }
    let ops = world.acks.len() as u64;
    if broken.is_none() && ops < OPS_MIN {
        broken = Some(Broken { invariant: "INVALID", found: format!("{ops} ops prove nothing") });
    }
    NetReport {
        seed,
        broken,
        events: world.events,
        nodes: world.nodes.len(),
        has_liar: world.liar.is_some(),
        simulated: world.now(),
        ops,
        stable: world.stable.len() as u64,
        refused: world.refused,
        faults: world.faults,
        forgot: world.forgot,
        frames: [world.network.sent, world.network.lost, world.network.doubled],
        lies: world.liar.as_ref().map_or(0, |liar| liar.lies) + world.rumours.told,
    }
}

impl NetReport {
    /// Whether everything held.
    pub fn passed(&self) -> bool {
        self.broken.is_none()
    }

    /// What to tell of a run that failed.
    pub fn failure(&self) -> String {
        let Some(Broken { invariant, found }) = &self.broken else { return String::new() };
        let liar = if self.has_liar { ", one of them lies" } else { "" };
        let seconds = self.simulated / SECOND;
        let found: String = found.chars().take(4_000).collect();
        format!("net seed {}: {invariant} after {seconds} s, {} nodes{liar}: {found}", self.seed, self.nodes)
    }
}

/// What many runs came to.
#[derive(Debug, Default, Clone)]
pub struct NetTotals {
    /// How many ran.
    pub seeds: u64,
    /// Seeds that failed, with why.
    pub failed: Vec<(u64, String)>,
    /// Ops that were acknowledged.
    pub ops: u64,
    /// Tasks that became stable.
    pub stable: u64,
    /// What liars did.
    pub lies: u64,
    /// How often nodes lost their memory.
    pub forgot: u64,
    faults: u64,
    refused: u64,
    frames: [u64; 3],
    simulated: Ns,
    liars: u64,
}

impl NetTotals {
    /// Takes in one run.
    pub fn add(&mut self, report: &NetReport) {
        self.seeds += 1;
        self.ops += report.ops;
        self.stable += report.stable;
        self.lies += report.lies;
        self.faults += report.faults;
        self.forgot += report.forgot;
        self.refused += report.refused;
        self.simulated += report.simulated;
        self.liars += u64::from(report.has_liar);
        for (sum, count) in self.frames.iter_mut().zip(report.frames) {
            *sum += count;
        }
        if !report.passed() {
            self.failed.push((report.seed, report.failure()));
        }
    }

    /// Takes in what another thread ran.
    pub fn merge(&mut self, other: Self) {
        let Self { seeds, failed, ops, stable, lies, forgot, faults, refused, frames, simulated, liars } = other;
        self.failed.extend(failed);
        self.failed.sort();
        for (sum, count) in [
            (&mut self.seeds, seeds),
            (&mut self.ops, ops),
            (&mut self.stable, stable),
            (&mut self.lies, lies),
            (&mut self.faults, faults),
            (&mut self.forgot, forgot),
            (&mut self.refused, refused),
            (&mut self.simulated, simulated),
            (&mut self.liars, liars),
        ] {
            *sum += count;
        }
        for (sum, count) in self.frames.iter_mut().zip(frames) {
            *sum += count;
        }
    }

    /// A few lines for people.
    pub fn summary(&self, real_seconds: f64) -> String {
        let [sent, lost, doubled] = self.frames;
        let mut text = String::new();
        let _ = writeln!(
            text,
            "{} meshes, {} of them with a liar, in {real_seconds:.1} s ({:.1} a second); {} failed",
            self.seeds,
            self.liars,
            self.seeds as f64 / real_seconds.max(0.001),
            self.failed.len()
        );
        let _ = writeln!(
            text,
            "{} ops, {} tasks stable, {} refused, {} faults, {} memories lost, {} lies; {sent} frames, {lost} lost, {doubled} doubled; {} s simulated",
            self.ops,
            self.stable,
            self.refused,
            self.faults,
            self.forgot,
            self.lies,
            self.simulated / SECOND
        );
        text
    }
}
