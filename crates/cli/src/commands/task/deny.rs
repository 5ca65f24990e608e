//! `relaymesh task deny`

use super::decide::{Decision, decide};
use crate::{args::Context, error::Error, exit::Exit};
use relaymesh_runtime::driver::Command;

const EXAMPLES: &str = "\
Examples:
  relaymesh task deny tsk_01KH… deploy --reason 'not on a Friday'
  relaymesh task deny tsk_01KH… deploy --yes       for scripts";

/// Refuse what a step asks
///
/// The step fails for good, and what was done before it is undone by its compensations.
#[derive(Debug, clap::Args)]
#[command(after_help = EXAMPLES)]
pub(crate) struct Args {
    /// The task's id, or at least four characters of its beginning or end
    id: String,
    /// The step
    step: String,
    /// Why; it stands on the log
    #[arg(long, value_name = "TEXT", default_value = "denied by a person")]
    reason: String,
    /// Do not ask
    #[arg(long)]
    yes: bool,
}

pub(crate) fn run(args: &Args, context: &Context) -> Result<Exit, Error> {
    let decision = Decision { task: &args.id, step: &args.step, yes: args.yes, verb: "deny", event: "denied" };
    let reason = args.reason.clone();
    decide(context, &decision, |step, ask| Command::Deny { step, ask, reason })
}
