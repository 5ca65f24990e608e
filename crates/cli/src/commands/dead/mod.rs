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
  relaymesh dead list                            what needs a person, the last to die first
  relaymesh dead show tsk_01KH…                  every attempt, and why it failed
  relaymesh dead redrive --flow nightly          try all of them again, in the order of their submit
  relaymesh dead export --all > dead.jsonl       keep them elsewhere
  relaymesh dead purge --before 30d --yes        then forget the old ones";

/// Look at what came to nothing: try it again, keep it elsewhere, forget it
///
/// Tasks that ended in FAILED or DEAD_LETTER, and messages in FAILED or DEAD.
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
