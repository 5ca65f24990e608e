//! `relaymesh status`

use crate::{
    args::Context,
    error::{Code, Error},
    exit::Exit,
    output, root, time,
};
use relaymesh_api::local::{Client, Status};
use relaymesh_runtime::held;
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
    let held = held::entries(&context.root).unwrap_or_default();
    let held = held.iter().filter(|(_, entry)| !entry.is_over);
    if context.json {
        let held = held.map(
            |(whose, entry)| json!({ "who": whose, "until": time::rfc3339(entry.until_ms), "because": entry.reason }),
        );
        let mut value = json!(status);
        value["held"] = held.collect();
        output::value(&value);
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
    let held = held.map(|(whose, entry)| format!("{whose} until {}", time::rfc3339(entry.until_ms)));
    let held: Vec<String> = held.collect();
    let held = if held.is_empty() { "nobody".to_owned() } else { held.join(", ") };
    let up = time::span(time::now_ms().saturating_sub(started_ms));
    let rows = [
        ("daemon", format!("pid {pid}, version {version}, up {up}")),
        ("node", node.to_string()),
        ("log", format!("{pos} ops")),
        ("steps", format!("{running} running, {ready} ready in memory")),
        ("clients", format!("{clients} connected, {waiting} wait for a task")),
        ("starvation", format!("{low_starvation_count} times a lower lane was forced")),
        ("held", held),
        ("settings", output::clean(&settings)),
        ("alert", alert.unwrap_or_else(|| "none".to_owned())),
    ];
    output::line(&output::table(&rows.map(|(name, value)| vec![name.to_owned(), value])));
    Ok(Exit::Done)
}
