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
  relaymesh top                    q leaves, ? shows the keys
  relaymesh status --json          the same for programs; `relaymesh metrics` over time";

/// Watch the root at work: running steps, queues, agents, throughput, alerts
///
/// Looks once a second. Changes nothing. Needs a terminal of at least 80 columns to be of use.
#[derive(Debug, clap::Args)]
#[command(after_help = EXAMPLES)]
pub(crate) struct Args {}

pub(crate) fn run(_: &Args, context: &Context) -> Result<Exit, Error> {
    root::there(&context.root)?;
    if context.json || !std::io::stdout().is_terminal() || !std::io::stdin().is_terminal() {
        let error = Error::new(Code::Usage, "`top` draws on a terminal, and this is none");
        return Err(error.hint("`relaymesh status --json` and `relaymesh metrics` are for programs"));
    }
    top::run(context).map(|()| Exit::Done)
}
