//! `relaymesh audit tail`

use super::filter::{Filter, show};
use crate::{
    args::Context,
    client::{About, Rang},
    error::Error,
    exit::Exit,
    output,
};

const EXAMPLES: &str = "\
Examples:
  relaymesh audit tail                     show the newest writes
  relaymesh audit tail -n 100 --author ann
  relaymesh audit tail -f --json           follow new writes until Ctrl-C";

/// Show the newest writes, and follow new ones
#[derive(Debug, clap::Args)]
#[command(after_help = EXAMPLES)]
pub(crate) struct Args {
    /// Number of existing entries to show
    #[arg(short = 'n', long, value_name = "N", default_value_t = 20)]
    lines: usize,
    /// Follow new entries until Ctrl-C
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
    match newest.is_whole() {
        Err(error) if !args.follow => return Err(error),
        Err(error) => output::note(&error.message),
        Ok(()) => {}
    }
    let mut after = newest.reached;
    while let Some(ringing) = &mut bell {
        if ringing.wait(None)? == Rang::Ended {
            bell = Some(client.bell(About::Log)?);
        }
        after = client.after(&wanted, after, &mut |found| show(&found, context.json))?;
    }
    Ok(Exit::Done)
}
