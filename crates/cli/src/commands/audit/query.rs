//! `relaymesh audit query`

use super::filter::{Filter, Found, Wanted};
use crate::{args::Context, error::Error, exit::Exit, output, progress::Progress, remote::Remote, root};
use relaymesh_api::{local::Status, view::entry::Page};
use relaymesh_store::Reader;
use std::collections::VecDeque;

const EXAMPLES: &str = "\
Examples:
  relaymesh audit query --author ann --since 1d
  relaymesh audit query --kind cancel-task --json | jq -r '.about.reason'
  relaymesh audit query --task tsk_01KH… --limit 1000
  relaymesh audit query --namespace team-a --since 2026-11-01 --until 2026-12-01";

/// Entries that a daemon elsewhere is asked for at once.
const PAGE: usize = 500;

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
    let (found, total, _) = if let Some(remote) = &context.remote {
        newest_there(remote, &args.filter.wanted_there(remote, context)?, args.limit)?
    } else {
        let mut reader = root::read(&context.root)?;
        let wanted = args.filter.wanted(&mut reader, context)?;
        newest(&mut reader, &wanted, args.limit)?
    };
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

/// The same of a daemon elsewhere. It tells of the oldest first, so whoever wants the newest of all begins near the end.
pub(super) fn newest_there(
    remote: &Remote,
    wanted: &Wanted<'_>,
    limit: usize,
) -> Result<(VecDeque<Found>, u64, u64), Error> {
    let head = remote.get::<Status>(&["status"], &[])?.pos;
    if wanted.is_all() {
        let after = head.saturating_sub(limit as u64);
        let (found, total, reached) = after_there(remote, wanted, after, limit)?;
        // A token that is not for everything sees fewer of them, and so does whoever looks at a log that was compacted.
        if found.len() == limit || after == 0 {
            return Ok((found, after + total, reached));
        }
    }
    after_there(remote, wanted, 0, limit)
}

fn after_there(
    remote: &Remote,
    wanted: &Wanted<'_>,
    after: u64,
    limit: usize,
) -> Result<(VecDeque<Found>, u64, u64), Error> {
    let (mut kept, mut total, mut after) = (VecDeque::new(), 0, after);
    loop {
        let page: Page = remote.get(&["audit"], &wanted.query(after, PAGE))?;
        for shown in page.entries {
            total += 1;
            after = after.max(shown.pos);
            kept.push_back(Found::Op(Box::new(shown)));
            if kept.len() > limit {
                kept.pop_front();
            }
        }
        match page.next {
            Some(next) => after = next,
            None => return Ok((kept, total, after)),
        }
    }
}
