//! `relaymesh dead export`

use super::find::{Chosen, What};
use crate::{args::Context, error::Error, exit::Exit, output, progress::Progress};

const EXAMPLES: &str = "\
Examples:
  relaymesh dead export > dead.jsonl                export all of this namespace
  relaymesh dead export --flow nightly --since 7d | jq '.steps[].history[].error'";

/// Export failed tasks and messages as JSON Lines
///
/// Each line has the request with its inputs, the last 16 attempts of each step with their errors, and the results so
/// far. Changes nothing.
#[derive(Debug, clap::Args)]
#[command(after_help = EXAMPLES)]
pub(crate) struct Args {
    #[command(flatten)]
    chosen: Chosen,
}

pub(crate) fn run(args: &Args, context: &Context) -> Result<Exit, Error> {
    let client = context.client();
    let found = args.chosen.find_or_all(&*client)?;
    let mut progress = Progress::new("exported:", found.len() as u64);
    for (done, what) in (1..).zip(found.iter().filter_map(|dead| dead.ids.what())) {
        match what {
            What::Task(task) => {
                client.export(task, &mut |bytes| {
                    output::part(bytes);
                    Ok(())
                })?;
                output::end_of_line();
            }
            What::Message(..) => {
                client.dead_documents(&what.id())?.iter().for_each(|document| output::line(&document.to_string()));
            }
        }
        progress.tell(done);
    }
    Ok(Exit::Done)
}
