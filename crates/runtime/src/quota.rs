//! Which agents may begin an attempt now: places in pools, rate limits and budgets together.
//!
//! An attempt takes a place in each pool of its agent. An agent that is held ([`crate::rate_limits`]) has no place; when its time is over, its
//! provider gets one attempt at first, whichever agent's, and all places are there once that one was answered. An attempt that is counted
//! opens an account ([`crate::ledger`]), or is refused because a budget is used up. Nothing here runs an agent, so the simulator has
//! the same quotas as a daemon.

use crate::{
    ledger::{Account, Ledger, Over, Payer},
    rate_limits::{self, RateLimits},
    world::{Outcome, Pool, Work},
};
use relaymesh_core::name::Name;
use relaymesh_store::Spend;
use std::collections::BTreeMap;

pub use relaymesh_agents::{AgentBudgets, Budgets, Meter, tool::Usage};

/// The pool that every process takes a place in.
const PROCESSES: &str = "processes";

/// The pool that every agent with `llm = true` takes a place in.
const LLM: &str = "llm";

/// What the configuration says of one agent's share.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct AgentQuota {
    /// Agents of one provider are held together.
    pub provider: String,
    /// Attempts at once.
    pub concurrency: usize,
    /// Whether its attempts are processes.
    pub is_process: bool,
    /// Whether it uses a language model: then its attempts are counted also without a budget.
    pub llm: bool,
    /// Whether it runs nothing here, and its steps wait for an answer.
    pub inbox: bool,
    /// What it may use.
    pub budget: AgentBudgets,
}

/// Attempts at once of several agents together.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub struct Places {
    /// Of all that are processes.
    pub processes: usize,
    /// Of all that use a language model.
    pub llm: usize,
}

/// Who may begin an attempt.
pub struct Quotas {
    agents: BTreeMap<Name, (AgentQuota, Vec<Pool>)>,
    budgets: Budgets,
    places: Places,
    rate_limits: RateLimits,
    ledger: Ledger,
}

impl Quotas {
    /// Quotas of no agent yet.
    pub fn new(rate_limits: RateLimits, ledger: Ledger) -> Self {
        Self { agents: BTreeMap::new(), budgets: Budgets::default(), places: Places::default(), rate_limits, ledger }
    }

    /// Takes up the configuration. Attempts under way go on as they began.
    pub fn configure(&mut self, agents: BTreeMap<Name, AgentQuota>, budgets: Budgets, places: Places) {
        // Budgets may be others now, or an earlier life had others. An agent that has used up the new one is told so again.
        self.rate_limits.release_budgets();
        self.agents = agents.into_iter().map(|(name, quota)| (name, (quota, Vec::new()))).collect();
        (self.budgets, self.places) = (budgets, places);
        self.count_places();
    }

    /// Takes up other limits for several agents together.
    pub fn set_places(&mut self, places: Places) {
        self.places = places;
        self.count_places();
    }

    /// Whether the agent runs nothing here, and its steps wait for an answer.
    pub fn asks(&self, agent: &Name) -> bool {
        self.agents.get(agent).is_some_and(|(quota, _)| quota.inbox)
    }

    /// Whether there is an agent of this name.
    pub fn knows(&self, agent: &Name) -> bool {
        self.agents.contains_key(agent)
    }

    /// What an attempt of this agent takes a place in.
    pub fn pools(&self, agent: &Name) -> &[Pool] {
        self.agents.get(agent).map_or(&[], |(_, pools)| pools)
    }

    /// Holds the agent, and all others of its provider unless it is meant `alone`; says until when. `None`: there is no such agent.
    pub fn hold(&mut self, agent: &Name, reason: &str, until: (Option<u64>, bool), now_ms: u64) -> Option<u64> {
        let (until_ms, alone) = until;
        let (quota, _) = self.agents.get(agent)?;
        let whose = if alone { rate_limits::budget_of(agent) } else { quota.provider.clone() };
        let until_ms = self.rate_limits.hold(&whose, reason, until_ms, now_ms);
        self.count_places();
        Some(until_ms)
    }

    /// An attempt of this agent succeeded: its provider takes more again.
    pub fn answered(&mut self, agent: &Name) {
        if !self.rate_limits.is_any_tried() {
            return; // nearly always
        }
        let provider = self.agents.get(agent).map(|(quota, _)| quota.provider.as_str());
        if provider.is_some_and(|provider| self.rate_limits.answered(provider)) {
            self.count_places();
        }
    }

