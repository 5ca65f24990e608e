//! `relaymesh dead export`

use super::{find::Chosen, show::exported};
use crate::{args::Context, error::Error, exit::Exit, output, progress::Progress, root};

const EXAMPLES: &str = "\
Examples:
  relaymesh dead export > dead.jsonl                everything of this namespace
  relaymesh dead export --flow nightly --since 7d | jq '.steps[].history[].error'";

/// Write what came to nothing as JSON Lines, one document each
///
/// With the request and its inputs, the last 16 attempts of each step with their reasons, and the results that there are.
/// Nothing is changed.
#[derive(Debug, clap::Args)]
#[command(after_help = EXAMPLES)]
pub(crate) struct Args {
    #[command(flatten)]
    chosen: Chosen,
}

pub(crate) fn run(args: &Args, context: &Context) -> Result<Exit, Error> {
    let mut reader = root::read(&context.root)?;
    let found = args.chosen.find_or_all(&mut reader, &context.namespace)?;
    let mut progress = Progress::new("exported:", found.len() as u64);
    for (done, dead) in (1..).zip(&found) {
        output::line(&exported(&mut reader, dead.what)?.to_string());
        progress.tell(done);
    }
    Ok(Exit::Done)
}
