//! `relaymesh agent`

mod add;
mod detect;
mod file;
mod list;
mod remove;
mod show;
mod test;
mod token;
mod version;

use crate::{args::Context, error::Error, exit::Exit};
use clap::Subcommand;
use relaymesh_agents::tool::Tool;
use relaymesh_api::view::agent::kind;

const EXAMPLES: &str = "\
Examples:
  relaymesh agent detect --write                        find and add Codex, Claude Code and others
  relaymesh agent add upper --command tr a-z A-Z        add a command (input on stdin)
  relaymesh agent add coder --tool codex --timeout 30m  add a tool
  relaymesh agent test upper                            run a test task and show the details
  relaymesh agent list

Agents are defined in agents.toml in the root, which you can also edit:
  [agents.upper]
  command = [\"python3\", \"upper.py\"]    # input on stdin, result on stdout, progress on stderr
  concurrency = 2

  [agents.gpt]                             # an agent reached by HTTP
  url = \"https://api.openai.com/v1/responses\"
  api = \"responses\"                      # or chat, messages, json (your own server)
  model = \"gpt-5\"
  key = \"openai\"                         # after `relaymesh secret set openai`";

/// Manage agents
#[derive(Debug, Subcommand)]
#[command(after_help = EXAMPLES)]
pub(crate) enum Command {
    List(list::Args),
    Show(show::Args),
    Add(Box<add::Args>),
    Remove(remove::Args),
    Detect(detect::Args),
    Test(test::Args),
    #[command(subcommand)]
    Token(token::Command),
}

pub(crate) fn run(command: &Command, context: &Context) -> Result<Exit, Error> {
    match command {
        Command::List(args) => list::run(args, context),
        Command::Show(args) => show::run(args, context),
        Command::Add(args) => add::run(args, context),
        Command::Remove(args) => remove::run(args, context),
        Command::Detect(args) => detect::run(args, context),
        Command::Test(args) => test::run(args, context),
        Command::Token(command) => token::run(command, context),
    }
}

/// The tools that are known here.
const TOOLS: [Tool; 5] = [Tool::Codex, Tool::Claude, Tool::Gemini, Tool::Opencode, Tool::Aider];
