//! Counts of outcomes, and the failures among them.

use std::collections::BTreeMap;

/// How many failures are told in full.
const TOLD_MAX: usize = 5;

/// What happened how often, by what was done.
#[derive(Debug, Default)]
pub(crate) struct Table {
    counts: BTreeMap<String, BTreeMap<String, usize>>,
    failures: Vec<String>,
}

impl Table {
    pub(crate) fn count(&mut self, done: &str, outcome: &str) {
        *self.counts.entry(done.to_owned()).or_default().entry(outcome.to_owned()).or_default() += 1;
    }

    /// An outcome that must not be.
    pub(crate) fn fail(&mut self, done: &str, why: String) {
        self.count(done, "WRONG");
        self.failures.push(why);
    }

    /// Prints the counts, and panics if anything went wrong.
    pub(crate) fn finish(self, title: &str) {
        println!("\n{title}");
        for (done, outcomes) in &self.counts {
            let all: Vec<String> = outcomes.iter().map(|(outcome, times)| format!("{outcome} {times}")).collect();
            println!("  {done:<34} {}", all.join(" · "));
        }
        let told: Vec<String> = self.failures.iter().take(TOLD_MAX).cloned().collect();
        assert!(told.is_empty(), "{} wrong outcome(s) of {title}\n{}", self.failures.len(), told.join("\n\n"));
    }
}
