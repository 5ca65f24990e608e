//! What many runs came to.

use crate::{
    fault::Fault,
    report::Report,
    time::{Ns, SECOND},
};
use std::{collections::BTreeMap, fmt::Write as _};

/// What many runs came to.
#[derive(Debug, Default, Clone)]
pub struct Totals {
    /// How many ran.
    pub seeds: u64,
    /// Seeds that failed, with the first line of why.
    pub failed: Vec<(u64, String)>,
    /// Namespaces that were made.
    pub namespaces: u64,
    /// Messages on the logs.
    pub messages: u64,
    /// Locks that were given out.
    pub locks: u64,
    /// Steps that an answer has completed.
    pub answered: u64,
    /// How often an agent was held.
    pub holds: u64,
    /// Attempts that were refused or ended because of a budget.
    pub over_budget: u64,
    simulated: Ns,
    commands: u64,
    ops: u64,
    tasks: u64,
    healthy: u64,
    healthy_done: u64,
    unknown: u64,
    unknown_done: u64,
    fenced: u64,
    faults: BTreeMap<Fault, u64>,
}

impl Totals {
    /// Takes in one run.
    pub fn add(&mut self, report: &Report) {
        self.seeds += 1;
        self.simulated += report.simulated;
        self.commands += report.commands;
        self.ops += report.ops;
        self.tasks += report.tasks;
        self.namespaces += report.namespaces;
        self.messages += report.messages;
        self.locks += report.locks;
        self.answered += report.answered;
        self.holds += report.holds;
        self.over_budget += report.over_budget;
        self.healthy += report.healthy;
        self.healthy_done += report.healthy_done;
        self.unknown += report.unknown;
        self.unknown_done += report.unknown_done;
        self.fenced += report.fenced;
        for (fault, count) in &report.faults {
            *self.faults.entry(*fault).or_default() += count;
        }
        if !report.passed() {
            let text = report.failure();
            self.failed.push((report.seed, text.lines().next().unwrap_or_default().to_owned()));
        }
    }

    /// Takes in what another thread ran.
    pub fn merge(&mut self, other: Totals) {
        self.seeds += other.seeds;
        self.simulated += other.simulated;
        self.commands += other.commands;
        self.ops += other.ops;
        self.tasks += other.tasks;
        self.namespaces += other.namespaces;
        self.messages += other.messages;
        self.locks += other.locks;
        self.answered += other.answered;
        self.holds += other.holds;
        self.over_budget += other.over_budget;
        self.healthy += other.healthy;
        self.healthy_done += other.healthy_done;
        self.unknown += other.unknown;
        self.unknown_done += other.unknown_done;
        self.fenced += other.fenced;
        for (fault, count) in other.faults {
            *self.faults.entry(fault).or_default() += count;
        }
        self.failed.extend(other.failed);
        self.failed.sort_unstable();
    }

    /// A few lines for people; `core_seconds` is real time summed over the threads.
    pub fn summary(&self, real_seconds: f64, core_seconds: f64) -> String {
        let simulated = self.simulated as f64 / SECOND as f64;
        let per = |count: u64| count as f64 / simulated.max(f64::MIN_POSITIVE);
        let mut text = String::new();
        let _ = writeln!(
            text,
            "{} seeds, {} failed, in {real_seconds:.1} s: {:.1} seeds/s",
            self.seeds,
            self.failed.len(),
            self.seeds as f64 / real_seconds.max(f64::MIN_POSITIVE)
        );
        let _ = writeln!(
            text,
            "simulated {simulated:.0} s, {:.0} times real time on one core",
            simulated / core_seconds.max(f64::MIN_POSITIVE)
        );
        let _ = writeln!(
            text,
            "{} commands ({:.2} a simulated second), {} ops on the log ({:.2} a simulated second)",
            self.commands,
            per(self.commands),
            self.ops,
            per(self.ops)
        );
        let _ = writeln!(
            text,
            "{} tasks, {} messages, {} locks, {} steps completed by an answer, {} namespaces, {} holds, {} attempts over budget",
            self.tasks, self.messages, self.locks, self.answered, self.namespaces, self.holds, self.over_budget
        );
        let _ = writeln!(
            text,
            "{} of {} commands succeeded in the healthy phase; {} ended unknown, {} of those are on the log; {} fenced words",
            self.healthy_done, self.healthy, self.unknown, self.unknown_done, self.fenced
        );
        let faults: Vec<String> = self.faults.iter().map(|(fault, count)| format!("{fault:?} {count}")).collect();
        let _ = writeln!(text, "faults: {}", faults.join(", "));
        text
    }
}
