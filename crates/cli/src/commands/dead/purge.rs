//! `relaymesh dead purge`

use super::find::{Chosen, What};
use crate::{
    args::Context,
    client::scope,
    commands::purge::{confirm, purged},
    error::Error,
    exit::Exit,
    output,
};
use relaymesh_core::op::Scope;
use std::collections::BTreeSet;

const EXAMPLES: &str = "\
Examples:
  relaymesh dead purge tsk_01KH…            ask for confirmation, then purge it
  relaymesh dead purge --before 30d --yes   for scripts
  relaymesh log compact                     then remove the ops, inputs and results of purged tasks";

/// Purge failed tasks and messages
///
/// A purged task no longer appears in lists, and its idempotency key is free. A message is purged with its whole
/// thread, and only if no message of the thread is waiting. The log records the purge.
#[derive(Debug, clap::Args)]
#[command(after_help = EXAMPLES)]
pub(crate) struct Args {
    #[command(flatten)]
    chosen: Chosen,
    /// Do not ask for confirmation
    #[arg(long)]
    yes: bool,
}

pub(crate) fn run(args: &Args, context: &Context) -> Result<Exit, Error> {
    let client = context.client();
    let (found, gone) = args.chosen.find_left(&*client)?;
    let mut seen = BTreeSet::new();
    let all = found.iter().filter_map(|dead| dead.ids.what());
    let all: Vec<What> = all.filter(|what| seen.insert(scope(*what))).collect();
    let scopes: Vec<Scope> = all.iter().map(|what| scope(*what)).collect();
    if scopes.is_empty() {
        return Ok(purged(context, 0, &gone));
    }
    confirm(args.yes, || counted(&scopes))?;
    let outcome = client.purge(&all, &mut |what, done| {
        if let Err(error) = done {
            output::note(&format!("cannot purge {}: {}", scope(what), error.message));
        }
    })?;
    let count = outcome.count("purged")?;
    Ok(purged(context, count, &gone))
}

fn counted(scopes: &[Scope]) -> String {
    let threads = scopes.iter().filter(|scope| matches!(scope, Scope::Thread(_))).count();
    let tasks = output::counted(scopes.len() - threads, "task");
    format!("{tasks} and {} with all their messages", output::counted(threads, "thread"))
}
