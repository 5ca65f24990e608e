//! `relaymesh approvals list`

use crate::{args::Context, asked, error::Error, exit::Exit, output, root, time};

const EXAMPLES: &str = "\
Examples:
  relaymesh approvals list
  relaymesh approvals list --json | jq -r '\"\\(.task) \\(.step): \\(.asks)\"'";

const TEXT_CHARS_MAX: usize = 60;

/// List every step of this namespace that asks for a decision, the most urgent first
///
/// Works while another process writes.
#[derive(Debug, clap::Args)]
#[command(after_help = EXAMPLES)]
pub(crate) struct Args {}

pub(crate) fn run(_: &Args, context: &Context) -> Result<Exit, Error> {
    let mut reader = root::read(&context.root)?;
    let asked = asked::all(&mut reader, &context.namespace)?;
    if context.json {
        asked.iter().for_each(|asked| output::line(&asked.to_json().to_string()));
        return Ok(Exit::Done);
    }
    let mut lines = vec![["TASK", "STEP", "NAME", "UNTIL", "ASKS"].map(str::to_owned).to_vec()];
    lines.extend(asked.iter().map(|asked| {
        let until = if asked.due_ms > 0 { time::rfc3339(asked.due_ms) } else { "-".to_owned() };
        let text = output::short(&asked.ask.text, TEXT_CHARS_MAX);
        vec![asked.task.id.to_string(), asked.name.to_string(), asked.task.name.to_string(), until, text]
    }));
    output::rows(&lines);
    Ok(Exit::Done)
}
