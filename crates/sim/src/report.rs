//! What a run came to.

use crate::{fault::Fault, history::History, invariant::Broken, time::Ns, trace::Trace, world::World};
use std::{collections::BTreeMap, fmt::Write as _, panic};

/// A run with fewer commands proves nothing.
pub const OPS_MIN: u64 = 200;
/// A run with fewer faults proves nothing.
pub const FAULTS_MIN: u64 = 3;
/// A run in whose healthy phase fewer commands of clients succeed proves nothing: perhaps nothing works at all.
pub const SUCCESS_PER_CENT_MIN: u64 = 80;

/// Events that are shown of a run that failed.
const LAST_EVENTS: usize = 60;

/// What a run came to.
#[derive(Debug)]
pub struct Report {
    /// The seed that decided everything.
    pub seed: u64,
    /// Whether it passed.
    pub verdict: Verdict,
    /// Everything that happened.
    pub trace: Trace,
    /// What was done with leases and locks.
    pub history: History,
    /// Simulated time.
    pub simulated: Ns,
    /// Commands that clients and workers sent.
    pub commands: u64,
    /// Ops on the log.
    pub ops: u64,
    /// Tasks on the log.
    pub tasks: u64,
    /// Namespaces that were made.
    pub namespaces: u64,
    /// Messages on the log.
    pub messages: u64,
    /// Locks that were given out.
    pub locks: u64,
    /// Steps that an answer has completed.
    pub answered: u64,
    /// Faults that took effect.
    pub faults: BTreeMap<Fault, u64>,
    /// Commands of the healthy phase, workers' apart.
    pub healthy: u64,
    /// How many of them succeeded.
    pub healthy_done: u64,
    /// Commands whose caller never learned what came of them.
    pub unknown: u64,
    /// Of those: how many are on the log.
    pub unknown_done: u64,
    /// Words that a fence refused.
    pub fenced: u64,
    /// How often an agent was held.
    pub holds: u64,
    /// Attempts that were refused or ended because of a budget.
    pub over_budget: u64,
}

/// Whether a run passed.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Verdict {
    /// All invariants held.
    Passed,
    /// One did not.
    Broken(Broken),
    /// Too little happened for the run to mean anything. Counts as a failure.
    Invalid(String),
}

/// Runs the world of a seed to its end.
pub fn run(seed: u64) -> Report {
    let mut world = World::new(seed);
    let ran = panic::catch_unwind(panic::AssertUnwindSafe(|| world.run()));
    let mut report = Report {
        seed,
        verdict: Verdict::Passed,
        simulated: world.now(),
        commands: world.tally.sent,
        ops: world.ops(),
        tasks: world.tasks() as u64,
        namespaces: world.namespaces() as u64,
        messages: world.messages() as u64,
        locks: world.locks(),
        answered: world.answered_steps() as u64,
        healthy: world.tally.healthy,
        healthy_done: world.tally.healthy_done,
        unknown: world.tally.unknown,
        unknown_done: world.tally.settled,
        fenced: world.tally.fenced,
        holds: world.tally.holds,
        over_budget: world.tally.over_budget,
        faults: std::mem::take(&mut world.faults),
        trace: std::mem::replace(&mut world.trace, Trace::new()),
        history: std::mem::take(&mut world.history),
    };
    report.verdict = match (ran, world.broken()) {
        (Err(payload), _) => Verdict::Broken(Broken { invariant: "PANIC", found: said(payload.as_ref()) }),
        (Ok(()), Some(broken)) => Verdict::Broken(broken.clone()),
        (Ok(()), None) => report.validity(),
    };
    report
}

fn said(payload: &(dyn std::any::Any + Send)) -> String {
    let text = payload.downcast_ref::<String>().map(String::as_str);
    text.or_else(|| payload.downcast_ref::<&str>().copied()).unwrap_or("the driver panicked").to_owned()
}

impl Report {
    /// Whether it passed.
    pub fn passed(&self) -> bool {
        self.verdict == Verdict::Passed
    }

    fn validity(&self) -> Verdict {
        let faults: u64 = self.faults.values().sum();
        if self.commands < OPS_MIN {
            return Verdict::Invalid(format!("only {} commands, {OPS_MIN} are needed", self.commands));
        }
        if faults < FAULTS_MIN {
            return Verdict::Invalid(format!("only {faults} faults, {FAULTS_MIN} are needed"));
        }
        if self.healthy_done * 100 < self.healthy * SUCCESS_PER_CENT_MIN {
            return Verdict::Invalid(format!(
                "only {} of {} commands succeeded in the healthy phase, {SUCCESS_PER_CENT_MIN} % are needed",
                self.healthy_done, self.healthy
            ));
        }
        Verdict::Passed
    }

    /// What a person needs to know of a run that failed.
    pub fn failure(&self) -> String {
        let mut text = match &self.verdict {
            Verdict::Passed => return String::new(),
            Verdict::Broken(broken) => {
                format!("seed {}: {} is broken: {}\n", self.seed, broken.invariant, broken.found)
            }
            Verdict::Invalid(why) => format!("seed {}: INVALID: {why}\n", self.seed),
        };
        let records = self.trace.records();
        let shown = &records[records.len().saturating_sub(LAST_EVENTS)..];
        let _ = writeln!(text, "the last {} of {} events:", shown.len(), records.len());
        for record in shown {
            let _ = writeln!(text, "{record}");
        }
        let _ = writeln!(text, "the whole run again: cargo xtask sim --seed {}", self.seed);
        text
    }
}
