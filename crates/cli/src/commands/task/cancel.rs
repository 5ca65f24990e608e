//! `relaymesh task cancel`

use crate::{
    args::Context,
    error::Error,
    exit::Exit,
    link::{self, Missing},
    lookup, remote, root,
};
use relaymesh_api::view::Changed;
use relaymesh_core::op::CancelMode;
use relaymesh_runtime::driver::{Answer, Command};
use serde_json::json;

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
    if let Some(remote) = &context.remote {
        let task = remote::task(remote, context, &args.id)?.to_string();
        let body = json!({ "soft": args.soft, "reason": args.reason });
        let Changed { task, status } = remote.post(&["tasks", &task, "cancel"], &body)?;
        return super::decide::say_done(context, "cancelled", task, None, &Answer::Done { status });
    }
    let task = lookup::task(&mut root::read(&context.root)?, &args.id)?.task.id;
    let mode = if args.soft { CancelMode::Soft } else { CancelMode::Hard };
    let command = Command::Cancel { task, mode, reason: args.reason.clone() };
    let answer = link::once(context, Missing::Refuse, command)?;
    super::decide::say_done(context, "cancelled", task, None, &answer)
}
