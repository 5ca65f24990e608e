//! `relaymesh task approve`

use super::decide::{Decision, decide};
use crate::{args::Context, error::Error, exit::Exit};
use relaymesh_runtime::driver::Command;

const EXAMPLES: &str = "\
Examples:
  relaymesh task approve tsk_01KH… deploy          shows what is asked, then asks you
  relaymesh task approve tsk_01KH… deploy --yes    for scripts";

/// Agree to what a step asks
///
/// The decision is about exactly the text that is shown; the first decision counts.
#[derive(Debug, clap::Args)]
#[command(after_help = EXAMPLES)]
pub(crate) struct Args {
    /// The task's id, or at least four characters of its beginning or end
    id: String,
    /// The step
    step: String,
    /// Do not ask
    #[arg(long)]
    yes: bool,
}

pub(crate) fn run(args: &Args, context: &Context) -> Result<Exit, Error> {
    let decision = Decision { task: &args.id, step: &args.step, yes: args.yes, verb: "approve", event: "approved" };
    decide(context, &decision, |step, ask| Command::Approve { step, ask })
}
