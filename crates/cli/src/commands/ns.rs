//! `relaymesh ns`

use crate::{args::Context, error::Error, exit::Exit, output, time};
use clap::Subcommand;
use relaymesh_api::view::namespace::Shown;
use relaymesh_core::name::Name;
use serde_json::json;

const EXAMPLES: &str = "\
Examples:
  relaymesh ns create team-a --about 'the first team'     create a namespace
  relaymesh ns list                                       list namespaces with their contents
  relaymesh submit --agent echo --namespace team-a        submit a task to it
  export RELAYMESH_NAMESPACE=team-a                       use it for all commands";

/// How much of what is said about a namespace a list shows.
const ABOUT_CHARS: usize = 60;

/// Create and list namespaces
///
/// Create a namespace before using it; `default` always exists. Tasks, idempotency keys, locks and messages of a
/// namespace are separate from those of all others.
#[derive(Debug, Subcommand)]
#[command(after_help = EXAMPLES)]
pub(crate) enum Command {
    /// List namespaces with their tasks, messages and locks
    #[command(after_help = EXAMPLES)]
    List,
    /// Create a namespace; an existing one is not changed
    #[command(after_help = EXAMPLES)]
    Create {
        /// Name of the namespace
        #[arg(value_name = "NAME")]
        name: Name,
        /// Description: one line of at most 500 characters
        #[arg(long, value_name = "TEXT", default_value = "")]
        about: String,
    },
}

pub(crate) fn run(command: Command, context: &Context) -> Result<Exit, Error> {
    match command {
        Command::List => list(context),
        Command::Create { name, about } => create(context, name, about),
    }
}

fn create(context: &Context, name: Name, about: String) -> Result<Exit, Error> {
    let made = context.client().create_namespace(name, about)?;
    if context.json {
        output::value(&json!(made));
    } else {
        output::line(made.namespace.as_str());
        output::note(if made.created { "created" } else { "it already exists; nothing changed" });
    }
    Ok(Exit::Done)
}

/// Can be used while another process writes.
fn list(context: &Context) -> Result<Exit, Error> {
    let found = context.client().namespaces()?;
    if context.json {
        found.iter().for_each(|shown| output::line(&json!(shown).to_string()));
        return Ok(Exit::Done);
    }
    let head = ["NAMESPACE", "TASKS", "OPEN", "MESSAGES", "OPEN", "LOCKS", "CREATED", "ABOUT"];
    let mut lines = vec![head.map(str::to_owned).to_vec()];
    lines.extend(found.iter().map(line));
    output::rows(&lines);
    Ok(Exit::Done)
}

fn line(shown: &Shown) -> Vec<String> {
    let Shown { namespace, tasks, open_tasks, messages, open_messages, locks, .. } = shown;
    let numbers = [tasks, open_tasks, messages, open_messages, locks].map(u64::to_string);
    let created = shown.created_ms.map_or_else(|| "-".to_owned(), time::rfc3339);
    let about = output::short(shown.about.as_deref().unwrap_or_default(), ABOUT_CHARS);
    std::iter::once(namespace.to_string()).chain(numbers).chain([created, about]).collect()
}
