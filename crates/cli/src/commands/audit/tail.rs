//! `relaymesh audit tail`

use super::{
    filter::{Filter, Found},
    query::newest,
};
use crate::{args::Context, bell::Bell, error::Error, exit::Exit, root};
use relaymesh_store::Reader as _;

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
