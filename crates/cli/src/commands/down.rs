//! `relaymesh down`

use crate::{args::Context, error::Error, exit::Exit, output, root};
use relaymesh_api::local::Client;
use serde_json::json;

const EXAMPLES: &str = "\
Examples:
  relaymesh down             the next command that needs a daemon starts one
  relaymesh down --json      print {\"stopped\": PID}; null if none was running";

/// Stop the daemon
///
/// Accepts no more work, stops running attempts without counting them, and saves its state. No work is lost: the next
/// daemon continues from there. It is not an error if no daemon runs.
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
        Some(pid) => output::line(&format!("stopped the daemon (pid {pid})")),
        None => output::line("no daemon was running"),
    }
    Ok(Exit::Done)
}
