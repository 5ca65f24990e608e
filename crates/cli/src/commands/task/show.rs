//! `relaymesh task show`

use crate::{
    args::Context,
    error::{Code, Error},
    exit::Exit,
    output, view,
};
use relaymesh_api::view::Results;

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
    /// With --json: results to show. `short` shows those up to 64 KiB, 1 MiB in all, and names the others by hash
    #[arg(long, value_name = "none|short|full", default_value = "short", value_parser = results)]
    results: Results,
}

pub(crate) fn run(args: &Args, context: &Context) -> Result<Exit, Error> {
    let client = context.client();
    let task = client.find(&args.id)?;
    if context.json {
        output::json(|out| client.task_json(task, args.history, args.results, out))?;
    } else {
        view::print(&client.task(task, args.history)?, args.history);
    }
    Ok(Exit::Done)
}

fn results(text: &str) -> Result<Results, Error> {
    match text {
        "none" => Ok(Results::None),
        "short" => Ok(Results::Short),
        "full" => Ok(Results::Full),
        _ => Err(Error::new(Code::Usage, "use one of none, short, full")),
    }
}
