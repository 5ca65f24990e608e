//! `relaymesh approvals show`

use crate::{
    args::Context,
    asked::{self, Asked},
    error::Error,
    exit::Exit,
    lookup, output, root,
};

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
    let mut reader = root::read(&context.root)?;
    let rows = lookup::task(&mut reader, &args.id)?;
    let index = asked::choose(&rows, args.step.as_deref())?;
    let asked = Asked::load(&mut reader, &rows, index)?;
    if context.json {
        output::value(&asked.to_json());
    } else {
        output::line(&crate::asked::to_text(&asked));
        let (id, name) = (rows.task.id, &asked.name);
        output::note(&format!("  next: `relaymesh approve {id} {name}` or `relaymesh deny {id} {name}`"));
    }
    Ok(Exit::Done)
}
