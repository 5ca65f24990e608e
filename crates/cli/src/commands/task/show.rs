//! `relaymesh task show`

use crate::{args::Context, error::Error, exit::Exit, output, view};
use serde_json::json;

const EXAMPLES: &str = "\
Examples:
  relaymesh task show tsk_01KH…            show the task and its steps
  relaymesh task show 4Q7Z                 the end of an id is enough, if it is unique
  relaymesh task show tsk_01KH… --history  show every attempt
  relaymesh task show tsk_01KH… --json | jq '.steps[] | {step, status, epoch}'";

/// Show a task and its steps
#[derive(Debug, clap::Args)]
#[command(after_help = EXAMPLES)]
pub(crate) struct Args {
    /// Id of the task, or at least four characters of its beginning or end
    id: String,
    /// Show every attempt of every step
    #[arg(long)]
    history: bool,
}

pub(crate) fn run(args: &Args, context: &Context) -> Result<Exit, Error> {
    let client = context.client();
    let shown = client.task(client.find(&args.id)?, args.history)?;
    if context.json {
        output::value(&json!(shown));
    } else {
        view::print(&shown, args.history);
    }
    Ok(Exit::Done)
}
