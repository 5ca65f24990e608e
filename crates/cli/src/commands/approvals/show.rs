//! `relaymesh approvals show`

use crate::{args::Context, asked, error::Error, exit::Exit, output};
use serde_json::json;

const EXAMPLES: &str = "\
Examples:
  relaymesh approvals show tsk_01KH…
  ask=$(relaymesh approvals show tsk_01KH… deploy --json | jq -r .ask)
  relaymesh approve tsk_01KH… deploy --ask $ask    approve exactly that request";

/// Show a request for approval: question, hash, deadline, author and input
#[derive(Debug, clap::Args)]
#[command(after_help = EXAMPLES)]
pub(crate) struct Args {
    /// Id of the task, or at least four characters of its beginning or end
    id: String,
    /// Name of the step; may be left out if only one waits
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
