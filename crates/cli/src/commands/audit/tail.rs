//! `relaymesh audit tail`

use super::filter::{Filter, show};
use crate::{
    args::Context,
    client::{About, Rang},
    error::Error,
    exit::Exit,
};

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
    let client = context.client();
    let wanted = args.filter.wanted(&*client, context)?;
    // In this order: whatever happens after the look rings.
    let mut bell = if args.follow { Some(client.bell(About::Log)?) } else { None };
    let newest = client.newest(&wanted, args.lines)?;
    newest.found.iter().for_each(|found| show(found, context.json));
    let mut after = newest.reached;
    while let Some(ringing) = &mut bell {
        if ringing.wait(None)? == Rang::Ended {
            bell = Some(client.bell(About::Log)?);
        }
        after = client.after(&wanted, after, &mut |found| show(&found, context.json))?;
    }
    Ok(Exit::Done)
}
