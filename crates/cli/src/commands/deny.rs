//! `relaymesh deny`, and the same as `relaymesh task deny`

use super::decide::{Decision, decide};
use crate::{args::Context, error::Error, exit::Exit};
use relaymesh_core::hash::Hash;

const EXAMPLES: &str = "\
Examples:
  relaymesh deny tsk_01KH… --reason 'not on a Friday'
  relaymesh deny tsk_01KH… deploy --yes            this step, without a question
  relaymesh deny tsk_01KH… deploy --ask 3f9a…      for scripts: exactly this ask, and no other";

/// Refuse what a step asks
///
/// The step fails for good, and what was done before it is undone by its compensations. The first decision counts.
#[derive(Debug, clap::Args)]
#[command(after_help = EXAMPLES)]
pub(crate) struct Args {
    /// The task's id, or at least four characters of its beginning or end
    id: String,
    /// The step; not needed if only one asks
    step: Option<String>,
    /// Why; it stands on the log
    #[arg(long, value_name = "TEXT", default_value = "denied by a person")]
    reason: String,
    /// Do not ask
    #[arg(long)]
    yes: bool,
    /// Do not ask, and decide about the ask with this hash only; `approvals show` prints it
    #[arg(long, value_name = "HASH")]
    ask: Option<Hash>,
}

pub(crate) fn run(args: &Args, context: &Context) -> Result<Exit, Error> {
    let Args { id, step, reason, yes, ask } = args;
    let step = step.as_deref();
    let decision = Decision { task: id, step, yes: *yes, cited: *ask, verb: "deny", event: "denied" };
    decide(context, &decision, Some(reason))
}
