//! `relaymesh approve`, and the same as `relaymesh task approve`

use super::decide::{Decision, decide};
use crate::{args::Context, error::Error, exit::Exit};
use relaymesh_core::hash::Hash;

const EXAMPLES: &str = "\
Examples:
  relaymesh approve tsk_01KH…                      shows what is asked, then asks you
  relaymesh approve tsk_01KH… deploy --yes         this step, without a question
  relaymesh approve tsk_01KH… deploy --ask 3f9a…   for scripts: exactly this ask, and no other";

/// Agree to what a step asks
///
/// The decision is about exactly what is shown: it cites the hash of the text. The first decision counts.
#[derive(Debug, clap::Args)]
#[command(after_help = EXAMPLES)]
pub(crate) struct Args {
    /// The task's id, or at least four characters of its beginning or end
    id: String,
    /// The step; not needed if only one asks
    step: Option<String>,
    /// Do not ask
    #[arg(long)]
    yes: bool,
    /// Do not ask, and decide about the ask with this hash only; `approvals show` prints it
    #[arg(long, value_name = "HASH")]
    ask: Option<Hash>,
}

pub(crate) fn run(args: &Args, context: &Context) -> Result<Exit, Error> {
    let Args { id, step, yes, ask } = args;
    let step = step.as_deref();
    let decision = Decision { task: id, step, yes: *yes, cited: *ask, verb: "approve", event: "approved" };
    decide(context, &decision, None)
}
