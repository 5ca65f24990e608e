//! `relaymesh approvals`

mod list;
mod show;

use crate::{args::Context, error::Error, exit::Exit};
use clap::Subcommand;

const EXAMPLES: &str = "\
Examples:
  relaymesh approvals list                 list steps that wait for an approval
  relaymesh approvals show tsk_01KH…       show the request, its author, input and deadline
  relaymesh approve tsk_01KH…              approve it; `relaymesh deny` denies it";

/// Show steps that wait for an approval
#[derive(Debug, Subcommand)]
#[command(after_help = EXAMPLES)]
pub(crate) enum Command {
    List(list::Args),
    Show(show::Args),
}

pub(crate) fn run(command: Command, context: &Context) -> Result<Exit, Error> {
    match command {
        Command::List(args) => list::run(&args, context),
        Command::Show(args) => show::run(&args, context),
    }
}
