//! `relaymesh task retry`

use crate::{
    args::Context,
    drive::{Patience, Start, drive},
    error::Error,
    exit::Exit,
    link::{self, Missing},
    lookup, output,
    remote::{self, Followed},
    root,
    watch::Watch,
};
use relaymesh_api::view::Changed;
use relaymesh_core::id::TaskId;
use relaymesh_runtime::driver::{Answer, Command};
use serde_json::json;

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
    let reason = args.reason.clone();
    if let Some(remote) = &context.remote {
        let task = remote::task(remote, context, &args.id)?;
        if args.wait {
            let mut watch = Watch::new(context, false);
            return remote::follow(remote, Followed::Redrive(task, reason), &mut watch, Patience::default());
        }
        let Changed { status, .. } =
            remote.post(&["tasks", &task.to_string(), "retry"], &json!({ "reason": reason }))?;
        return say(context, task, &Answer::Done { status });
    }
    let task = lookup::task(&mut root::read(&context.root)?, &args.id)?.task.id;
    if args.wait {
        let (start, mut watch) = (Start::Redrive(task, reason), Watch::new(context, false));
        return drive(context, Missing::Refuse, start, &mut watch, Patience::default());
    }
    let answer = link::once(context, Missing::Refuse, Command::Redrive { task, reason })?;
    say(context, task, &answer)
}

fn say(context: &Context, task: TaskId, answer: &Answer) -> Result<Exit, Error> {
    let exit = super::decide::say_done(context, "redriven", task, None, answer)?;
    output::note(&format!("  next: `relaymesh task wait {task}`"));
    Ok(exit)
}
