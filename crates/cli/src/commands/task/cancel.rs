//! `relaymesh task cancel`

use crate::{args::Context, client::Change, error::Error, exit::Exit};
use relaymesh_core::op::CancelMode;

const EXAMPLES: &str = "\
Examples:
  relaymesh task cancel tsk_01KH…                        stop what runs
  relaymesh task cancel tsk_01KH… --soft                 let what runs finish, start nothing more
  relaymesh task cancel tsk_01KH… --reason 'wrong data'";

/// Cancel a task
///
/// Nothing is undone: compensations run only when a step fails. `relaymesh task retry` goes on from here.
#[derive(Debug, clap::Args)]
#[command(after_help = EXAMPLES)]
pub(crate) struct Args {
    /// The task's id, or at least four characters of its beginning or end
    id: String,
    /// Let running steps finish
    #[arg(long)]
    soft: bool,
    /// Why; it stands on the log
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
