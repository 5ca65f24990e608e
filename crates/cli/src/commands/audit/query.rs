//! `relaymesh audit query`

use super::filter::{Filter, Found, Wanted};
use crate::{args::Context, error::Error, exit::Exit, output, progress::Progress, root};
use relaymesh_store::Reader;
use std::collections::VecDeque;

const EXAMPLES: &str = "\
Examples:
  relaymesh audit query --author ann --since 1d
  relaymesh audit query --kind cancel-task --json | jq -r '.about.reason'
  relaymesh audit query --task tsk_01KH… --limit 1000
  relaymesh audit query --namespace team-a --since 2026-11-01 --until 2026-12-01";

/// Find writes by who, from where, what and when; the newest that fit, oldest first
///
/// Works while another process writes. What was purged and compacted is not found any more.
#[derive(Debug, clap::Args)]
#[command(after_help = EXAMPLES)]
pub(crate) struct Args {
    #[command(flatten)]
    filter: Filter,
    /// At most this many
    #[arg(long, value_name = "N", default_value_t = 100)]
    limit: usize,
}

pub(crate) fn run(args: &Args, context: &Context) -> Result<Exit, Error> {
    let mut reader = root::read(&context.root)?;
    let wanted = args.filter.wanted(&mut reader, context)?;
    let (found, total, _) = newest(&mut reader, &wanted, args.limit)?;
    found.iter().for_each(|found| found.show(context.json));
    if total > found.len() as u64 {
        output::note(&format!("more: {total} fit; give a higher --limit"));
    }
    Ok(Exit::Done)
}

/// The newest that fit, oldest first; how many fit in all, as far as they were looked at; and the position that was reached.
pub(super) fn newest(
    reader: &mut impl Reader,
    wanted: &Wanted<'_>,
    limit: usize,
) -> Result<(VecDeque<Found>, u64, u64), Error> {
    let head = reader.head()?.pos;
    let all = wanted.is_all();
    let after = if all { head.saturating_sub(limit as u64) } else { wanted.after };
    let mut progress = Progress::new("looked at ops:", head);
    let (mut kept, mut total) = (VecDeque::new(), if all { after } else { 0 });
    let reached = wanted.each(reader, after, &mut |pos| progress.tell(pos), &mut |found| {
        total += 1;
        kept.push_back(found);
        if kept.len() > limit {
            kept.pop_front();
        }
    })?;
    Ok((kept, total, reached))
}
