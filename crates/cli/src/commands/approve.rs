//! `relaymesh approve`, and the same as `relaymesh task approve`

use super::decide::{Decision, decide};
use crate::{args::Context, error::Error, exit::Exit};
use relaymesh_core::hash::Hash;

const EXAMPLES: &str = "\
Examples:
  relaymesh approve tsk_01KH…                      show the request, then ask for confirmation
  relaymesh approve tsk_01KH… deploy --yes         approve this step without confirmation
  relaymesh approve tsk_01KH… deploy --ask 3f9a…   for scripts: approve only this exact request";

/// Approve a step that waits for an approval
///
/// The decision applies to exactly the request that is shown: it cites its hash. The first decision counts.
#[derive(Debug, clap::Args)]
#[command(after_help = EXAMPLES)]
pub(crate) struct Args {
    /// Id of the task, or at least four characters of its beginning or end
    id: String,
    /// Name of the step; may be left out if only one waits
    step: Option<String>,
    /// Do not ask for confirmation
    #[arg(long)]
    yes: bool,
    /// Decide without confirmation, but only on the request with this hash (see `approvals show`)
    #[arg(long, value_name = "HASH")]
    ask: Option<Hash>,
}

pub(crate) fn run(args: &Args, context: &Context) -> Result<Exit, Error> {
    let Args { id, step, yes, ask } = args;
    let step = step.as_deref();
    let decision = Decision { task: id, step, yes: *yes, cited: *ask, verb: "approve", event: "approved" };
    decide(context, &decision, None)
}
