//! `relaymesh status`

use crate::{args::Context, error::Error, exit::Exit, output, time};
use relaymesh_api::{
    health::{Health, Reason},
    local::{LastStop, Status},
};
use serde_json::json;

const EXAMPLES: &str = "\
Examples:
  relaymesh status                     show pid, version, running steps, and whether it is ready
  relaymesh status --json | jq .ready  for scripts
  relaymesh status > /dev/null         as a probe: use the exit code";

/// Show the state of the daemon, and whether it is ready
///
/// Exit codes: 0 ready; 3 no daemon; 7 or 8 running, but it cannot write; 6 no daemon, and the store is damaged.
#[derive(Debug, clap::Args)]
#[command(after_help = EXAMPLES)]
pub(crate) struct Args {}

pub(crate) fn run(_: &Args, context: &Context) -> Result<Exit, Error> {
    let (status, url) = context.client().status()?;
    let health = status.health();
    if context.json {
        output::value(&json(&status, &health, url.as_deref()));
    } else {
        output::line(&text(&status, &health, url.as_deref()));
    }
    let stopping = health.reasons.iter().find_map(|reason| Some((reason.trouble.stops_with()?, reason)));
    match stopping {
        None => Ok(Exit::Done),
        Some((code, Reason { detail, .. })) => Err(Error::new(code, format!("the daemon is not ready: {detail}"))),
    }
}

fn json(status: &Status, health: &Health, url: Option<&str>) -> serde_json::Value {
    let mut value = json!(status);
    value["http"] = json!(url);
    let held = status.held.iter();
    let held =
        held.map(|held| json!({ "who": held.who, "until": time::rfc3339(held.until_ms), "because": held.because }));
    value["held"] = held.collect();
    value["ready"] = json!(health.is_ready);
    let reasons = health.reasons.iter().map(|Reason { trouble, detail }| {
        json!({ "trouble": trouble, "stops": trouble.stops_with().is_some(), "detail": detail })
    });
    value["reasons"] = reasons.collect();
    value
}

fn text(status: &Status, health: &Health, url: Option<&str>) -> String {
    let Status { pid, version, node, pos, running, ready, waiting, low_starvation_count, clients, .. } = status;
    let settings = status
        .settings_problem
        .as_ref()
        .map_or_else(|| "ok".to_owned(), |why| format!("REFUSED, the previous ones are in use: {why}"));
    let held: Vec<String> =
        status.held.iter().map(|held| format!("{} until {}", held.who, time::rfc3339(held.until_ms))).collect();
    let held = if held.is_empty() { "none".to_owned() } else { held.join(", ") };
    let up = time::span(time::now_ms().saturating_sub(status.started_ms));
    let reasons: Vec<String> =
        health.reasons.iter().map(|Reason { trouble, detail }| format!("{}: {detail}", trouble.as_str())).collect();
    let ready_word = match (health.is_ready, reasons.is_empty()) {
        (true, true) => "yes".to_owned(),
        (true, false) => format!("yes, but {}", reasons.join("; ")),
        (false, _) => format!("NO: {}", reasons.join("; ")),
    };
    let rows = [
        ("daemon", format!("pid {pid}, version {version}, up {up}")),
        ("ready", output::clean(&ready_word)),
        ("http", url.unwrap_or("off").to_owned()),
        ("node", node.to_string()),
        ("last stop", last_stop(status.last_stop.as_ref())),
        ("log", format!("{pos} ops")),
        ("steps", format!("{running} running, {ready} ready in memory")),
        ("clients", format!("{clients} connected, {waiting} waiting for a task")),
        ("starvation", format!("a lower priority was forced {low_starvation_count} times")),
        ("held", held),
        ("settings", output::clean(&settings)),
        ("alert", status.alert.clone().unwrap_or_else(|| "none".to_owned())),
    ];
    output::table(&rows.map(|(name, value)| vec![name.to_owned(), value]))
}

/// How the previous daemon stopped, in words.
fn last_stop(last: Option<&LastStop>) -> String {
    let Some(LastStop { clean, pos, head, at_ms }) = last else {
        return "none recorded".to_owned();
    };
    let head: String = head.chars().take(12).collect();
    match (clean, at_ms) {
        (true, Some(at_ms)) => format!("clean, {}, at op {pos} (hash {head}…)", time::rfc3339(*at_ms)),
        (true, None) => format!("clean, at op {pos} (hash {head}…)"),
        (false, _) => format!("NOT clean (killed, crashed or without power); started again at op {pos} (hash {head}…)"),
    }
}
