//! `relaymesh approvals`

mod list;
mod show;

use crate::{args::Context, error::Error, exit::Exit};
use clap::Subcommand;

const EXAMPLES: &str = "\
Examples:
  relaymesh approvals list                 what waits for a person
  relaymesh approvals show tsk_01KH…       exactly what is asked, by whom, until when
  relaymesh approve tsk_01KH…              agree; `relaymesh deny` refuses";

/// Look at what waits for a person's decision
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
