//! Agents: the builtin ones and those of the root.

use crate::time;
use relaymesh_agents::{Agents, Script};
use relaymesh_runtime::{
    builtin::{AGENTS, Builtin},
    held,
};
use serde_json::{Value, json};
use std::path::Path;

/// Every agent that is wanted. Builtin ones have no script.
pub fn list(agents: &Agents, root: &Path, wanted: impl Fn(Option<&Script>) -> bool) -> Vec<Value> {
    let entries = held::entries(root).unwrap_or_default();
    let builtin = AGENTS.iter().filter(|_| wanted(None));
    let builtin = builtin.map(|(name, about)| json!({ "name": name, "kind": "builtin", "about": about }));
    let scripts = agents.iter().filter(|(name, script)| !Builtin::knows(name) && wanted(Some(script)));
    let scripts = scripts.map(|(name, script)| {
        let entry = held::of(&entries, name, &Agents::provider(name, script));
        json!({
            "name": name, "kind": kind(script), "about": script.about, "provider": Agents::provider(name, script),
            "command": script.command, "url": script.place(), "concurrency": script.concurrency, "labels": script.labels,
            "held_until": entry.map(|entry| time::rfc3339(entry.until_ms)),
            "held_until_ms": entry.map(|entry| entry.until_ms),
            "held_because": entry.map(|entry| &entry.reason),
        })
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
