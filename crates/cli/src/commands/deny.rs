//! `relaymesh deny`, and the same as `relaymesh task deny`

use super::decide::{Decision, decide};
use crate::{args::Context, error::Error, exit::Exit};
use relaymesh_core::hash::Hash;

const EXAMPLES: &str = "\
Examples:
  relaymesh deny tsk_01KH… --reason 'not on a Friday'
  relaymesh deny tsk_01KH… deploy --yes            deny this step without confirmation
  relaymesh deny tsk_01KH… deploy --ask 3f9a…      for scripts: deny only this exact request";

/// Deny a step that waits for an approval
///
/// The step fails for good, and the compensations of earlier steps run. The first decision counts.
#[derive(Debug, clap::Args)]
#[command(after_help = EXAMPLES)]
pub(crate) struct Args {
    /// Id of the task, or at least four characters of its beginning or end
    id: String,
    /// Name of the step; may be left out if only one waits
    step: Option<String>,
    /// Reason, recorded on the log
    #[arg(long, value_name = "TEXT", default_value = "denied by a person")]
    reason: String,
    /// Do not ask for confirmation
    #[arg(long)]
    yes: bool,
    /// Decide without confirmation, but only on the request with this hash (see `approvals show`)
    #[arg(long, value_name = "HASH")]
    ask: Option<Hash>,
}

pub(crate) fn run(args: &Args, context: &Context) -> Result<Exit, Error> {
    let Args { id, step, reason, yes, ask } = args;
    let step = step.as_deref();
    let decision = Decision { task: id, step, yes: *yes, cited: *ask, verb: "deny", event: "denied" };
    decide(context, &decision, Some(reason))
}
