//! `relaymesh dead redrive`

use super::find::{Chosen, What};
use crate::{
    args::Context,
    bulk::{self, Outcome},
    error::Error,
    exit::Exit,
    output,
    remote::{self, Remote},
};
use relaymesh_api::view::dead;
use relaymesh_runtime::driver::{Command, MessageCommand};
use serde_json::json;

/// How many a daemon elsewhere is given at once.
const AT_ONCE: usize = 500;

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
    let found = args.chosen.find(context)?;
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
    let all: Vec<What> = found.iter().filter_map(|dead| dead.ids.what()).collect();
    if all.is_empty() {
        return Ok(Exit::Done);
    }
    if let Some(remote) = &context.remote {
        let outcome = there(remote, "redrive", &all, Some(&args.reason), |what, done| tell(what, done, context.json))?;
        output::note(&format!("{} tried again", outcome.count("tried again")?));
        return Ok(Exit::Done);
    }
    let commands: Vec<(What, Command)> = all.into_iter().map(|what| (what, command(what))).collect();
    let outcome =
        bulk::all(context, "redriven:", commands, |what, answer| tell(*what, answer.map(drop), context.json))?;
    let count = outcome.count("tried again")?;
    output::note(&format!("{count} tried again"));
    Ok(Exit::Done)
}

/// Has a daemon elsewhere do it, and tells what became of each.
pub(super) fn there(
    remote: &Remote,
    verb: &str,
    all: &[What],
    reason: Option<&str>,
    mut tell: impl FnMut(What, Result<(), &Error>),
) -> Result<Outcome, Error> {
    let mut outcome = Outcome::default();
    for some in all.chunks(AT_ONCE) {
        let ids: Vec<String> = some.iter().map(|what| what.id()).collect();
        let mut body = json!({ "ids": ids });
        if let Some(reason) = reason {
            body["reason"] = json!(reason);
        }
        let dead::Outcome { done, failed } = remote.post(&["dead", verb], &body)?;
        for what in done.iter().filter_map(dead::Ids::what) {
            tell(what, Ok(()));
            outcome.add(Ok(()));
        }
        for dead::Failed { ids, error } in failed {
            let error = remote::problem(&error);
            if let Some(what) = ids.what() {
                tell(what, Err(&error));
            }
            outcome.add(Err(error));
        }
    }
    Ok(outcome)
}

fn tell(what: What, answer: Result<(), &Error>, json: bool) {
    match answer {
        Ok(()) if json => {
            let mut value = json!(what.ids());
            value["event"] = json!("redriven");
            output::line(&value.to_string());
        }
        Ok(()) => output::line(&what.id()),
        Err(error) => output::note(&format!("not {}: {}", what.id(), error.message)),
    }
}
