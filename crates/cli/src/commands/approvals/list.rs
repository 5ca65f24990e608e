//! `relaymesh approvals list`

use crate::{args::Context, error::Error, exit::Exit, output, time};
use serde_json::json;

const EXAMPLES: &str = "\
Examples:
  relaymesh approvals list
  relaymesh approvals list --json | jq -r '\"\\(.task) \\(.step): \\(.asks)\"'";

const TEXT_CHARS_MAX: usize = 60;

/// List the steps of this namespace that wait for an approval, most urgent first
#[derive(Debug, clap::Args)]
#[command(after_help = EXAMPLES)]
pub(crate) struct Args {}

pub(crate) fn run(_: &Args, context: &Context) -> Result<Exit, Error> {
    let asked = context.client().approvals()?;
    if context.json {
        asked.iter().for_each(|asked| output::line(&json!(asked).to_string()));
        return Ok(Exit::Done);
    }
    let mut lines = vec![["TASK", "STEP", "NAME", "UNTIL", "ASKS"].map(str::to_owned).to_vec()];
    lines.extend(asked.iter().map(|asked| {
        let until = asked.deadline_ms.map_or_else(|| "-".to_owned(), time::rfc3339);
        let text = output::short(&asked.asks, TEXT_CHARS_MAX);
        vec![asked.task.to_string(), asked.step.to_string(), asked.name.to_string(), until, text]
    }));
    output::rows(&lines);
    Ok(Exit::Done)
}