    /// Lets go of those whose time is over; says when the next one's is.
    pub fn held_until(&mut self, now_ms: u64) -> Option<u64> {
        if self.rate_limits.release(now_ms) {
            self.count_places();
        }
        self.rate_limits.next_ms()
    }

    /// Opens an account for an attempt that is about to begin, if its agent is counted. The error is what becomes of an attempt that
    /// may not begin.
    pub fn open(&self, work: &Work, now_ms: u64) -> Result<Option<Account>, Outcome> {
        let Some((quota, _)) = self.agents.get(&work.agent) else { return Ok(None) };
        let payer = Payer { namespace: work.namespace.clone(), agent: work.agent.clone(), task: work.hold.step.task };
        self.ledger.open(payer, (quota.llm, quota.budget), &self.budgets, now_ms).map_err(|over| match over {
            Over::Today { why, until_ms } => Outcome::Limited { reason: why, until_ms: Some(until_ms), alone: true },
            Over::ForGood(error) => Outcome::Failed { error, retryable: false },
            Over::Unreadable(error) => Outcome::Failed { error, retryable: true },
        })
    }

    /// These are durable now.
    pub fn spent(&self, spends: &[Spend]) {
        self.ledger.spent(spends);
    }

    fn count_places(&mut self) {
        for (name, (quota, pools)) in &mut self.agents {
            *pools = pools_of(name, quota, self.places, &self.rate_limits);
        }
    }
}

fn pools_of(name: &Name, quota: &AgentQuota, places: Places, limits: &RateLimits) -> Vec<Pool> {
    if quota.inbox {
        return Vec::new();
    }
    let is_held = limits.is_held(&quota.provider) || limits.is_held(&rate_limits::budget_of(name));
    let agent = Pool { name: format!("agent {name}").into(), places: if is_held { 0 } else { quota.concurrency } };
    let llm = quota.llm.then(|| Pool { name: LLM.into(), places: places.llm });
    // All agents of the provider share it, so that they do not all try at once.
    let trial = limits.is_tried(&quota.provider);
    let trial = trial.then(|| Pool { name: format!("trial of {}", quota.provider).into(), places: 1 });
    let processes = quota.is_process.then(|| Pool { name: PROCESSES.into(), places: places.processes });
    [agent].into_iter().chain(trial).chain(processes).chain(llm).collect()
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::ledger::elapsed;
    use relaymesh_core::id::NodeId;
    use relaymesh_store::memory::Disk;
    use std::sync::Arc;

    fn name(text: &str) -> Name {
        text.parse().unwrap()
    }

    fn quotas(root: &std::path::Path) -> Quotas {
        let books = Disk::new(NodeId::new(1, 1)).reader();
        let ledger = Ledger::new(Box::new(books), Arc::new(drop), elapsed());
        let mut quotas = Quotas::new(RateLimits::read(root), ledger);
        let of = |provider: &str| AgentQuota {
            provider: provider.to_owned(),
            concurrency: 8,
            is_process: false,
            llm: false,
            inbox: false,
            budget: AgentBudgets::default(),
        };
        let agents = [("writer", "openai"), ("reader", "openai"), ("other", "anthropic")];
        let agents = agents.map(|(agent, provider)| (name(agent), of(provider)));
        quotas.configure(agents.into_iter().collect(), Budgets::default(), Places::default());
        quotas
    }

    #[test]
    fn a_provider_that_had_enough_is_tried_with_one_attempt_of_all_its_agents() {
        let root = tempfile::tempdir().unwrap();
        let mut quotas = quotas(root.path());
        let places = |quotas: &Quotas, agent: &str| -> Vec<(String, usize)> {
            quotas.pools(&name(agent)).iter().map(|pool| (pool.name.to_string(), pool.places)).collect()
        };
        let open = |agent: &str| vec![(format!("agent {agent}"), 8)];
        let until_ms = quotas.hold(&name("writer"), "503", (Some(9_000), false), 5_000).unwrap();
        for agent in ["writer", "reader"] {
            assert_eq!(places(&quotas, agent), [(format!("agent {agent}"), 0)]);
        }
        quotas.held_until(until_ms);
        let trial = ("trial of openai".to_owned(), 1);
        for agent in ["writer", "reader"] {
            assert_eq!(places(&quotas, agent), [(format!("agent {agent}"), 8), trial.clone()], "one place for both");
        }
        assert_eq!(places(&quotas, "other"), open("other"));
        quotas.answered(&name("other"));
        assert_eq!(places(&quotas, "writer").len(), 2, "another provider's answer proves nothing");
        quotas.answered(&name("reader"));
        for agent in ["writer", "reader"] {
            assert_eq!(places(&quotas, agent), open(agent));
        }
    }
}
