//! `relaymesh secret`

use crate::{
    agents,
    args::Context,
    error::{Code, Error},
    exit::Exit,
    output, root, secrets,
};
use clap::Subcommand;
use relaymesh_agents::Agents;
use relaymesh_core::name::Name;
use relaymesh_runtime::secrets::Secret;
use rustix::termios::{LocalModes, OptionalActions, tcgetattr, tcsetattr};
use serde_json::json;
use std::io::{self, IsTerminal as _, Read as _};

const EXAMPLES: &str = "\
Examples:
  relaymesh secret set openai              asks for the value, without showing it
  pass show openai | relaymesh secret set openai
  relaymesh secret list                    names, and which agents are given them
  relaymesh secret rm openai

In agents.toml:
  secrets = { OPENAI_API_KEY = \"openai\" }  # a variable of the agent
  input_secrets = [\"mail\"]                 # may stand in its input: {\"password\": {\"$secret\": \"mail\"}}";

const SET_EXAMPLES: &str = "\
Examples:
  relaymesh secret set openai                       asks for the value, without showing it
  relaymesh secret set openai < key.txt             a newline at the end is no part of it
  RELAYMESH_SECRET_KEY_FILE=/media/key relaymesh secret set openai";

const LIST_EXAMPLES: &str = "\
Examples:
  relaymesh secret list
  relaymesh secret list --json | jq -r '.[].name'";

const RM_EXAMPLES: &str = "\
Examples:
  relaymesh secret rm openai        agents that need it fail from now on, and say so";

/// More than the longest secret, so that a longer one is noticed.
const READ_BYTES_MAX: u64 = 1 << 20;

/// Texts that agents are given and nobody else sees
///
/// They are kept encrypted in the root, and resolved when an attempt begins. They are never in ops, contents, arguments or logs, and are taken
/// out of what an agent says. A value is never an argument of a command: others could see it.
#[derive(Debug, Subcommand)]
#[command(after_help = EXAMPLES)]
pub(crate) enum Command {
    /// Keep a secret, or another value for it; from stdin, or asked for in a terminal
    #[command(after_help = SET_EXAMPLES)]
    Set {
        /// What it is called
        name: Name,
    },
    /// Show the names
    #[command(after_help = LIST_EXAMPLES)]
    List,
    /// Forget a secret
    #[command(after_help = RM_EXAMPLES)]
    Rm {
        /// What it is called
        name: Name,
    },
}

pub(crate) fn run(command: &Command, context: &Context) -> Result<Exit, Error> {
    root::there(&context.root)?;
    let vault = secrets::vault(&context.root);
    let failed = |error| secrets::shown(&error);
    match command {
        Command::Set { name } => {
            let replaced = vault.set(name, value(name)?).map_err(failed)?;
            if context.json {
                output::value(&json!({ "name": name, "replaced": replaced }));
            } else {
                output::line(&format!("{name} {}", if replaced { "has another value" } else { "is kept" }));
            }
        }
        Command::List => list(&vault.names().map_err(failed)?, &agents::read(&context.root)?, context.json),
        Command::Rm { name } => {
            vault.remove(name).map_err(failed)?;
            if context.json {
                output::value(&json!({ "name": name, "removed": true }));
            } else {
                output::line(&format!("{name} is forgotten"));
            }
        }
    }
    Ok(Exit::Done)
}

fn list(names: &[Name], agents: &Agents, json: bool) {
    let users = |name: &Name| -> Vec<String> {
        let uses = agents.iter().filter(|(_, agent)| {
            agent.terms.secrets.values().any(|used| used == name) || agent.terms.input_secrets.contains(name)
        });
        uses.map(|(agent, _)| agent.to_string()).collect()
    };
    if json {
        output::value(&names.iter().map(|name| json!({ "name": name, "agents": users(name) })).collect());
        return;
    }
    let mut rows = vec![vec!["SECRET".to_owned(), "GIVEN TO".to_owned()]];
    rows.extend(names.iter().map(|name| {
        let users = users(name);
        vec![name.to_string(), if users.is_empty() { "nobody".to_owned() } else { users.join(", ") }]
    }));
    output::line(&output::table(&rows));
}

/// The value: typed without being shown, or all of stdin but for a newline at its end.
fn value(name: &Name) -> Result<Secret, Error> {
    let failed = |error: io::Error| Error::new(Code::StoreIo, format!("cannot read the value: {error}"));
    if io::stdin().is_terminal() {
        return typed(name).map_err(failed);
    }
    let mut bytes = Vec::new();
    io::stdin().lock().take(READ_BYTES_MAX).read_to_end(&mut bytes).map_err(failed)?;
    let text = String::from_utf8(bytes);
    let text =
        text.map_err(|_| Error::new(Code::BadSecret, "a secret is UTF-8 text: encode other bytes, in base64 perhaps"))?;
    let text = text.strip_suffix("\r\n").or_else(|| text.strip_suffix('\n')).unwrap_or(&text);
    Ok(Secret::new(text.to_owned()))
}

/// Asks in the terminal, which shows nothing meanwhile.
fn typed(name: &Name) -> io::Result<Secret> {
    let before = tcgetattr(io::stdin())?;
    let mut silent = before.clone();
    silent.local_modes -= LocalModes::ECHO;
    output::say(&format!("value of {name}: "));
    tcsetattr(io::stdin(), OptionalActions::Flush, &silent)?;
    let mut text = String::new();
    let read = io::stdin().read_line(&mut text);
    tcsetattr(io::stdin(), OptionalActions::Now, &before)?;
    output::note("");
    read?;
    Ok(Secret::new(text.trim_end_matches(['\n', '\r']).to_owned()))
}
