//! `relaymesh dead redrive`

use super::find::{Chosen, What};
use crate::{args::Context, bulk, error::Error, exit::Exit, output, root};
use relaymesh_runtime::driver::{Answer, Command, MessageCommand};
use serde_json::json;

const EXAMPLES: &str = "\
Examples:
  relaymesh dead redrive tsk_01KH… msg_01KH…     these
  relaymesh dead redrive --agent reviewer        wherever this agent failed
  relaymesh dead redrive --all --reason 'the disk is back'";

/// Try again what came to nothing, in the order in which it was submitted or sent
///
/// What succeeded in a task and was not undone keeps its result; everything else starts over with a fresh count of attempts.
/// One that cannot be tried again stops none of the others.
#[derive(Debug, clap::Args)]
#[command(after_help = EXAMPLES)]
pub(crate) struct Args {
    #[command(flatten)]
    chosen: Chosen,
    /// Why; it stands on the log
    #[arg(long, value_name = "TEXT", default_value = "tried again by a person")]
    reason: String,
}

pub(crate) fn run(args: &Args, context: &Context) -> Result<Exit, Error> {
    let found = args.chosen.find(&mut root::read(&context.root)?, &context.namespace)?;
    if found.is_empty() {
        output::note("nothing came to nothing");
    }
    let command = |what: What| {
        let reason = args.reason.clone();
        match what {
            What::Task(task) => Command::Redrive { task, reason },
            What::Message(thread, message) => Command::Message(MessageCommand::Redrive { thread, message, reason }),
        }
    };
    let commands: Vec<(What, Command)> = found.iter().map(|dead| (dead.what, command(dead.what))).collect();
    if commands.is_empty() {
        return Ok(Exit::Done);
    }
    let outcome = bulk::all(context, "redriven:", commands, |what, answer| tell(*what, answer, context.json))?;
    let count = outcome.count("tried again")?;
    output::note(&format!("{count} tried again"));
    Ok(Exit::Done)
}

fn tell(what: What, answer: Result<&Answer, &Error>, json: bool) {
    match answer {
        Ok(_) if json => {
            let mut value = what.to_json();
            value["event"] = json!("redriven");
            output::line(&value.to_string());
        }
        Ok(_) => output::line(&what.id()),
        Err(error) => output::note(&format!("not {}: {}", what.id(), error.message)),
    }
}
