//! `relaymesh purge`

use crate::{
    args::Context,
    error::{Code, Error},
    exit::Exit,
    link::{self, Missing},
    lookup, output, root, settings, time,
};
use relaymesh_core::{id::ThreadId, op::Scope};
use relaymesh_runtime::{
    driver::{Command, LifeCommand},
    upkeep::{self, Retention},
};
use relaymesh_store_sqlite::SqliteReader;
use serde_json::json;

const EXAMPLES: &str = "\
Examples:
  relaymesh purge                     what ended more than `done_retention_days` ago; asks first
  relaymesh purge --days 30 --yes     for scripts
  relaymesh purge tsk_01KH… thr_…     these, now
  relaymesh log compact               then let go of their ops, inputs and results";

/// Forget tasks that have ended and threads in which nothing waits
///
/// They are gone from lists, and their idempotency keys are free: an equal request runs again. That they were purged
/// stays on the log. By age, all namespaces are swept, and a task is kept at least as long as its key (`idempotency_ttl_days` from its
/// end); one that is named goes at once.
#[derive(Debug, clap::Args)]
#[command(after_help = EXAMPLES)]
pub(crate) struct Args {
    /// Ids of tasks or threads; without one, by age
    #[arg(value_name = "ID")]
    ids: Vec<String>,
    /// What ended more than this many days ago
    #[arg(long, value_name = "N", conflicts_with = "ids")]
    days: Option<u64>,
    /// Do not ask
    #[arg(long)]
    yes: bool,
}

pub(crate) fn run(args: &Args, context: &Context) -> Result<Exit, Error> {
    let mut reader = root::read(&context.root)?;
    let scopes = args.ids.iter().map(|text| scope(&mut reader, text)).collect::<Result<Vec<_>, _>>()?;
    let kept = settings::current(context)?.settings.retention();
    let retention = Retention { done_retention_days: args.days.unwrap_or(kept.done_retention_days), ..kept };
    let until_ms = retention.purge_until_ms(time::now_ms());
    confirm(args.yes, || match scopes.len() {
        0 => format!("everything that ended before {}", time::rfc3339(until_ms)),
        count => format!("{count} tasks or threads"),
    })?;
    let count = link::with(context, Missing::Refuse, |ask| {
        if scopes.is_empty() {
            return upkeep::sweep(ask, until_ms, &mut |_| {});
        }
        for scope in &scopes {
            ask(Command::Life(LifeCommand::Purge { scope: *scope }))?;
        }
        Ok(scopes.len() as u64)
    })?;
    Ok(purged(context, count))
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
        output::line(&format!("{count} purged"));
        if count > 0 {
            output::note("  next: `relaymesh log compact` lets go of their ops, inputs and results");
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
    if output::is_interactive() && output::ask(&format!("forget {what}?")) {
        return Ok(());
    }
    let message = format!("{what} would be forgotten for good, and nobody agreed to it");
    Err(Error::new(Code::NotConfirmed, message).hint("`--yes` does it without asking"))
}
