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
  relaymesh purge --days 30 && relaymesh log compact    forget what is old, and let go of it
  relaymesh log compact --shrink                        and give the room back to the file system";

/// Let go of ops about what was purged
///
/// What goes: ops about tasks and threads that were purged, with their inputs, results and messages, and ops about locks,
/// whose state is kept. What stays: everything about tasks and threads that are still here, and a stub for each run of ops
/// that went, so that the chain can still be checked. A checkpoint on the log says what all of it had come to.
///
/// The room is used again before the file grows; `--shrink` gives it back to the file system, and takes as much again while
/// it does.
#[derive(Debug, clap::Args)]
#[command(after_help = EXAMPLES)]
pub(crate) struct Args {
    /// Make the file smaller
    #[arg(long)]
    shrink: bool,
}

pub(crate) fn run(args: &Args, context: &Context) -> Result<Exit, Error> {
    let mut progress = Progress::new("looked at ops:", root::read(&context.root)?.head()?.pos);
    let compact = |ask: upkeep::Ask<'_, Error>| upkeep::compact(ask, &mut |done| progress.tell(done.pos));
    let done = link::with(context, Missing::Refuse, compact)?;
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
            "{} ops are gone, {} are left; {} of {} bytes of the database are free",
            done.ops, stats.ops.0, stats.free_bytes, stats.database_bytes
        ));
        if stats.free_bytes * 2 > stats.database_bytes && !args.shrink {
            output::note("hint: `relaymesh log compact --shrink` makes the file smaller");
        }
    }
    Ok(Exit::Done)
}
