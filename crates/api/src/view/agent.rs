//! Agents: the builtin ones and those of the root.

use crate::time;
use relaymesh_agents::{Agents, Script};
use relaymesh_core::name::Name;
use relaymesh_runtime::{
    builtin::{AGENTS, Builtin},
    held,
};
use serde::{Deserialize, Serialize};
use std::{collections::BTreeMap, path::Path};
use utoipa::ToSchema;

/// An agent as it is shown. Builtin ones have a name, a kind and what they are about; those of the root also provider, command, url, concurrency,
/// labels, held_until, held_until_ms and held_because.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, ToSchema)]
#[schema(as = Agent)]
pub struct Shown {
    /// What it is called.
    pub name: String,
    /// `builtin`, `script`, `http`, `inbox`, or the tool that it is.
    pub kind: String,
    /// What it is for.
    pub about: String,
    /// What there is to say about one of the root's own.
    #[serde(flatten)]
    #[schema(value_type = Object)]
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
    /// How many at once.
    pub concurrency: usize,
    /// What people say about it.
    pub labels: BTreeMap<Name, String>,
    /// Until when it gets no work.
    pub held_until: Option<String>,
    /// The same in milliseconds since 1970.
    pub held_until_ms: Option<u64>,
    /// Why.
    pub held_because: Option<String>,
}

/// Every agent that is known.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, ToSchema)]
#[schema(as = Agents)]
pub struct All {
    /// Builtin ones first.
    pub agents: Vec<Shown>,
}

/// Every agent, the builtin ones first.
pub fn list(agents: &Agents, root: &Path) -> Vec<Shown> {
    let entries = held::entries(root).unwrap_or_default();
    let builtin = AGENTS.iter().map(|(name, about)| Shown {
        name: (*name).to_owned(),
        kind: "builtin".to_owned(),
        about: (*about).to_owned(),
        own: None,
    });
    let scripts = agents.iter().filter(|(name, _)| !Builtin::knows(name));
    let scripts = scripts.map(|(name, script)| {
        let entry = held::of(&entries, name, &Agents::provider(name, script));
        let own = Own {
            provider: Agents::provider(name, script),
            command: script.command.clone(),
            url: script.place(),
            concurrency: script.concurrency,
            labels: script.labels.clone(),
            held_until: entry.map(|entry| time::rfc3339(entry.until_ms)),
            held_until_ms: entry.map(|entry| entry.until_ms),
            held_because: entry.map(|entry| entry.reason.clone()),
        };
        Shown { name: name.to_string(), kind: kind(script).to_owned(), about: script.about.clone(), own: Some(own) }
    });
    builtin.chain(scripts).collect()
}

/// What sort of agent it is, for people: the tool itself says more than `cli`.
pub fn kind(script: &Script) -> &'static str {
    match script.tool {
        _ if script.inbox => "inbox",
        _ if script.http.is_some() => "http",
        Some(tool) => tool.program(),
        None => "script",
    }
}
