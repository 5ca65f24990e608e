//! `relaymesh task cancel`

use crate::{args::Context, client::Change, error::Error, exit::Exit};
use relaymesh_core::op::CancelMode;

const EXAMPLES: &str = "\
Examples:
  relaymesh task cancel tsk_01KH…                        stop running steps
  relaymesh task cancel tsk_01KH… --soft                 let running steps finish, start no others
  relaymesh task cancel tsk_01KH… --reason 'wrong data'";

/// Cancel a task
///
/// Does not run compensations: only a failed step does. `relaymesh task retry` continues the task.
#[derive(Debug, clap::Args)]
#[command(after_help = EXAMPLES)]
pub(crate) struct Args {
    /// Id of the task, or at least four characters of its beginning or end
    id: String,
    /// Let running steps finish, but start no others
    #[arg(long)]
    soft: bool,
    /// Reason, recorded on the log
    #[arg(long, value_name = "TEXT", default_value = "cancelled by a person")]
    reason: String,
}

pub(crate) fn run(args: &Args, context: &Context) -> Result<Exit, Error> {
    let client = context.client();
    let mode = if args.soft { CancelMode::Soft } else { CancelMode::Hard };
    let cancel = Change::Cancel { mode, reason: args.reason.clone() };
    let changed = client.change(client.find(&args.id)?, &cancel)?;
    Ok(super::decide::say_done(context, "cancelled", None, &changed))
}
