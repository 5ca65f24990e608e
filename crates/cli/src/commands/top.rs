//! `relaymesh top`

use crate::{
    args::Context,
    error::{Code, Error},
    exit::Exit,
    root, top,
};
use std::io::IsTerminal as _;

const EXAMPLES: &str = "\
Examples:
  relaymesh top                    q quits, ? shows the keys
  relaymesh status --json          for programs; `relaymesh metrics` for monitoring";

/// Watch running steps, queues, agents, throughput and alerts
///
/// Refreshes once a second and changes nothing. Needs a terminal with at least 80 columns.
#[derive(Debug, clap::Args)]
#[command(after_help = EXAMPLES)]
pub(crate) struct Args {}

pub(crate) fn run(_: &Args, context: &Context) -> Result<Exit, Error> {
    root::there(&context.root)?;
    if context.json || !std::io::stdout().is_terminal() || !std::io::stdin().is_terminal() {
        let error = Error::new(Code::Usage, "`top` needs a terminal");
        return Err(error.hint("for programs, use `relaymesh status --json` or `relaymesh metrics`"));
    }
    top::run(context).map(|()| Exit::Done)
}
