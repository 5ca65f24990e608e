//! `relaymesh log`

mod compact;
mod rebuild;
mod recover;
mod scrub;
mod show;
mod stats;
pub(crate) mod verify;

use crate::{
    args::Context,
    error::{Code, Error},
    exit::Exit,
};
use clap::Subcommand;
use relaymesh_store::verify::Problem;

const EXAMPLES: &str = "\
Examples:
  relaymesh log show                       show the newest ops
  relaymesh log verify                     check the log and the tables for corruption
  relaymesh log stats                      show counts and sizes
  relaymesh log compact                    remove the ops of purged tasks";

/// Show, check, compact and recover the log
#[derive(Debug, Subcommand)]
#[command(after_help = EXAMPLES)]
pub(crate) enum Command {
    Show(show::Args),
    Stats(stats::Args),
    Compact(compact::Args),
    Verify(verify::Args),
    Scrub(scrub::Args),
    Rebuild(rebuild::Args),
    Recover(recover::Args),
}

pub(crate) fn run(command: Command, context: &Context) -> Result<Exit, Error> {
    match command {
        Command::Show(args) => show::run(&args, context),
        Command::Stats(args) => stats::run(&args, context),
        Command::Compact(args) => compact::run(&args, context),
        Command::Verify(args) => verify::run(&args, context),
        Command::Scrub(args) => scrub::run(&args, context),
        Command::Rebuild(args) => rebuild::run(&args, context),
        Command::Recover(args) => recover::run(&args, context),
    }
}

/// What a check found, as an error.
pub(crate) fn found(problem: Problem) -> Error {
    let message = problem.to_string();
    match problem {
        Problem::Store(error) => error.into(),
        Problem::Moved { .. } => Error::new(Code::Busy, message),
        Problem::NotEmpty { .. } => Error::new(Code::Internal, message),
        Problem::State { .. } | Problem::Counts { .. } | Problem::Lookup { .. } | Problem::Index { .. } => {
            Error::new(Code::Damaged, message).hint("show the rows that differ with `relaymesh log rebuild`")
        }
        Problem::Break(_)
        | Problem::Missing { .. }
        | Problem::Stub { .. }
        | Problem::Checkpoint { .. }
        | Problem::HeadPosition { .. }
        | Problem::HeadChain { .. }
        | Problem::NoContent { .. }
        | Problem::Content { .. }
        | Problem::Refused { .. }
        | Problem::NoScope { .. } => Error::new(Code::Damaged, message),
    }
}
