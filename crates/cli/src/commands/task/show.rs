//! `relaymesh task show`

use crate::{args::Context, error::Error, exit::Exit, output, view};
use serde_json::json;

const EXAMPLES: &str = "\
Examples:
  relaymesh task show tsk_01KH…            the task and its steps
  relaymesh task show 4Q7Z                 the end of an id is enough, if no other task has it
  relaymesh task show tsk_01KH… --history  every attempt
  relaymesh task show tsk_01KH… --json | jq '.steps[] | {step, status, epoch}'";

/// Show a task and its steps
///
/// Works while another process runs the task.
#[derive(Debug, clap::Args)]
#[command(after_help = EXAMPLES)]
pub(crate) struct Args {
    /// The task's id, or at least four characters of its beginning or end
    id: String,
    /// Every attempt of every step
    #[arg(long)]
    history: bool,
}

pub(crate) fn run(args: &Args, context: &Context) -> Result<Exit, Error> {
    let client = context.client();
    let shown = client.task(client.find(&args.id)?, args.history)?;
    if context.json {
        output::value(&json!(shown));
    } else {
        output::line(&view::to_text(&shown, args.history));
    }
    Ok(Exit::Done)
}
