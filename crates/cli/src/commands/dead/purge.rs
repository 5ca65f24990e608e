//! `relaymesh dead purge`

use super::find::{Chosen, What};
use crate::{
    args::Context,
    client::scope,
    commands::purge::{confirm, purged},
    error::{Code, Error},
    exit::Exit,
    output,
};
use relaymesh_core::op::Scope;
use relaymesh_runtime::root_clock::RootClock;
use std::collections::BTreeSet;

const EXAMPLES: &str = "\
Examples:
  relaymesh dead purge tsk_01KH…                ask for confirmation, then purge it
  relaymesh dead purge --older-than 30d --yes   for scripts
  relaymesh log compact                         then remove their ops, inputs and results";

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
    if let (true, Some(problem)) = (args.chosen.is_by_age(), RootClock::glance(&context.root, 0).problem()) {
        // An age of 30 days is of this very clock.
        return Err(
            Error::new(Code::Refused, format!("not purged by age: {problem}")).hint("or name what to purge by its id")
        );
    }
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
