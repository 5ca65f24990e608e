//! `relaymesh task export`

use crate::{args::Context, error::Error, exit::Exit, output, progress::Progress};

const EXAMPLES: &str = "\
Examples:
  relaymesh task export tsk_01KH… > task.json       one JSON document
  relaymesh task export tsk_01KH… tsk_01KJ…         JSON Lines, one line per task
  relaymesh task export --all | gzip > tasks.jsonl.gz";

/// Export tasks as JSON: request, inputs, steps, their last 16 attempts, results
///
/// Prints one document for a single task, and JSON Lines for several. Changes nothing.
#[derive(Debug, clap::Args)]
#[command(after_help = EXAMPLES)]
pub(crate) struct Args {
    /// Ids of tasks, or at least four characters of the beginning or end of each
    #[arg(value_name = "ID", required_unless_present = "all", conflicts_with = "all")]
    ids: Vec<String>,
    /// Every task of this namespace, oldest first
    #[arg(long)]
    all: bool,
}

pub(crate) fn run(args: &Args, context: &Context) -> Result<Exit, Error> {
    let client = context.client();
    if args.all {
        client.export_all(&mut part)?;
        return Ok(Exit::Done);
    }
    // All of them are found before the first is written: a mistake in one leaves no half of a file.
    let named = args.ids.iter().map(|text| client.find(text)).collect::<Result<Vec<_>, _>>()?;
    if let [only] = named[..] {
        output::json(|out| client.export(only, out))?;
        return Ok(Exit::Done);
    }
    let mut progress = Progress::new("exported:", named.len() as u64);
    for (done, task) in (1..).zip(named) {
        client.export(task, &mut part)?;
        output::end_of_line();
        progress.tell(done);
    }
    Ok(Exit::Done)
}

fn part(bytes: &[u8]) -> Result<(), Error> {
    output::part(bytes);
    Ok(())
}
