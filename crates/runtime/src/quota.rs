//! Which agents may begin an attempt now: places in pools, rate limits and budgets together.
//!
//! An attempt takes a place in each pool of its agent. An agent that is held ([`crate::rate_limits`]) has no place. An attempt that is counted
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
    let processes = quota.is_process.then(|| Pool { name: PROCESSES.into(), places: places.processes });
    [agent].into_iter().chain(processes).chain(llm).collect()
}
