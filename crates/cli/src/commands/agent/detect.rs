//! `relaymesh agent detect`

use super::{TOOLS, file::Sheet, version};
use crate::{agents, args::Context, error::Error, exit::Exit, output, root};
use relaymesh_agents::{Agents, config::FILE, program, tool::Tool};
use relaymesh_core::name::Name;
use serde_json::json;
use std::path::PathBuf;
use toml_edit::{Table, value};

const EXAMPLES: &str = "\
Examples:
  relaymesh agent detect              list installed tools
  relaymesh agent detect --write      add those that are missing in agents.toml
  relaymesh agent test codex          test one; it must be logged in";

/// Find installed agent tools: Codex, Claude Code, Gemini CLI, opencode, aider
#[derive(Debug, clap::Args)]
#[command(after_help = EXAMPLES)]
pub(crate) struct Args {
    /// Add the missing ones to agents.toml
    #[arg(long)]
    write: bool,
}

struct Found {
    tool: Tool,
    program: Option<PathBuf>,
    version: Option<String>,
    /// The agent that is this tool.
    agent: Option<Name>,
    is_new: bool,
}

pub(crate) fn run(args: &Args, context: &Context) -> Result<Exit, Error> {
    let agents = if root::exists(&context.root) { agents::read(&context.root)? } else { Agents::default() };
    let mut found: Vec<Found> = TOOLS.iter().map(|tool| look(*tool, &agents)).collect();
    let is_missing = |one: &Found| one.program.is_some() && one.agent.is_none();
    if args.write && found.iter().any(is_missing) {
        let mut sheet = Sheet::open_or_create(context)?;
        for one in found.iter_mut().filter(|one| is_missing(one)) {
            let name: Name = one.tool.program().parse().expect("a tool's name is a name");
            if !sheet.has(&name) {
                let mut entry = Table::new();
                entry.insert("tool", value(one.tool.program()));
                sheet.put(&name, entry)?;
                (one.agent, one.is_new) = (Some(name), true);
            }
        }
        if found.iter().any(|one| one.is_new) {
            sheet.write()?;
        }
    }
    if context.json {
        output::value(&found.iter().map(json_of).collect());
        return Ok(Exit::Done);
    }
    let mut rows = vec![["TOOL", "VERSION", "AGENT", "WHERE"].map(str::to_owned).to_vec()];
    rows.extend(found.iter().map(row));
    output::line(&output::table(&rows));
    if !args.write && found.iter().any(|one| one.program.is_some() && one.agent.is_none()) {
        output::note(&format!("add the missing ones to {FILE} with `relaymesh agent detect --write`"));
    }
    Ok(Exit::Done)
}

fn look(tool: Tool, agents: &Agents) -> Found {
    let program = program(tool.program());
    let version = program.as_deref().and_then(version::of);
    let agent = agents
        .iter()
        .find(|(_, agent)| agent.tool().is_some_and(|setup| setup.tool == tool))
        .map(|(name, _)| name.clone());
    Found { tool, program, version, agent, is_new: false }
}

fn json_of(one: &Found) -> serde_json::Value {
    json!({
        "tool": one.tool.program(), "program": one.program, "version": one.version, "agent": one.agent, "written": one.is_new,
    })
}

fn row(one: &Found) -> Vec<String> {
    let or = |text: Option<String>| text.unwrap_or_else(|| "-".to_owned());
    let agent = one.agent.as_ref().map(|name| if one.is_new { format!("{name} (new)") } else { name.to_string() });
    let place = one.program.as_ref().map_or_else(|| "not on PATH".to_owned(), |path| path.display().to_string());
    vec![one.tool.program().to_owned(), or(one.version.clone()), or(agent), place]
}
