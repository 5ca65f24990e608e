//! `relaymesh dead`

mod export;
mod find;
mod list;
mod purge;
mod redrive;
mod show;

use crate::{args::Context, error::Error, exit::Exit};
use clap::Subcommand;

const EXAMPLES: &str = "\
Examples:
  relaymesh dead list                            list failed tasks and messages, newest first
  relaymesh dead show tsk_01KH…                  show every attempt and its error
  relaymesh dead redrive --flow nightly          retry every failed task of a flow
  relaymesh dead export --all > dead.jsonl       save them to a file
  relaymesh dead purge --older-than 30d --yes    delete the old ones";

/// Show, retry, export and purge failed tasks and messages
///
/// These are the tasks that ended in FAILED or DEAD_LETTER, and the messages that ended in FAILED or DEAD.
#[derive(Debug, Subcommand)]
#[command(after_help = EXAMPLES)]
pub(crate) enum Command {
    List(list::Args),
    Show(show::Args),
    Redrive(redrive::Args),
    Export(export::Args),
    Purge(purge::Args),
}

pub(crate) fn run(command: Command, context: &Context) -> Result<Exit, Error> {
    match command {
        Command::List(args) => list::run(&args, context),
        Command::Show(args) => show::run(&args, context),
        Command::Redrive(args) => redrive::run(&args, context),
        Command::Export(args) => export::run(&args, context),
        Command::Purge(args) => purge::run(&args, context),
    }
}
