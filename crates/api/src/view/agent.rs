//! Agents: the builtin ones and those of the root.

use crate::time;
use relaymesh_agents::{Agent, Agents, Kind, Protocol};
use relaymesh_core::name::Name;
use relaymesh_runtime::{
    builtin::{AGENTS, Builtin},
    rate_limits,
};
use serde::{Deserialize, Serialize};
use std::{collections::BTreeMap, path::Path};
use utoipa::ToSchema;

/// An agent. Built-in agents have only `name`, `kind` and `about`; agents of agents.toml also have provider, command, url, concurrency,
/// labels, held_until, held_until_ms and held_because.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, ToSchema)]
#[schema(as = Agent)]
pub struct Shown {
    /// Name.
    pub name: String,
    /// `builtin`, `script`, `http`, `inbox`, or the name of a tool.
    pub kind: String,
    /// Description.
    pub about: String,
    /// Details of an agent of agents.toml.
    #[serde(flatten)]
    #[schema(value_type = super::schema::AgentDetails)]
    pub own: Option<Own>,
}

/// An agent of the root.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct Own {
    /// Who answers for its limits.
    pub provider: String,
    /// What is run.
    pub command: Vec<String>,
    /// Where it is reached.
    pub url: Option<String>,
    /// How many at once; null if nothing runs here.
    pub concurrency: Option<usize>,
    /// What people say about it.
    pub labels: BTreeMap<Name, String>,
    /// Until when it gets no work.
    pub held_until: Option<String>,
    /// The same in milliseconds since 1970.
    pub held_until_ms: Option<u64>,
    /// Why.
    pub held_because: Option<String>,
}

/// All agents.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, ToSchema)]
#[schema(as = AgentList)]
pub struct All {
    /// The agents, built-in ones first.
    pub agents: Vec<Shown>,
}

impl Shown {
    /// Leaves what is for those who see the whole root: how it is run, where it is reached, and why it is held.
    pub fn narrow(&mut self) {
        if let Some(own) = &mut self.own {
            (own.command, own.url, own.held_because) = (Vec::new(), None, None);
        }
    }
}

/// Every agent, the builtin ones first.
pub fn list(agents: &Agents, root: &Path) -> Vec<Shown> {
    let entries = rate_limits::entries(root).unwrap_or_default();
    let builtin = AGENTS.iter().map(|(name, about)| Shown {
        name: (*name).to_owned(),
        kind: "builtin".to_owned(),
        about: (*about).to_owned(),
        own: None,
    });
    let own = agents.iter().filter(|(name, _)| !Builtin::knows(name));
    let own = own.map(|(name, agent)| {
        let entry = rate_limits::of(&entries, name, &agent.terms.provider);
        let own = Own {
            provider: agent.terms.provider.clone(),
            command: agent.process().map(|process| process.command.clone()).unwrap_or_default(),
            url: agent.http().map(|http| http.shown_url().into_owned()),
            concurrency: agent.terms.concurrency,
            labels: agent.terms.labels.clone(),
            held_until: entry.map(|entry| time::rfc3339(entry.until_ms)),
            held_until_ms: entry.map(|entry| entry.until_ms),
            held_because: entry.map(|entry| entry.reason.clone()),
        };
        Shown { name: name.to_string(), kind: kind(agent).to_owned(), about: agent.terms.about.clone(), own: Some(own) }
    });
    builtin.chain(own).collect()
}

/// What sort of agent it is, for people: the tool itself says more than `cli`.
pub fn kind(agent: &Agent) -> &'static str {
    match &agent.kind {
        Kind::Process(process) => match &process.protocol {
            Protocol::Plain { .. } => "script",
            Protocol::Tool(setup) => setup.tool.program(),
        },
        Kind::Http(_) => "http",
        Kind::Inbox => "inbox",
    }
}
