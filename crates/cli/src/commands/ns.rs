//! `relaymesh ns`

use crate::{args::Context, error::Error, exit::Exit, output, progress::Progress, root};
use clap::Subcommand;
use relaymesh_core::{kernel::Rows, name::Name};
use relaymesh_store::{Reader, TaskFilter};
use serde_json::json;
use std::collections::BTreeMap;

const EXAMPLES: &str = "\
Examples:
  relaymesh ns list                                       who works in this root, and how much there is
  relaymesh submit --agent echo --namespace team-a        a namespace is there once something is in it
  export RELAYMESH_NAMESPACE=team-a                       and all commands are about it";

const PAGE: usize = 256;

/// Look at the namespaces of this root
///
/// A namespace is there as soon as something is in it: it need not be made. Idempotency keys, locks, messages and lists of one
/// namespace know nothing of the others.
#[derive(Debug, clap::Args)]
#[command(subcommand_required = true, arg_required_else_help = true, after_help = EXAMPLES)]
pub(crate) struct Args {
    #[command(subcommand)]
    command: Command,
}

#[derive(Debug, Subcommand)]
enum Command {
    /// List every namespace with its tasks, messages and locks
    #[command(after_help = EXAMPLES)]
    List,
}

/// How much there is of everything.
#[derive(Debug, Default)]
struct Counts {
    tasks: u64,
    open_tasks: u64,
    messages: u64,
    open_messages: u64,
    locks: u64,
}

pub(crate) fn run(args: &Args, context: &Context) -> Result<Exit, Error> {
    let Command::List = args.command;
    let counted = count(&mut root::read(&context.root)?)?;
    if context.json {
        for (namespace, counts) in &counted {
            let Counts { tasks, open_tasks, messages, open_messages, locks } = counts;
            output::line(
                &json!({
                    "namespace": namespace, "tasks": tasks, "open_tasks": open_tasks, "messages": messages,
                    "open_messages": open_messages, "locks": locks,
                })
                .to_string(),
            );
        }
        return Ok(Exit::Done);
    }
    let mut lines = vec![["NAMESPACE", "TASKS", "OPEN", "MESSAGES", "OPEN", "LOCKS"].map(str::to_owned).to_vec()];
    lines.extend(counted.iter().map(|(namespace, counts)| {
        let Counts { tasks, open_tasks, messages, open_messages, locks } = counts;
        let numbers = [tasks, open_tasks, messages, open_messages, locks].map(u64::to_string);
        std::iter::once(namespace.to_string()).chain(numbers).collect()
    }));
    output::rows(&lines);
    Ok(Exit::Done)
}

fn count(reader: &mut impl Reader) -> Result<BTreeMap<Name, Counts>, Error> {
    let mut found: BTreeMap<Name, Counts> = BTreeMap::new();
    let mut progress = Progress::new("looked at tasks:", reader.counts()?.0);
    let (mut before, mut seen) = (None, 0);
    loop {
        let page = reader.tasks(&TaskFilter::default(), before, PAGE)?;
        let Some(last) = page.last() else { break };
        before = Some(last.key);
        seen += page.len() as u64;
        for task in page {
            let counts = found.entry(task.namespace).or_default();
            counts.tasks += 1;
            counts.open_tasks += u64::from(!task.status.is_terminal());
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
                    let counts = found.entry(rows.thread.namespace).or_default();
                    counts.messages += rows.messages.len() as u64;
                    let open = rows.messages.values().filter(|message| !message.state.is_terminal()).count();
                    counts.open_messages += open as u64;
                }
                Some(Rows::Repository(rows)) => {
                    found.entry(rows.repository.namespace).or_default().locks += rows.locks.len() as u64;
                }
                Some(Rows::Task(_) | Rows::Purged(_)) | None => {}
            }
        }
    }
}
