//! `relaymesh msg inbox`

use crate::{args::Context, error::Error, exit::Exit, output, root, time};
use relaymesh_api::view::message;
use relaymesh_core::{lanes::Priority, name::Name, op::Scope};
use relaymesh_store::Reader as _;

/// How much of a message a table shows.
const TEXT_CHARS_MAX: usize = 60;
/// Later than everything: what is to be delivered again later waits, too.
const NEVER_MS: u64 = u64::MAX >> 1;

/// Works while another process writes.
#[derive(Debug, clap::Args)]
pub(crate) struct Args {
    /// Whose; without one, yours
    #[arg(long, value_name = "NAME")]
    agent: Option<Name>,
    /// At most this many of each lane
    #[arg(long, value_name = "N", default_value_t = 50, value_parser = clap::value_parser!(u32).range(1..))]
    limit: u32,
}

pub(super) fn run(args: &Args, context: &Context) -> Result<Exit, Error> {
    let agent = args.agent.as_ref().unwrap_or(&context.caller.author);
    let mut reader = root::read(&context.root)?;
    let mut lines = vec![["MESSAGE", "LANE", "FROM", "AGO", "TEXT"].map(str::to_owned).to_vec()];
    for priority in Priority::ALL {
        let page = reader.inbox(&context.namespace, agent, priority, NEVER_MS, args.limit as usize)?;
        for (thread, id) in page {
            let rows = reader.scope(Scope::Thread(thread))?;
            // It may have been taken since it was listed.
            let Some(rows) = rows.as_ref().and_then(|rows| rows.thread()) else { continue };
            let Some(row) = rows.messages.get(&id) else { continue };
            if context.json {
                output::value(&message::waiting(&mut reader, rows, row)?);
                continue;
            }
            let content = message::said(&mut reader, row)?;
            let ago = time::span(time::now_ms().saturating_sub(row.sent_ms));
            let text = output::short(&output::clean(&content.to_string()), TEXT_CHARS_MAX);
            lines.push(vec![id.to_string(), priority.to_string(), row.draft.from.to_string(), ago, text]);
        }
    }
    if !context.json {
        match lines.len() {
            1 => output::note(&format!("nothing waits for {agent}")),
            _ => output::rows(&lines),
        }
    }
    Ok(Exit::Done)
}
