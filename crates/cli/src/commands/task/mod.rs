//! `relaymesh task`

mod approve;
mod cancel;
mod decide;
mod deny;
mod list;
mod logs;
mod retry;
mod show;
mod wait;

use crate::{args::Context, error::Error, exit::Exit};
use clap::Subcommand;

/// Look at tasks, wait for them, stop them, try them again
#[derive(Debug, clap::Args)]
#[command(subcommand_required = true, arg_required_else_help = true)]
pub(crate) struct Args {
    #[command(subcommand)]
    command: Command,
}

#[derive(Debug, Subcommand)]
enum Command {
    Show(show::Args),
    List(list::Args),
    Logs(logs::Args),
    Wait(wait::Args),
    Cancel(cancel::Args),
    Retry(retry::Args),
    Approve(approve::Args),
    Deny(deny::Args),
}

pub(crate) fn run(args: Args, context: &Context) -> Result<Exit, Error> {
    match args.command {
        Command::Show(args) => show::run(&args, context),
        Command::List(args) => list::run(&args, context),
        Command::Logs(args) => logs::run(&args, context),
        Command::Wait(args) => wait::run(&args, context),
        Command::Cancel(args) => cancel::run(&args, context),
        Command::Retry(args) => retry::run(&args, context),
        Command::Approve(args) => approve::run(&args, context),
        Command::Deny(args) => deny::run(&args, context),
    }
}
