//! `relaymesh up`

use crate::{
    args::Context,
    daemon::{self, Manner},
    error::Error,
    exit::Exit,
    output,
};
use serde_json::json;

const EXAMPLES: &str = "\
Examples:
  relaymesh up               here, until Ctrl-C; what goes wrong is said on stderr
  relaymesh up --verbose     and everything that happens
  relaymesh up --detach      by itself, with its log in daemon.log in the root
  relaymesh status           how it is
  relaymesh down             stop it; nothing is lost";

/// Be the root's daemon: keep its work moving
///
/// There is one daemon per root. Commands that need one start it by themselves, detached.
#[derive(Debug, clap::Args)]
#[command(after_help = EXAMPLES)]
pub(crate) struct Args {
    /// Go on by itself, without a terminal
    #[arg(long)]
    detach: bool,
    /// Say everything that happens, not only what goes wrong
    #[arg(long, conflicts_with = "detach")]
    verbose: bool,
    /// Started by another command, which waits to hear how it went
    #[arg(long, hide = true, conflicts_with = "detach")]
    child: bool,
}

pub(crate) fn run(args: &Args, context: &Context) -> Result<Exit, Error> {
    if !args.detach {
        let manner = Manner { is_child: args.child, json: context.json, verbose: args.verbose };
        return daemon::run(context, manner).map(|()| Exit::Done);
    }
    let started = daemon::start(context)?;
    let pid = started.client.pid();
    if context.json {
        output::value(&json!({ "pid": pid, "was_there": started.was_there }));
    } else {
        let how = if started.was_there { "is up already" } else { "is up" };
        output::line(&format!("the daemon {how} (pid {pid})"));
    }
    Ok(Exit::Done)
}
