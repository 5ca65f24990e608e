//! `relaymesh task retry`

use crate::{
    args::Context,
    client::{Change, Start},
    error::Error,
    exit::Exit,
    follow::{Patience, follow},
    output,
    watch::Watch,
};

const EXAMPLES: &str = "\
Examples:
  relaymesh task retry tsk_01KH…           run it again in the background
  relaymesh task retry tsk_01KH… --wait    run it again and wait for its result";

/// Retry a task that ended in FAILED, DEAD_LETTER or CANCELLED
///
/// Steps that succeeded and were not undone keep their results. All others run again, with their attempts counted
/// from zero.
#[derive(Debug, clap::Args)]
#[command(after_help = EXAMPLES)]
pub(crate) struct Args {
    /// Id of the task, or at least four characters of its beginning or end
    id: String,
    /// Wait until the task has ended, and print its result
    #[arg(long)]
    wait: bool,
    /// Reason, recorded on the log
    #[arg(long, value_name = "TEXT", default_value = "retried by a person")]
    reason: String,
}

pub(crate) fn run(args: &Args, context: &Context) -> Result<Exit, Error> {
    let (client, reason) = (context.client(), args.reason.clone());
    let task = client.find(&args.id)?;
    if args.wait {
        let start = Start::Redrive(task, reason);
        return follow(&*client, start, &mut Watch::new(context, false), Patience::default());
    }
    let changed = client.change(task, &Change::Redrive { reason })?;
    let exit = super::decide::say_done(context, "redriven", None, &changed);
    output::note(&format!("  next: `relaymesh task wait {task}`"));
    Ok(exit)
}
