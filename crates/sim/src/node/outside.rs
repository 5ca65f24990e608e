//! The world of a simulated node, as the driver sees it: the production clock on simulated hands, the production quotas, and agents
//! that take a random time, use a random amount and end in a random way.

use super::{panel::Shared, reader::FaultyReader};
use crate::{
    share::Shares,
    time::{MS, Ns},
};
use relaymesh_core::{content::Media, id::StepId, name::Name};
use relaymesh_runtime::{
    clock::{Clock, Jump, Now},
    ledger::{Account, Ledger},
    quota::Quotas,
    rate_limits::{Keeper, RateLimits},
    world::{Alert, Outcome, Pool, Work, World},
};
use relaymesh_store::Spend;
use std::sync::Arc;

/// Agents of the node itself that have no quota. `quick` answers at once, `stuck` may never answer.
const UNBOUNDED: [&str; 2] = ["quick", "stuck"];

/// An agent that nobody here knows: its steps are for workers from outside.
pub(crate) const REMOTE_AGENT: &str = "remote";

pub(crate) struct Outside {
    panel: Shared,
    clock: Clock<Shared>,
    quotas: Quotas,
}

/// Work that was begun.
pub(crate) struct Begun {
    pub(crate) work: Work,
    /// How it will end, and after which time; `None`: never.
    pub(crate) ends: Option<(Ns, Outcome)>,
    /// What it has to give account of, if it is counted.
    pub(crate) account: Option<Account>,
}

/// What became of a try to begin an attempt that is counted, or of one that was turned away.
pub(crate) struct Refused {
    pub(crate) work: Work,
    pub(crate) outcome: Outcome,
}

/// An agent is held from now on.
#[derive(Debug, Clone)]
pub(crate) struct HeldNow {
    pub(crate) agent: Name,
    pub(crate) until_ms: u64,
    /// Whether it is meant for itself.
    pub(crate) alone: bool,
    /// What time it was for the node.
    pub(crate) wall_ms: u64,
}

impl Outside {
    /// Time starts no earlier than `floor_ms`, the newest time on the log.
    pub(crate) fn new(panel: Shared, floor_ms: u64, books: FaultyReader) -> Self {
        let (writes, passes) = (panel.clone(), panel.clone());
        let ledger = Ledger::new(
            Box::new(books),
            Arc::new(move |spend| writes.look().spent.push(spend)),
            Arc::new(move || passes.look().now / MS),
        );
        let mut quotas = Quotas::new(RateLimits::kept_by(Box::new(panel.clone())), ledger);
        let Shares { agents, budgets, places } = panel.look().shares.clone();
        quotas.configure(agents, budgets, places);
        Self { clock: Clock::new(panel.clone(), floor_ms), panel, quotas }
    }

    fn outcome(&self) -> Outcome {
        let rng = &mut self.panel.look().rng;
        match rng.weighted(&[80, 15, 5]) {
            0 => done(rng.between(0, 1_000_000)),
            1 => Outcome::Failed { error: "it did not work".to_owned(), retryable: true },
            _ => Outcome::Failed { error: "it can never work".to_owned(), retryable: false },
        }
    }

    /// What the agent's provider says if it has enough of us just now.
    fn turned_away(&mut self, agent: &Name) -> Option<Outcome> {
        let wall_ms = self.clock.now().wall_ms;
        let panel = self.panel.look();
        let busy = panel.busy.get(panel.shares.provider(agent)?).filter(|busy| busy.until > panel.now)?;
        // In the node's time: most providers say after how long to come back.
        let until_ms = busy.says_until.then(|| wall_ms + (busy.until - panel.now) / MS);
        Some(Outcome::Limited { reason: "turned away".to_owned(), until_ms, alone: false })
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
        UNBOUNDED.contains(&agent.as_str()) || self.quotas.knows(agent)
    }

    fn pools(&self, agent: &Name) -> &[Pool] {
        self.quotas.pools(agent)
    }

    fn asks(&self, agent: &Name) -> bool {
        self.quotas.asks(agent)
    }

    fn refresh(&mut self) -> bool {
        let Shares { agents, budgets, places } = self.panel.look().shares.clone();
        self.quotas.configure(agents, budgets, places);
        true
    }

    fn hold(&mut self, agent: &Name, reason: &str, until_ms: Option<u64>, alone: bool) -> Option<u64> {
        let wall_ms = self.now().wall_ms;
        let until_ms = self.quotas.hold(agent, reason, (until_ms, alone), wall_ms)?;
        self.panel.look().held_now.push(HeldNow { agent: agent.clone(), until_ms, alone, wall_ms });
        Some(until_ms)
    }

    fn answered(&mut self, agent: &Name) {
        self.quotas.answered(agent);
    }

    fn held_until(&mut self) -> Option<u64> {
        let now_ms = self.now().wall_ms;
        self.quotas.held_until(now_ms)
    }

    fn spent(&mut self, spends: &[Spend]) {
        self.quotas.spent(spends);
    }

    fn start(&mut self, work: Work) -> Option<Outcome> {
        let now_ms = self.now().wall_ms;
        let account = match self.quotas.open(&work, now_ms) {
            Ok(account) => account,
            Err(outcome) => {
                self.panel.look().refused.push(Refused { work, outcome: outcome.clone() });
                return Some(outcome);
            }
        };
        let turned_away = self.turned_away(&work.agent);
        let outcome = turned_away.unwrap_or_else(|| self.outcome());
        let quick = work.agent.as_str() == "quick";
        let never = work.agent.as_str() == "stuck" && self.panel.look().rng.chance(500);
        let takes = if matches!(outcome, Outcome::Limited { .. }) { 30 * MS } else { self.takes() };
        let ends = if quick || never { None } else { Some((takes, outcome.clone())) };
        self.panel.look().begun.push(Begun { work, ends, account });
        quick.then_some(outcome)
    }

    fn stop(&mut self, step: StepId, epoch: u32) {
        self.panel.look().stopped.push((step, epoch));
    }

    fn alert(&mut self, alert: Alert) {
        self.panel.look().alerts.push(alert);
    }
}

/// What is held is kept on the machine. It can always be written here, so that a hold outlives every process.
impl Keeper for Shared {
    fn read(&self) -> Option<Vec<u8>> {
        self.look().held.clone()
    }

    fn write(&self, bytes: &[u8]) {
        self.look().held = Some(bytes.to_vec());
    }
}
