//! What approve and deny share: the person sees exactly what is asked, and the decision cites its hash.

use crate::{
    args::Context,
    asked::{self, Asked},
    error::{Code, Error},
    exit::Exit,
    link::{self, Missing},
    lookup, output, root,
};
use relaymesh_core::{
    hash::Hash,
    id::{StepId, TaskId},
    name::Name,
};
use relaymesh_runtime::driver::{Answer, Command};
use serde_json::json;

/// The decision.
pub(super) struct Decision<'a> {
    pub(super) task: &'a str,
    pub(super) step: Option<&'a str>,
    pub(super) yes: bool,
    /// What the caller has read before, if it says so.
    pub(super) cited: Option<Hash>,
    /// `approve` or `deny`.
    pub(super) verb: &'static str,
    /// What became of the step.
    pub(super) event: &'static str,
}

/// Shows what is asked, makes sure, and gives the command.
pub(super) fn decide(
    context: &Context,
    decision: &Decision<'_>,
    command: impl FnOnce(StepId, Hash) -> Command,
) -> Result<Exit, Error> {
    let mut reader = root::read(&context.root)?;
    let rows = lookup::task(&mut reader, decision.task)?;
    let index = asked::choose(&rows, decision.step)?;
    let asked = Asked::load(&mut reader, &rows, index)?;
    output::note(&asked::to_text(&asked));
    match decision.cited {
        Some(cited) if cited != asked.hash => {
            let message = format!("step `{}` asks {}; the decision is about {cited}", asked.name, asked.hash);
            let hint = format!("read what it asks now: `relaymesh approvals show {} {}`", rows.task.id, asked.name);
            return Err(Error::new(Code::Refused, message).hint(hint));
        }
        Some(_) => {}
        None => confirm(decision)?,
    }
    let answer = match link::once(context, Missing::Refuse, command(asked.step, asked.hash)) {
        // Somebody was faster; what they decided is worth more than that this came too late.
        Err(error) if error.code == Code::Refused => {
            let rows = lookup::task(&mut reader, &rows.task.id.to_string())?;
            return Err(Asked::load(&mut reader, &rows, index).err().unwrap_or(error));
        }
        answer => answer?,
    };
    let task = rows.task.id;
    let exit = say_done(context, decision.event, task, Some(&asked.name), &answer)?;
    output::note(&format!("  next: `relaymesh task wait {task}`"));
    Ok(exit)
}

fn confirm(decision: &Decision<'_>) -> Result<(), Error> {
    let verb = decision.verb;
    let refused =
        |message: &str| Error::new(Code::NotConfirmed, message).hint(format!("`--yes` says {verb} without a question"));
    if decision.yes {
        return Ok(());
    }
    if !output::is_interactive() {
        return Err(refused("there is nobody to ask: this is not a terminal"));
    }
    if output::ask(&format!("{verb} this?")) { Ok(()) } else { Err(refused("not confirmed")) }
}

/// Says what was done and where the task rests now.
pub(super) fn say_done(
    context: &Context,
    event: &str,
    task: TaskId,
    step: Option<&Name>,
    answer: &Answer,
) -> Result<Exit, Error> {
    let (Answer::Done { status } | Answer::Accepted { status, .. } | Answer::Ended { status, .. }) = answer else {
        return Err(link::unexpected(answer));
    };
    if context.json {
        let mut value = json!({ "event": event, "task": task, "status": status });
        if let Some(step) = step {
            value["step"] = json!(step);
        }
        output::value(&value);
    } else {
        let step = step.map_or_else(String::new, |step| format!(" step `{step}`"));
        output::note(&format!("{event} {task}{step}; it is {status}"));
    }
    Ok(Exit::Done)
}
