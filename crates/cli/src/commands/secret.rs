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
  relaymesh secret set openai              prompt for the value, without echo
  pass show openai | relaymesh secret set openai
  relaymesh secret list                    list names, and the agents that use them
  relaymesh secret rm openai

In agents.toml:
  secrets = { OPENAI_API_KEY = \"openai\" }  # environment variable of the agent
  input_secrets = [\"mail\"]                 # allowed in its input: {\"password\": {\"$secret\": \"mail\"}}";

const SET_EXAMPLES: &str = "\
Examples:
  relaymesh secret set openai                       prompt for the value, without echo
  relaymesh secret set openai < key.txt             a newline at the end is dropped
  RELAYMESH_SECRET_KEY_FILE=/media/key relaymesh secret set openai";

const LIST_EXAMPLES: &str = "\
Examples:
  relaymesh secret list
  relaymesh secret list --json | jq -r '.[].name'";

const RM_EXAMPLES: &str = "\
Examples:
  relaymesh secret rm openai        attempts of agents that need it then fail";

/// More than the longest secret, so that a longer one is noticed.
const READ_BYTES_MAX: u64 = 1 << 20;

/// Manage secrets: values that only agents receive
///
/// Secrets are stored encrypted in the root and resolved when an attempt starts. They are never written to the log,
/// to inputs and results, to arguments or to log files, and are removed from the output of agents. Values are read
/// from stdin or a prompt, because other users can see the arguments of a command.
#[derive(Debug, Subcommand)]
#[command(after_help = EXAMPLES)]
pub(crate) enum Command {
    /// Set a secret, from stdin or a prompt
    #[command(after_help = SET_EXAMPLES)]
    Set {
        /// Name of the secret
        name: Name,
    },
    /// List the names of secrets
    #[command(after_help = LIST_EXAMPLES)]
    List,
    /// Remove a secret
    #[command(after_help = RM_EXAMPLES)]
    Rm {
        /// Name of the secret
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
                output::line(&format!("{} {name}", if replaced { "replaced" } else { "set" }));
            }
        }
        Command::List => list(&vault.names().map_err(failed)?, &agents::read(&context.root)?, context.json),
        Command::Rm { name } => {
            vault.remove(name).map_err(failed)?;
            if context.json {
                output::value(&json!({ "name": name, "removed": true }));
            } else {
                output::line(&format!("removed {name}"));
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
    let mut rows = vec![vec!["SECRET".to_owned(), "USED BY".to_owned()]];
    rows.extend(names.iter().map(|name| {
        let users = users(name);
        vec![name.to_string(), if users.is_empty() { "-".to_owned() } else { users.join(", ") }]
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
    let text = text.map_err(|_| {
        Error::new(Code::BadSecret, "a secret must be UTF-8 text: encode other bytes, for example in base64")
    })?;
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
