//! `relaymesh audit query`

use super::filter::{Filter, show};
use crate::{args::Context, error::Error, exit::Exit, output};

const EXAMPLES: &str = "\
Examples:
  relaymesh audit query --author ann --since 1d
  relaymesh audit query --kind cancel-task --json | jq -r '.about.reason'
  relaymesh audit query --task tsk_01KH… --limit 1000
  relaymesh audit query --namespace team-a --since 2026-11-01 --until 2026-12-01";

/// Find writes by author, source, kind, task and time
///
/// Prints the newest matches, oldest first. Ops that were purged and compacted are no longer found.
#[derive(Debug, clap::Args)]
#[command(after_help = EXAMPLES)]
pub(crate) struct Args {
    #[command(flatten)]
    filter: Filter,
    /// Maximum number of results
    #[arg(long, value_name = "N", default_value_t = 100)]
    limit: usize,
}

pub(crate) fn run(args: &Args, context: &Context) -> Result<Exit, Error> {
    let client = context.client();
    let newest = client.newest(&args.filter.wanted(&*client, context)?, args.limit)?;
    newest.found.iter().for_each(|found| show(found, context.json));
    if newest.total > newest.found.len() as u64 {
        output::note(&format!("more: {} matches; raise --limit", newest.total));
    }
    newest.is_whole()?;
    Ok(Exit::Done)
}
