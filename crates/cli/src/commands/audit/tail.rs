//! `relaymesh audit tail`

use super::{
    filter::{Filter, Found},
    query::{newest, newest_there},
};
use crate::{args::Context, bell::Bell, error::Error, exit::Exit, remote::Remote, root};
use relaymesh_api::view::entry::Page;
use relaymesh_store::Reader as _;

/// Entries that a daemon elsewhere is asked for at once.
const PAGE: usize = 500;

const EXAMPLES: &str = "\
Examples:
  relaymesh audit tail                     the newest writes
  relaymesh audit tail -n 100 --author ann
  relaymesh audit tail -f --json           and every one that follows, until Ctrl-C";

/// Show the newest writes, and those that follow
///
/// Works while another process writes.
#[derive(Debug, clap::Args)]
#[command(after_help = EXAMPLES)]
pub(crate) struct Args {
    /// How many of those that are there already
    #[arg(short = 'n', long, value_name = "N", default_value_t = 20)]
    lines: usize,
    /// Go on with those that follow, until Ctrl-C
    #[arg(long, short)]
    follow: bool,
    #[command(flatten)]
    filter: Filter,
}

pub(crate) fn run(args: &Args, context: &Context) -> Result<Exit, Error> {
    if let Some(remote) = &context.remote {
        return there(args, context, remote);
    }
    let mut bell = Bell::new(&context.root);
    let mut reader = root::read(&context.root)?;
    let wanted = args.filter.wanted(&mut reader, context)?;
    let (found, _, mut after) = newest(&mut reader, &wanted, args.lines)?;
    found.iter().for_each(|found| found.show(context.json));
    let mut show = |found: Found| found.show(context.json);
    if !args.follow {
        return Ok(Exit::Done);
    }
    loop {
        if reader.head()?.pos > after {
            after = wanted.each(&mut reader, after, &mut |_| {}, &mut show)?;
        } else {
            bell.wait(None);
        }
    }
}

/// The same of a daemon elsewhere.
fn there(args: &Args, context: &Context, remote: &Remote) -> Result<Exit, Error> {
    let wanted = args.filter.wanted_there(remote, context)?;
    let (found, _, mut after) = newest_there(remote, &wanted, args.lines)?;
    found.iter().for_each(|found| found.show(context.json));
    if !args.follow {
        return Ok(Exit::Done);
    }
    loop {
        // Every event is a reason to look; what fits is said by the log.
        let mut events = remote.events(&[("after", Some(after.to_string()))])?;
        loop {
            let page: Page = remote.get(&["audit"], &wanted.query(after, PAGE))?;
            after = page.entries.last().map_or(after, |last| last.pos).max(page.next.unwrap_or(0));
            page.entries.into_iter().for_each(|shown| Found::Op(Box::new(shown)).show(context.json));
            if page.next.is_none() && !events.rings(None) {
                break;
            }
        }
    }
}
