//! `relaymesh approvals show`

use crate::{args::Context, asked, error::Error, exit::Exit, output};
use serde_json::json;

const EXAMPLES: &str = "\
Examples:
  relaymesh approvals show tsk_01KH…
  ask=$(relaymesh approvals show tsk_01KH… deploy --json | jq -r .ask)
  relaymesh approve tsk_01KH… deploy --ask $ask    decide about exactly that";

/// Show exactly what a step asks: its words, their hash, until when, who wants it and with which input
///
/// Nothing is decided by it.
#[derive(Debug, clap::Args)]
#[command(after_help = EXAMPLES)]
pub(crate) struct Args {
    /// The task's id, or at least four characters of its beginning or end
    id: String,
    /// The step; not needed if only one asks
    step: Option<String>,
}

pub(crate) fn run(args: &Args, context: &Context) -> Result<Exit, Error> {
    let client = context.client();
    let asked = asked::look(&*client, client.find(&args.id)?, args.step.as_deref())?;
    if context.json {
        output::value(&json!(asked));
    } else {
        output::line(&asked::to_text(&asked));
        let (id, name) = (asked.task, &asked.step);
        output::note(&format!("  next: `relaymesh approve {id} {name}` or `relaymesh deny {id} {name}`"));
    }
    Ok(Exit::Done)
}
