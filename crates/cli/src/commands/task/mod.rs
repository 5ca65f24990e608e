//! `relaymesh task`

mod cancel;
mod export;
mod list;
pub(super) mod logs;
mod result;
mod retry;
mod show;
mod wait;

use super::{approve, decide, deny};
use crate::{args::Context, error::Error, exit::Exit};
use clap::Subcommand;

const EXAMPLES: &str = "\
Examples:
  relaymesh task list                      list the newest tasks of this namespace
  relaymesh task show tsk_01KH…            show a task and its steps
  relaymesh task result tsk_01KH… STEP     print the whole result of a step
  relaymesh task wait tsk_01KH…            wait until it has ended, and print its result
  relaymesh task retry tsk_01KH…           run it again";

/// Show tasks, wait for them, cancel them, retry them
#[derive(Debug, Subcommand)]
#[command(after_help = EXAMPLES)]
pub(crate) enum Command {
    Show(show::Args),
    List(list::Args),
    Result(result::Args),
    Logs(logs::Args),
    Export(export::Args),
    Wait(wait::Args),
    Cancel(cancel::Args),
    Retry(retry::Args),
    Approve(approve::Args),
    Deny(deny::Args),
}

pub(crate) fn run(command: Command, context: &Context) -> Result<Exit, Error> {
    match command {
        Command::Show(args) => show::run(&args, context),
        Command::List(args) => list::run(&args, context),
        Command::Result(args) => result::run(&args, context),
        Command::Logs(args) => logs::run(&args, context),
        Command::Export(args) => export::run(&args, context),
        Command::Wait(args) => wait::run(&args, context),
        Command::Cancel(args) => cancel::run(&args, context),
        Command::Retry(args) => retry::run(&args, context),
        Command::Approve(args) => approve::run(&args, context),
        Command::Deny(args) => deny::run(&args, context),
    }
}
