//! `relaymesh status`

use crate::{
    args::Context,
    error::{Code, Error},
    exit::Exit,
    output, root, time,
};
use relaymesh_api::local::{Client, Status};
use serde_json::json;

const EXAMPLES: &str = "\
Examples:
  relaymesh status                     pid, version, work under way, alerts
  relaymesh status --json | jq .pid    for scripts; exit code 3 if there is none";

/// How the root's daemon is
///
/// Exit code 3 if there is none.
#[derive(Debug, clap::Args)]
#[command(after_help = EXAMPLES)]
pub(crate) struct Args {}

pub(crate) fn run(_: &Args, context: &Context) -> Result<Exit, Error> {
    root::there(&context.root)?;
    let client = Client::connect(&context.root, &context.caller)?;
    let none = || Error::new(Code::NoDaemon, format!("no daemon runs for {}", context.root.display()));
    let status = client.ok_or_else(none)?.status()?;
    if context.json {
        output::value(&json!(status));
        return Ok(Exit::Done);
    }
    let Status {
        pid,
        version,
        node,
        started_ms,
        pos,
        running,
        ready,
        waiting,
        low_starvation_count,
        clients,
        alert,
        ..
    } = status;
    let settings = status
        .settings_problem
        .map_or_else(|| "as they should be".to_owned(), |why| format!("REFUSED, those from before are kept: {why}"));
    let up = time::span(time::now_ms().saturating_sub(started_ms));
    let rows = [
        ("daemon", format!("pid {pid}, version {version}, up {up}")),
        ("node", node.to_string()),
        ("log", format!("{pos} ops")),
        ("steps", format!("{running} running, {ready} ready in memory")),
        ("clients", format!("{clients} connected, {waiting} wait for a task")),
        ("starvation", format!("{low_starvation_count} times a lower lane was forced")),
        ("settings", output::clean(&settings)),
        ("alert", alert.unwrap_or_else(|| "none".to_owned())),
    ];
    output::line(&output::table(&rows.map(|(name, value)| vec![name.to_owned(), value])));
    Ok(Exit::Done)
}
