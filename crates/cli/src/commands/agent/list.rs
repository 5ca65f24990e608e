//! `relaymesh agent list`

use crate::{args::Context, error::Error, exit::Exit, output, time};
use relaymesh_api::view::agent::{Own, Shown};
use serde_json::json;

const EXAMPLES: &str = "\
Examples:
  relaymesh agent list                    list built-in agents and those of agents.toml
  relaymesh agent list --label team=a     only agents with this label
  relaymesh agent list --json | jq -r '.[] | select(.held_until) | .name'";

/// List agents
#[derive(Debug, clap::Args)]
#[command(after_help = EXAMPLES)]
pub(crate) struct Args {
    /// Only agents with this label (repeatable; all must match)
    #[arg(long, value_name = "NAME=VALUE")]
    label: Vec<String>,
}

impl Args {
    fn wants(&self, agent: &Shown) -> bool {
        self.label.iter().all(|label| {
            let (name, value) =
                label.split_once('=').map_or((label.as_str(), None), |(name, value)| (name, Some(value)));
            let labels = agent.own.iter().flat_map(|own| &own.labels);
            let mut found = labels.filter(|(known, _)| known.as_str() == name);
            found.any(|(_, known)| value.is_none_or(|value| value == known))
        })
    }
}

pub(crate) fn run(args: &Args, context: &Context) -> Result<Exit, Error> {
    let mut found = context.client().agents()?;
    found.retain(|agent| args.wants(agent));
    if context.json {
        output::value(&json!(found));
        return Ok(Exit::Done);
    }
    let mut rows = vec![["AGENT", "KIND", "AT ONCE", "ABOUT"].map(str::to_owned).to_vec()];
    rows.extend(found.into_iter().map(|agent| {
        let Shown { name, kind, about, own } = agent;
        let at_once =
            own.as_ref().and_then(|own| own.concurrency).map_or_else(|| "-".to_owned(), |most| most.to_string());
        let usual = |own: &Own| own.url.clone().unwrap_or_else(|| own.command.join(" "));
        let about = if about.is_empty() { own.as_ref().map(usual).unwrap_or_default() } else { about };
        let held = own.and_then(|own| Some((own.held_until_ms?, own.held_because?)));
        let about = held.map_or(about, |(until_ms, because)| {
            format!("held until {}: {}", time::rfc3339(until_ms), output::clean(&because))
        });
        vec![name, kind, at_once, about]
    }));
    output::line(&output::table(&rows));
    Ok(Exit::Done)
}
