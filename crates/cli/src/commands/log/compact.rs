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
use relaymesh_api::local::Client;
use relaymesh_runtime::upkeep;
use relaymesh_store::{Reader as _, Store as _};
use serde_json::json;

const EXAMPLES: &str = "\
Examples:
  relaymesh purge --older-than 30d --yes && relaymesh log compact    purge, then remove the ops
  relaymesh log compact --shrink                                     shrink the database file too";

/// Remove the ops of purged tasks and threads
///
/// Removes the ops of purged tasks and threads, with their inputs, results and messages, and old ops of locks. Keeps
/// the ops of all other tasks and threads, the state of locks, and a stub for each removed range, so that the hash
/// chain can still be checked. A checkpoint on the log records the state.
///
/// A running daemon goes on working; under load, the compaction takes a small share of its time. Asks for no
/// confirmation: only what was purged goes.
///
/// The database reuses the freed space before its file grows. `--shrink` returns it to the file system. It writes the
/// database anew (about a second per 100 MB), and writes wait meanwhile. It needs twice the space that is in use. It
/// starts no daemon.
#[derive(Debug, clap::Args)]
#[command(after_help = EXAMPLES)]
pub(crate) struct Args {
    /// Shrink the database file too
    #[arg(long)]
    shrink: bool,
    /// Accepted as in `purge`; nothing is asked here
    #[arg(long)]
    yes: bool,
}

pub(crate) fn run(args: &Args, context: &Context) -> Result<Exit, Error> {
    let mut progress = Progress::new("looked at ops:", root::read(&context.root)?.head()?.pos);
    let compact = |ask: upkeep::Ask<'_, Error>| upkeep::compact(ask, &mut |done| progress.tell(done.pos));
    let done = if args.shrink {
        // A daemon that is there does it; one must not be started for it.
        let daemon = if context.no_daemon { None } else { Client::connect(&context.root, &context.caller)? };
        let alone = Context { no_daemon: daemon.is_none(), ..context.clone() };
        let done = link::with(&alone, Missing::Refuse, compact)?;
        shrink(daemon.as_ref(), context)?;
        done
    } else {
        link::with(context, Missing::Refuse, compact)?
    };
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
            output::note(
                "hint: later tasks reuse this space; `relaymesh log compact --shrink` gives it back to the file system",
            );
        }
    }
    Ok(Exit::Done)
}

/// In the daemon if there is one, otherwise here.
fn shrink(daemon: Option<&Client>, context: &Context) -> Result<(), Error> {
    if let Some(daemon) = daemon {
        output::note("shrinking the database; writes wait meanwhile");
        return daemon.shrink();
    }
    let mut store = root::open(&context.root, &Default::default())?;
    store.shrink()?;
    Ok(store.close()?)
}
