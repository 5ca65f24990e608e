//! `relaymesh purge`

mod by_age;

use crate::{
    args::Context,
    error::{Code, Error},
    exit::Exit,
    link::{self, Missing},
    lookup, output, root, time,
};
use relaymesh_core::{id::ThreadId, op::Scope};
use relaymesh_runtime::{
    driver::{Command, LifeCommand},
    file_bus,
};
use relaymesh_store_sqlite::SqliteReader;
use serde_json::json;

const EXAMPLES: &str = "\
Examples:
  relaymesh purge                           purge what ended more than `done_retention_days` ago
  relaymesh purge --older-than 30d --yes    for scripts: do not ask for confirmation
  relaymesh purge tsk_01KH… thr_…           purge these
  relaymesh log compact                     then remove their ops, inputs and results";

/// Purge tasks that have ended, and threads without waiting messages
///
/// A purged task no longer appears in lists, and its idempotency key is free: an equal request runs again. The log
/// records the purge. Without ids, purges by age in all namespaces, and keeps a task at least as long as its
/// idempotency key (`idempotency_ttl_days` after its end); removes files of that age from `done/` and `dead/` of the file
/// bus too, but none that the bus does not know. With ids, purges them at any age.
#[derive(Debug, clap::Args)]
#[command(after_help = EXAMPLES)]
pub(crate) struct Args {
    /// Ids of tasks or threads; without ids, purge by age
    #[arg(value_name = "ID")]
    ids: Vec<String>,
    /// Purge what ended before this: an age (90s, 15m, 2h, 7d, 4w) or a time [default: the setting
    /// `done_retention_days`]
    #[arg(long, value_name = "AGE", value_parser = time::parse, conflicts_with = "ids")]
    older_than: Option<u64>,
    /// The older spelling of `--older-than`, in days
    #[arg(long, value_name = "N", hide = true, conflicts_with_all = ["ids", "older_than"])]
    days: Option<u64>,
    /// Do not ask for confirmation
    #[arg(long)]
    yes: bool,
}

pub(crate) fn run(args: &Args, context: &Context) -> Result<Exit, Error> {
    if args.ids.is_empty() {
        return by_age::run(args, context);
    }
    let mut reader = root::read(&context.root)?;
    let scopes = args.ids.iter().map(|text| scope(&mut reader, text)).collect::<Result<Vec<_>, _>>()?;
    confirm(args.yes, || format!("{} tasks or threads", scopes.len()))?;
    let count = link::with(context, Missing::Refuse, |ask| {
        for scope in &scopes {
            ask(Command::Life(LifeCommand::Purge { scope: *scope }))?;
        }
        Ok(scopes.len() as u64)
    })?;
    Ok(purged(context, count))
}

/// Removes what the file bus accepted or refused up to then.
pub(super) fn sweep_bus(context: &Context, until_ms: u64) -> Result<(), Error> {
    let swept = file_bus::sweep(&context.root, until_ms).map_err(|error| {
        Error::new(
            Code::StoreIo,
            format!("cannot remove old files of the file bus in {}: {error}", context.root.display()),
        )
    })?;
    if swept.files > 0 {
        output::note(&format!("removed {} old files from done/ and dead/ of the file bus", swept.files));
    }
    if swept.unknown > 0 {
        let unknown = swept.unknown;
        output::note(&format!(
            "kept {unknown} old files in done/ and dead/ that the file bus does not know; delete them yourself"
        ));
    }
    Ok(())
}

/// The task or thread with this id.
fn scope(reader: &mut SqliteReader, text: &str) -> Result<Scope, Error> {
    if let Ok(thread) = text.parse::<ThreadId>() {
        return Ok(Scope::Thread(thread));
    }
    lookup::task(reader, text).map(|rows| Scope::Task(rows.task.id))
}

/// Says how many are gone.
pub(in crate::commands) fn purged(context: &Context, count: u64) -> Exit {
    if context.json {
        output::value(&json!({ "purged": count }));
    } else {
        output::line(&format!("purged {count}"));
        if count > 0 {
            output::note("  next: remove their ops, inputs and results with `relaymesh log compact`");
        }
    }
    Exit::Done
}

/// Makes sure that somebody wants it.
pub(in crate::commands) fn confirm(yes: bool, what: impl FnOnce() -> String) -> Result<(), Error> {
    if yes {
        return Ok(());
    }
    let what = what();
    if output::is_interactive() && output::ask(&format!("purge {what}?")) {
        return Ok(());
    }
    let message = format!("this would purge {what} for good, and needs confirmation");
    Err(Error::new(Code::NotConfirmed, message).hint("confirm with `--yes`"))
}
