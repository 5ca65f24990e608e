//! `relaymesh msg inbox`

use crate::{args::Context, error::Error, exit::Exit, output, time};
use relaymesh_api::view::message::Waiting;
use relaymesh_core::name::Name;
use serde_json::json;

/// How much of a message a table shows.
const TEXT_CHARS_MAX: usize = 60;

/// Can be used while another process writes.
#[derive(Debug, clap::Args)]
pub(crate) struct Args {
    /// Agent whose inbox to list [default: your login name]
    #[arg(long, value_name = "NAME")]
    agent: Option<Name>,
    /// Maximum number of messages of each priority
    #[arg(long, value_name = "N", default_value_t = 50, value_parser = clap::value_parser!(u32).range(1..))]
    limit: u32,
}

pub(super) fn run(args: &Args, context: &Context) -> Result<Exit, Error> {
    let agent = args.agent.as_ref().unwrap_or(&context.caller.author);
    let found = context.client().inbox(agent, args.limit)?;
    let mut lines = vec![["MESSAGE", "PRIORITY", "FROM", "AGO", "TEXT"].map(str::to_owned).to_vec()];
    for waiting in &found {
        if context.json {
            output::value(&json!(waiting));
            continue;
        }
        let Waiting { message, priority, from, .. } = waiting;
        let ago = time::span(time::now_ms().saturating_sub(waiting.sent_ms));
        let text = output::short(&output::clean(&waiting.content.to_string()), TEXT_CHARS_MAX);
        lines.push(vec![message.to_string(), priority.to_string(), from.to_string(), ago, text]);
    }
    if !context.json {
        match lines.len() {
            1 => output::note(&format!("no message is waiting for {agent}")),
            _ => output::rows(&lines),
        }
    }
    Ok(Exit::Done)
}
