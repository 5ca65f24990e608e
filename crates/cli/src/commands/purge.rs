//! `relaymesh purge`

mod by_age;

use crate::{
    args::Context,
    error::{Code, Error},
    exit::Exit,
    link::{self, Missing},
    lookup, output, root, time,
};
use relaymesh_core::{
    id::{TaskId, ThreadId},
    op::Scope,
};
use relaymesh_runtime::{
    driver::{Answer, Command, LifeCommand},
    file_bus,
};
use relaymesh_store::Reader as _;
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
/// bus too, but none that the bus does not know. With ids, purges them at any age; ids that are gone are named and change
/// nothing, so a purge that was interrupted can be repeated.
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
    let (scopes, mut gone) = chosen(&mut reader, &args.ids)?;
    if scopes.is_empty() {
        return Ok(purged(context, 0, &named(&gone)));
    }
    confirm(args.yes, || format!("{} tasks or threads", scopes.len()))?;
    let count = link::with(context, Missing::Refuse, |ask| each(ask, &scopes, &mut gone))?;
    Ok(purged(context, count, &named(&gone)))
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
