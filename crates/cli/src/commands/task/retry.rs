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
  relaymesh task retry tsk_01KH…           ready to run again; `relaymesh task wait` runs it
  relaymesh task retry tsk_01KH… --wait    and run it here, now";

/// Try a task again that ended in FAILED, DEAD_LETTER or CANCELLED
///
/// What succeeded and was not undone keeps its result; everything else starts over with a fresh count of attempts.
#[derive(Debug, clap::Args)]
#[command(after_help = EXAMPLES)]
pub(crate) struct Args {
    /// The task's id, or at least four characters of its beginning or end
    id: String,
    /// Work on it here until it has ended
    #[arg(long)]
    wait: bool,
    /// Why; it stands on the log
    #[arg(long, value_name = "TEXT", default_value = "tried again by a person")]
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
