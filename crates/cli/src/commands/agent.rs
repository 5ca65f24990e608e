//! `relaymesh agent`

use crate::{agents, args::Context, error::Error, exit::Exit, output};
use clap::Subcommand;
use relaymesh_runtime::builtin::{AGENTS, Builtin};
use serde_json::json;

const EXAMPLES: &str = "\
Examples:
  relaymesh agent list          the builtin agents, and those of agents.toml in the root

An agent of your own, in agents.toml:
  [agents.upper]
  command = [\"python3\", \"upper.py\"]    # input on stdin, result on stdout, progress on stderr
  concurrency = 2";

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
    if context.json {
        let builtin = AGENTS.iter().map(|(name, about)| json!({ "name": name, "kind": "builtin", "about": about }));
        let scripts = scripts.map(|(name, script)| {
            json!({
                "name": name, "kind": "script", "about": script.about,
                "command": script.command, "concurrency": script.concurrency,
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
        let about = if script.about.is_empty() { script.command.join(" ") } else { script.about.clone() };
        vec![name.to_string(), "script".to_owned(), script.concurrency.to_string(), about]
    }));
    output::line(&output::table(&rows));
    Ok(Exit::Done)
}
