//! `relaymesh log stats`

use crate::{args::Context, error::Error, exit::Exit, output, root};
use relaymesh_store::Reader as _;
use serde_json::json;

const EXAMPLES: &str = "\
Examples:
  relaymesh log stats
  relaymesh log stats --json";

/// Show counts and sizes
///
/// Free space in the database file is reused before the file grows.
#[derive(Debug, clap::Args)]
#[command(after_help = EXAMPLES)]
pub(crate) struct Args {}

pub(crate) fn run(_: &Args, context: &Context) -> Result<Exit, Error> {
    let mut reader = root::read(&context.root)?;
    let stats = reader.stats()?;
    let newest = reader.head()?.pos;
    if context.json {
        let counted = |(count, bytes): (u64, u64)| json!({ "count": count, "bytes": bytes });
        output::value(&json!({
            "newest_pos": newest, "horizon": stats.horizon, "ops": counted(stats.ops), "tasks": stats.tasks, "steps": stats.steps,
            "keys": stats.keys, "content": counted(stats.content), "blobs": counted(stats.blobs),
            "database_bytes": stats.database_bytes, "free_bytes": stats.free_bytes, "wal_bytes": stats.wal_bytes,
        }));
        return Ok(Exit::Done);
    }
    let line = |name: &str, count: Option<u64>, bytes: Option<u64>| {
        let text = |number: Option<u64>| number.map_or_else(String::new, |number| number.to_string());
        vec![name.to_owned(), text(count), text(bytes)]
    };
    output::line(&output::table(&[
        ["", "count", "bytes"].map(str::to_owned).to_vec(),
        line("ops", Some(stats.ops.0), Some(stats.ops.1)),
        line("tasks", Some(stats.tasks), None),
        line("steps", Some(stats.steps), None),
        line("keys", Some(stats.keys), None),
        line("content", Some(stats.content.0), Some(stats.content.1)),
        line("blobs", Some(stats.blobs.0), Some(stats.blobs.1)),
        line("database", None, Some(stats.database_bytes)),
        line("  of it free", None, Some(stats.free_bytes)),
        line("write-ahead log", None, Some(stats.wal_bytes)),
    ]));
    Ok(Exit::Done)
}
