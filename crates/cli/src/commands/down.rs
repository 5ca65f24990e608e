//! `relaymesh down`

use crate::{args::Context, error::Error, exit::Exit, output, root};
use relaymesh_api::local::Client;
use serde_json::json;

const EXAMPLES: &str = "\
Examples:
  relaymesh down             stop it; the next command that needs one starts it again
  relaymesh down --json      {\"stopped\": PID}, or null if there was none";

/// Stop the root's daemon
///
/// It takes no more work, ends running attempts, which do not count, and writes down where it was. Nothing is lost: the next
/// daemon goes on from there. It is no error if there is none.
#[derive(Debug, clap::Args)]
#[command(after_help = EXAMPLES)]
pub(crate) struct Args {}

pub(crate) fn run(_: &Args, context: &Context) -> Result<Exit, Error> {
    root::there(&context.root)?;
    let client = Client::connect(&context.root, &context.caller)?;
    if let Some(client) = &client {
        client.stop()?;
        client.wait_gone();
    }
    let pid = client.map(|client| client.pid());
    match pid {
        _ if context.json => output::value(&json!({ "stopped": pid })),
        Some(pid) => output::line(&format!("the daemon (pid {pid}) is down")),
        None => output::line("there was no daemon"),
    }
    Ok(Exit::Done)
}
