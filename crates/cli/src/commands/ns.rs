//! `relaymesh ns`

use crate::{
    args::Context,
    error::Error,
    exit::Exit,
    link::{self, Missing},
    output,
    progress::Progress,
    root, time,
};
use clap::Subcommand;
use relaymesh_core::{
    kernel::Rows,
    name::Name,
    namespace::{DEFAULT, Namespace},
};
use relaymesh_runtime::driver::{Answer, Command as DriverCommand};
use relaymesh_store::{Reader, TaskFilter};
use serde_json::json;
use std::collections::BTreeMap;

const EXAMPLES: &str = "\
Examples:
  relaymesh ns create team-a --about 'the first team'     make a place for somebody's work
  relaymesh ns list                                       who works in this root, and how much there is
  relaymesh submit --agent echo --namespace team-a        put something there
  export RELAYMESH_NAMESPACE=team-a                       and all commands are about it";

const PAGE: usize = 256;
/// How much of what is said about a namespace a list shows.
const ABOUT_CHARS: usize = 60;

/// Make namespaces and look at them
///
/// A namespace is made before it is used; `default` is always there. Idempotency keys, locks, messages and lists of one namespace know
/// nothing of the others.
#[derive(Debug, Subcommand)]
#[command(after_help = EXAMPLES)]
pub(crate) enum Command {
    /// List every namespace with its tasks, messages and locks
    #[command(after_help = EXAMPLES)]
    List,
    /// Make a namespace; one that is there stays as it is
    #[command(after_help = EXAMPLES)]
    Create {
        /// What it is called
        #[arg(value_name = "NAME")]
        name: Name,
        /// What it is for: one line of at most 500 characters
        #[arg(long, value_name = "TEXT", default_value = "")]
        about: String,
    },
}

/// A namespace: how it came to be, and how much there is of everything.
#[derive(Debug, Default)]
struct Listed {
    made: Option<Namespace>,
    tasks: u64,
    open_tasks: u64,
    messages: u64,
    open_messages: u64,
    locks: u64,
}

pub(crate) fn run(command: Command, context: &Context) -> Result<Exit, Error> {
    match command {
        Command::List => list(context),
        Command::Create { name, about } => create(context, name, about),
    }
}

fn create(context: &Context, name: Name, about: String) -> Result<Exit, Error> {
    let answer = link::once(context, Missing::Make, DriverCommand::CreateNamespace { name, about })?;
    let Answer::Namespace { name, is_new } = answer else { return Err(link::unexpected(&answer)) };
    if context.json {
        output::value(&json!({ "namespace": name, "created": is_new }));
    } else {
        output::line(name.as_str());
        output::note(if is_new { "created" } else { "it was there, and stays as it is" });
    }
    Ok(Exit::Done)
}

/// Works while another process writes.
fn list(context: &Context) -> Result<Exit, Error> {
    let found = find(&mut root::read(&context.root)?)?;
    if context.json {
        for (namespace, listed) in &found {
            let Listed { made, tasks, open_tasks, messages, open_messages, locks } = listed;
            let made = made.as_ref();
            output::line(
                &json!({
                    "namespace": namespace, "tasks": tasks, "open_tasks": open_tasks, "messages": messages,
                    "open_messages": open_messages, "locks": locks, "created_ms": made.map(|made| made.created_ms),
                    "author": made.map(|made| &made.author), "about": made.map(|made| &made.about),
                })
                .to_string(),
            );
        }
        return Ok(Exit::Done);
    }
    let head = ["NAMESPACE", "TASKS", "OPEN", "MESSAGES", "OPEN", "LOCKS", "CREATED", "ABOUT"];
    let mut lines = vec![head.map(str::to_owned).to_vec()];
    lines.extend(found.iter().map(|(namespace, listed)| line(namespace, listed)));
    output::rows(&lines);
    Ok(Exit::Done)
}

fn line(namespace: &Name, listed: &Listed) -> Vec<String> {
    let Listed { made, tasks, open_tasks, messages, open_messages, locks } = listed;
    let numbers = [tasks, open_tasks, messages, open_messages, locks].map(u64::to_string);
    let (created, about) = match made {
        Some(made) => (time::rfc3339(made.created_ms), output::short(&made.about, ABOUT_CHARS)),
        None => ("-".to_owned(), String::new()),
    };
    std::iter::once(namespace.to_string()).chain(numbers).chain([created, about]).collect()
}

/// Every namespace that was made, the one that is always there, and those that something is in all the same.
fn find(reader: &mut impl Reader) -> Result<BTreeMap<Name, Listed>, Error> {
    let mut found: BTreeMap<Name, Listed> = BTreeMap::new();
    found.extend(DEFAULT.parse().ok().map(|default| (default, Listed::default())));
    let mut progress = Progress::new("looked at tasks:", reader.counts()?.0);
    let (mut before, mut seen) = (None, 0);
    loop {
        let page = reader.tasks(&TaskFilter::default(), before, PAGE)?;
        let Some(last) = page.last() else { break };
        before = Some(last.key);
        seen += page.len() as u64;
        for task in page {
            let listed = found.entry(task.namespace).or_default();
            listed.tasks += 1;
            listed.open_tasks += u64::from(!task.status.is_terminal());
        }
        progress.tell(seen);
    }
    let mut after = None;
    loop {
        let page = reader.scopes(after, PAGE)?;
        let Some(last) = page.last() else { return Ok(found) };
        after = Some(*last);
        for scope in page {
            match reader.scope(scope)? {
                Some(Rows::Thread(rows)) => {
                    let listed = found.entry(rows.thread.namespace).or_default();
                    listed.messages += rows.messages.len() as u64;
                    let open = rows.messages.values().filter(|message| !message.state.is_terminal()).count();
                    listed.open_messages += open as u64;
                }
                Some(Rows::Repository(rows)) => {
                    found.entry(rows.repository.namespace).or_default().locks += rows.locks.len() as u64;
                }
                Some(Rows::Namespace(row)) => {
                    let listed = found.entry(row.name.clone()).or_default();
                    listed.made = Some(row);
                }
                Some(Rows::Task(_) | Rows::Purged(_)) | None => {}
            }
        }
    }
}
