//! `relaymesh agent`

use crate::{agents, args::Context, error::Error, exit::Exit, output, time};
use clap::Subcommand;
use relaymesh_agents::{Agents, Script, tool::Tool};
use relaymesh_core::name::Name;
use relaymesh_runtime::{
    builtin::{AGENTS, Builtin},
    held,
};
use serde_json::json;

const EXAMPLES: &str = "\
Examples:
  relaymesh agent list          the builtin agents, and those of agents.toml in the root

An agent of your own, in agents.toml:
  [agents.upper]
  command = [\"python3\", \"upper.py\"]    # input on stdin, result on stdout, progress on stderr
  concurrency = 2

One that is reached by HTTP:
  [agents.gpt]
  url = \"https://api.openai.com/v1/responses\"
  api = \"responses\"                      # or chat, messages, json (your own server)
  model = \"gpt-5\"
  key = \"openai\"                         # after `relaymesh secret set openai`";

/// Who can do the work
#[derive(Debug, Subcommand)]
#[command(after_help = EXAMPLES)]
pub(crate) enum Command {
    /// Show every agent
    #[command(after_help = EXAMPLES)]
    List,
}

pub(crate) fn run(command: &Command, context: &Context) -> Result<Exit, Error> {
    let Command::List = command;
    let agents = agents::read(&context.root)?;
    let scripts = agents.iter().filter(|(name, _)| !Builtin::knows(name));
    let entries = held::entries(&context.root).unwrap_or_default();
    let held = |name: &Name, script: &Script| held::of(&entries, name, &Agents::provider(name, script));
    if context.json {
        let builtin = AGENTS.iter().map(|(name, about)| json!({ "name": name, "kind": "builtin", "about": about }));
        let scripts = scripts.map(|(name, script)| {
            let entry = held(name, script);
            json!({
                "name": name, "kind": kind(script), "about": script.about, "provider": Agents::provider(name, script),
                "command": script.command, "url": script.url, "concurrency": script.concurrency,
                "held_until": entry.map(|entry| time::rfc3339(entry.until_ms)),
                "held_because": entry.map(|entry| &entry.reason),
            })
        });
        output::value(&builtin.chain(scripts).collect());
        return Ok(Exit::Done);
    }
    let mut rows = vec![["AGENT", "KIND", "AT ONCE", "ABOUT"].map(str::to_owned).to_vec()];
    rows.extend(AGENTS.map(|(name, about)| {
        ["", "builtin", "-", about]
            .map(str::to_owned)
            .map(|cell| if cell.is_empty() { name.to_owned() } else { cell })
            .to_vec()
    }));
    rows.extend(scripts.map(|(name, script)| {
        let usual = || script.url.clone().unwrap_or_else(|| script.command.join(" "));
        let about = if script.about.is_empty() { usual() } else { script.about.clone() };
        let about = held(name, script).map_or(about, |entry| {
            format!("held until {}: {}", time::rfc3339(entry.until_ms), output::clean(&entry.reason))
        });
        vec![name.to_string(), kind(script).to_owned(), script.concurrency.to_string(), about]
    }));
    output::line(&output::table(&rows));
    Ok(Exit::Done)
}

/// What sort of agent it is.
fn kind(script: &Script) -> &'static str {
    if script.inbox {
        return "inbox";
    }
    let is_http = script.http.is_some();
    script.tool.map_or(if is_http { "http" } else { "script" }, Tool::program)
}
