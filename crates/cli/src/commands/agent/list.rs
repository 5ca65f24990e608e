//! `relaymesh agent list`

use super::kind;
use crate::{agents, args::Context, error::Error, exit::Exit, output, time};
use relaymesh_agents::{Agents, Script};
use relaymesh_api::view::agent;
use relaymesh_core::name::Name;
use relaymesh_runtime::{
    builtin::{AGENTS, Builtin},
    held,
};

const EXAMPLES: &str = "\
Examples:
  relaymesh agent list                    the builtin agents, and those of agents.toml in the root
  relaymesh agent list --label team=a     those with this label
  relaymesh agent list --json | jq -r '.[] | select(.held_until) | .name'";

/// Show every agent
#[derive(Debug, clap::Args)]
#[command(after_help = EXAMPLES)]
pub(crate) struct Args {
    /// Only agents with this label; several must all be there
    #[arg(long, value_name = "NAME=VALUE")]
    label: Vec<String>,
}

impl Args {
    fn wants(&self, script: &Script) -> bool {
        self.label.iter().all(|label| {
            let (name, value) =
                label.split_once('=').map_or((label.as_str(), None), |(name, value)| (name, Some(value)));
            let mut found = script.labels.iter().filter(|(known, _)| known.as_str() == name);
            found.any(|(_, known)| value.is_none_or(|value| value == known))
        })
    }
}

pub(crate) fn run(args: &Args, context: &Context) -> Result<Exit, Error> {
    let agents = agents::read(&context.root)?;
    let scripts = agents.iter().filter(|(name, script)| !Builtin::knows(name) && args.wants(script));
    let builtin = AGENTS.iter().filter(|_| args.label.is_empty());
    let entries = held::entries(&context.root).unwrap_or_default();
    let held = |name: &Name, script: &Script| held::of(&entries, name, &Agents::provider(name, script));
    if context.json {
        let wanted = |script: Option<&Script>| script.map_or(args.label.is_empty(), |script| args.wants(script));
        output::value(&agent::list(&agents, &context.root, wanted).into());
        return Ok(Exit::Done);
    }
    let mut rows = vec![["AGENT", "KIND", "AT ONCE", "ABOUT"].map(str::to_owned).to_vec()];
    rows.extend(builtin.map(|(name, about)| {
        ["", "builtin", "-", *about]
            .map(str::to_owned)
            .map(|cell| if cell.is_empty() { (*name).to_owned() } else { cell })
            .to_vec()
    }));
    rows.extend(scripts.map(|(name, script)| {
        let usual = || script.place().unwrap_or_else(|| script.command.join(" "));
        let about = if script.about.is_empty() { usual() } else { script.about.clone() };
        let about = held(name, script).map_or(about, |entry| {
            format!("held until {}: {}", time::rfc3339(entry.until_ms), output::clean(&entry.reason))
        });
        vec![name.to_string(), kind(script).to_owned(), script.concurrency.to_string(), about]
    }));
    output::line(&output::table(&rows));
    Ok(Exit::Done)
}
