//! `relaymesh dead redrive`

use super::find::{Chosen, What};
use crate::{args::Context, error::Error, exit::Exit, output};
use serde_json::json;

const EXAMPLES: &str = "\
Examples:
  relaymesh dead redrive tsk_01KH… msg_01KH…     retry these
  relaymesh dead redrive --agent reviewer        retry every task in which this agent failed
  relaymesh dead redrive --all --reason 'the disk is back'";

/// Retry failed tasks and messages, oldest first
///
/// Steps that succeeded and were not undone keep their results. All others run again, with their attempts counted
/// from zero. If one task or message cannot be retried, the others still are.
#[derive(Debug, clap::Args)]
#[command(after_help = EXAMPLES)]
pub(crate) struct Args {
    #[command(flatten)]
    chosen: Chosen,
    /// Reason, recorded on the log
    #[arg(long, value_name = "TEXT", default_value = "retried by a person")]
    reason: String,
}

pub(crate) fn run(args: &Args, context: &Context) -> Result<Exit, Error> {
    let client = context.client();
    let found = args.chosen.find(&*client)?;
    if found.is_empty() {
        output::note("nothing to retry");
    }
    let all: Vec<What> = found.iter().filter_map(|dead| dead.ids.what()).collect();
    if all.is_empty() {
        return Ok(Exit::Done);
    }
    let outcome = client.redrive(&all, &args.reason, &mut |what, done| tell(what, done, context.json))?;
    let count = outcome.count("retried")?;
    output::note(&format!("retried {count}"));
    Ok(Exit::Done)
}

fn tell(what: What, answer: Result<(), &Error>, json: bool) {
    match answer {
        Ok(()) if json => {
            let mut value = json!(what.ids());
            value["event"] = json!("redriven");
            output::line(&value.to_string());
        }
        Ok(()) => output::line(&what.id()),
        Err(error) => output::note(&format!("cannot retry {}: {}", what.id(), error.message)),
    }
}
