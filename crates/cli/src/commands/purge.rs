//! `relaymesh purge`

use crate::{
    args::Context,
    error::{Code, Error},
    exit::Exit,
    link::{self, Missing},
    lookup, output, root, settings, time,
};
use relaymesh_core::{
    id::{TaskId, ThreadId},
    op::Scope,
};
use relaymesh_runtime::{
    driver::{Answer, Command, LifeCommand},
    upkeep::{self, Retention},
};
use relaymesh_store::Reader as _;
use relaymesh_store_sqlite::SqliteReader;
use serde_json::json;

const EXAMPLES: &str = "\
Examples:
  relaymesh purge                     purge what ended more than `done_retention_days` ago
  relaymesh purge --days 30 --yes     for scripts: do not ask for confirmation
  relaymesh purge tsk_01KH… thr_…     purge these
  relaymesh log compact               then remove their ops, inputs and results";

/// Purge tasks that have ended, and threads without waiting messages
///
/// A purged task no longer appears in lists, and its idempotency key is free: an equal request runs again. The log
/// records the purge. Without ids, purges by age in all namespaces, and keeps a task at least as long as its
/// idempotency key (`idempotency_ttl_days` after its end). With ids, purges them at any age; ids that are gone are named
/// and change nothing, so a purge that was interrupted can be repeated.
#[derive(Debug, clap::Args)]
#[command(after_help = EXAMPLES)]
pub(crate) struct Args {
    /// Ids of tasks or threads; without ids, purge by age
    #[arg(value_name = "ID")]
    ids: Vec<String>,
    /// Purge what ended more than this many days ago [default: the setting `done_retention_days`]
    #[arg(long, value_name = "N", conflicts_with = "ids")]
    days: Option<u64>,
    /// Do not ask for confirmation
    #[arg(long)]
    yes: bool,
}

pub(crate) fn run(args: &Args, context: &Context) -> Result<Exit, Error> {
    let mut reader = root::read(&context.root)?;
    let (scopes, mut gone) = chosen(&mut reader, &args.ids)?;
    if scopes.is_empty() && !gone.is_empty() {
        return Ok(purged(context, 0, &named(&gone)));
    }
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
        each(ask, &scopes, &mut gone)
    })?;
    let exit = purged(context, count, &named(&gone));
    if count == 0 && args.ids.is_empty() {
        let Retention { done_retention_days, idempotency_ttl_days } = retention;
        output::note(&format!(
            "nothing ended before {}: tasks are kept for {done_retention_days} days, their idempotency keys for \
             {idempotency_ttl_days} days (`done_retention_days`, `idempotency_ttl_days`)",
            time::rfc3339(until_ms)
        ));
    }
    Ok(exit)
}

/// The tasks and threads with these ids, and those of them that are gone: a purge that was cut short can be repeated.
fn chosen(reader: &mut SqliteReader, ids: &[String]) -> Result<(Vec<Scope>, Vec<Scope>), Error> {
    let (mut there, mut gone) = (Vec::new(), Vec::new());
    for text in ids {
        let scope = match (text.parse::<ThreadId>(), text.parse::<TaskId>()) {
            (Ok(thread), _) => Scope::Thread(thread),
            (_, Ok(task)) => Scope::Task(task),
            // Part of an id: it has to be that of a task that is there.
            _ => Scope::Task(lookup::task(reader, text)?.task.id),
        };
        let known = [&there, &gone].into_iter().any(|known: &Vec<Scope>| known.contains(&scope));
        match reader.is_live(scope)? {
            _ if known => {}
            true => there.push(scope),
            false => gone.push(scope),
        }
    }
    Ok((there, gone))
}

fn named(scopes: &[Scope]) -> Vec<String> {
    scopes.iter().map(Scope::to_string).collect()
}

/// Purges each; those that somebody else has purged meanwhile are gone, too.
fn each(
    ask: &mut dyn FnMut(Command) -> Result<Answer, Error>,
    scopes: &[Scope],
    gone: &mut Vec<Scope>,
) -> Result<u64, Error> {
    let mut count = 0;
    for scope in scopes {
        match ask(Command::Life(LifeCommand::Purge { scope: *scope })) {
            Ok(_) => count += 1,
            Err(error) if error.code == Code::NoTask => gone.push(*scope),
            Err(error) if count == 0 => return Err(error),
            Err(error) => {
                let message =
                    format!("{count} of {} were purged, and {scope} was not: {}", scopes.len(), error.message);
                return Err(Error { message, ..error });
            }
        }
    }
    Ok(count)
}

/// Says how many were purged, and which were gone before.
pub(in crate::commands) fn purged(context: &Context, count: u64, gone: &[String]) -> Exit {
    if context.json {
        output::value(&json!({ "purged": count, "gone": gone }));
    } else {
        output::line(&format!("purged {count}"));
        for id in gone {
            output::note(&format!("  gone: {id} was purged before, or never existed"));
        }
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
