//! The world of a simulated node, as the driver sees it: the production clock on simulated hands, and agents that take a
//! random time and end in a random way.

use super::panel::Shared;
use crate::time::{MS, Ns};
use relaymesh_core::{content::Media, id::StepId, name::Name};
use relaymesh_runtime::{
    clock::{Clock, Jump, Now},
    world::{Alert, Outcome, Pool, Work, World},
};

/// Agents of the node itself. `quick` answers at once, `work` takes a while, `stuck` may never answer.
pub(crate) const OWN_AGENTS: [&str; 3] = ["quick", "work", "stuck"];

/// An agent that nobody here knows: its steps are for workers from outside.
pub(crate) const REMOTE_AGENT: &str = "remote";

pub(crate) struct Outside {
    panel: Shared,
    clock: Clock<Shared>,
    /// `work` has a few places only.
    pools: Vec<Pool>,
}

impl Outside {
    /// Time starts no earlier than `floor_ms`, the newest time on the log.
    pub(crate) fn new(panel: Shared, floor_ms: u64) -> Self {
        let pools = vec![Pool { name: "work".into(), places: 3 }];
        Self { clock: Clock::new(panel.clone(), floor_ms), panel, pools }
    }

    fn outcome(&self) -> Outcome {
        let rng = &mut self.panel.look().rng;
        match rng.weighted(&[80, 15, 5]) {
            0 => done(rng.between(0, 1_000_000)),
            1 => Outcome::Failed { error: "it did not work".to_owned(), retryable: true },
            _ => Outcome::Failed { error: "it can never work".to_owned(), retryable: false },
        }
    }

    fn takes(&self) -> Ns {
        self.panel.look().rng.spread(2, 16_000) * MS
    }
}

/// A result that says which one it is.
pub(crate) fn done(number: u64) -> Outcome {
    Outcome::Done {
        media: Media::Json,
        result: relaymesh_store::Content::Inline(format!("{{\"n\":{number}}}").into_bytes()),
    }
}

impl World for Outside {
    fn now(&mut self) -> Now {
        self.clock.now()
    }

    fn jump(&mut self) -> Option<Jump> {
        self.clock.guard()
    }

    fn random(&mut self) -> u128 {
        self.panel.look().rng.wide()
    }

    fn knows(&self, agent: &Name) -> bool {
        OWN_AGENTS.contains(&agent.as_str())
    }

    fn pools(&self, agent: &Name) -> &[Pool] {
        if agent.as_str() == "work" { &self.pools } else { &[] }
    }

    fn start(&mut self, work: Work) -> Option<Outcome> {
        let outcome = self.outcome();
        let quick = work.agent.as_str() == "quick";
        let never = work.agent.as_str() == "stuck" && self.panel.look().rng.chance(500);
        let ends = if quick || never { None } else { Some((self.takes(), outcome.clone())) };
        self.panel.look().begun.push((work, ends));
        quick.then_some(outcome)
    }

    fn stop(&mut self, step: StepId, epoch: u32) {
        self.panel.look().stopped.push((step, epoch));
    }

    fn alert(&mut self, alert: Alert) {
        self.panel.look().alerts.push(alert);
    }
}
