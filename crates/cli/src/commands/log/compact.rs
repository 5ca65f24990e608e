//! `relaymesh log compact`

use crate::{
    args::Context,
    error::Error,
    exit::Exit,
    link::{self, Missing},
    output,
    progress::Progress,
    root,
};
use relaymesh_runtime::upkeep;
use relaymesh_store::Reader as _;
use serde_json::json;

const EXAMPLES: &str = "\
Examples:
  relaymesh purge --days 30 --yes && relaymesh log compact    purge old tasks and remove their ops
  relaymesh down && relaymesh log compact --shrink            shrink the file too";

/// Remove the ops of purged tasks and threads
///
/// Removes the ops of purged tasks and threads, with their inputs, results and messages, and old ops of locks. Keeps
/// the ops of all other tasks and threads, the state of locks, and a stub for each removed range, so that the hash
/// chain can still be checked. A checkpoint on the log records the state.
///
/// The database reuses the freed space before its file grows. `--shrink` returns it to the file system: stop the
/// daemon first. It needs that much free space while it runs.
#[derive(Debug, clap::Args)]
#[command(after_help = EXAMPLES)]
pub(crate) struct Args {
    /// Shrink the database file too; needs a stopped daemon
    #[arg(long)]
    shrink: bool,
}

pub(crate) fn run(args: &Args, context: &Context) -> Result<Exit, Error> {
    let mut progress = Progress::new("looked at ops:", root::read(&context.root)?.head()?.pos);
    let compact = |ask: upkeep::Ask<'_, Error>| upkeep::compact(ask, &mut |done| progress.tell(done.pos));
    // Shrinking needs the root for itself, so it must not start a daemon.
    let alone = Context { no_daemon: context.no_daemon || args.shrink, ..context.clone() };
    let done = link::with(&alone, Missing::Refuse, compact)?;
    if args.shrink {
        let mut store = root::open(&context.root, &Default::default())?;
        store.shrink()?;
        store.close()?;
    }
    let stats = root::read(&context.root)?.stats()?;
    if context.json {
        output::value(&json!({
            "dropped": done.ops, "kept": stats.ops.0, "horizon": stats.horizon,
            "database_bytes": stats.database_bytes, "free_bytes": stats.free_bytes,
        }));
    } else {
        output::line(&format!(
            "removed {} ops, kept {}; {} of {} bytes of the database are free",
            done.ops, stats.ops.0, stats.free_bytes, stats.database_bytes
        ));
        if stats.free_bytes * 2 > stats.database_bytes && !args.shrink {
            output::note("hint: `relaymesh down && relaymesh log compact --shrink` shrinks the file");
        }
    }
    Ok(Exit::Done)
}
