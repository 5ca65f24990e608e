//! `relaymesh task show`

use crate::{
    args::Context,
    error::Error,
    exit::Exit,
    lookup, output, root,
    view::{self, View},
};

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
    let mut reader = root::read(&context.root)?;
    let rows = lookup::task(&mut reader, &args.id)?;
    let view = View::load(&mut reader, rows)?.with_processes(&context.root);
    if context.json {
        output::value(&view.to_json(args.history));
    } else {
        output::line(&view::to_text(&view, args.history));
    }
    Ok(Exit::Done)
}
