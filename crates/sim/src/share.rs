//! Which agents the node runs, and what they may use: its `agents.toml`, so to speak.

use crate::{call::name, rng::Rng};
use relaymesh_core::{budget::Budget, name::Name};
use relaymesh_runtime::quota::{AgentBudgets, AgentQuota, Budgets, Places};
use std::collections::BTreeMap;

/// Agents whose attempts are counted, with who serves them.
pub(crate) const COUNTED: [(&str, &str); 3] = [("coder", "acme"), ("critic", "acme"), ("lone", "agent lone")];

/// Agents that run nothing here: their steps are asked by a message, and completed by its answer.
pub(crate) const ASKED: [&str; 3] = crate::actor::AGENTS;

/// The configuration of a node.
#[derive(Debug, Clone)]
pub(crate) struct Shares {
    pub(crate) agents: BTreeMap<Name, AgentQuota>,
    pub(crate) budgets: Budgets,
    pub(crate) places: Places,
}

impl Shares {
    pub(crate) fn new(rng: &mut Rng) -> Self {
        let mut agents = BTreeMap::new();
        agents.insert(name("work"), AgentQuota { is_process: true, ..plain("work", 3) });
        for asked in ASKED {
            agents.insert(name(asked), AgentQuota { inbox: true, ..plain(asked, 1) });
        }
        for (agent, provider) in COUNTED {
            let concurrency = 1 + rng.index(4);
            let task = bounded(rng, 300, 20_000);
            let day = bounded(rng, 150, 120_000);
            let quota = AgentQuota {
                provider: provider.to_owned(),
                is_process: agent != "critic",
                llm: agent != "lone",
                // One that uses no model is counted because it has a budget.
                budget: AgentBudgets { task: if agent == "lone" { wall(rng) } else { task }, day },
                ..plain(agent, concurrency)
            };
            agents.insert(name(agent), quota);
        }
        let budgets = Budgets {
            task: bounded(rng, 400, 40_000),
            day: bounded(rng, 150, 400_000),
            namespaces: BTreeMap::from([(name("team"), bounded(rng, 500, 100_000))]),
        };
        let places = Places { processes: 2 + rng.index(8), llm: 1 + rng.index(4) };
        Self { agents, budgets, places }
    }

    /// The same agents without budgets.
    pub(crate) fn without_budgets(&self) -> Self {
        let unbounded = |quota: &AgentQuota| AgentQuota { budget: AgentBudgets::default(), ..quota.clone() };
        let agents = self.agents.iter().map(|(name, quota)| (name.clone(), unbounded(quota)));
        Self { agents: agents.collect(), budgets: Budgets::default(), places: self.places }
    }

    /// Who is held together with this agent.
    pub(crate) fn provider(&self, agent: &Name) -> Option<&str> {
        self.agents.get(agent).map(|quota| quota.provider.as_str())
    }
}

fn plain(agent: &str, concurrency: usize) -> AgentQuota {
    AgentQuota {
        provider: format!("agent {agent}"),
        concurrency,
        is_process: false,
        llm: false,
        inbox: false,
        budget: AgentBudgets::default(),
    }
}

/// Bounds one thing that is used, that many times out of a thousand.
fn bounded(rng: &mut Rng, per_mille: u64, tokens_max: u64) -> Budget {
    if !rng.chance(per_mille) {
        return Budget::default();
    }
    let tokens = rng.spread(500, tokens_max);
    let budget = Budget::default();
    match rng.index(4) {
        0 => Budget { tokens: Some(tokens), ..budget },
        1 => Budget { turns: Some(1 + tokens / 400), ..budget },
        2 => Budget { cost_micros: Some(tokens * 3), ..budget },
        _ => Budget { wall_ms: Some(tokens), ..budget },
    }
}

fn wall(rng: &mut Rng) -> Budget {
    Budget { wall_ms: Some(rng.spread(500, 30_000)), ..Budget::default() }
}
