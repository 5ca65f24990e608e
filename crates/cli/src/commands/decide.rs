//! What approve and deny share: the person sees exactly what is asked, and the decision cites its hash.

use crate::{
    args::Context,
    asked::{self, Shown},
    error::{Code, Error},
    exit::Exit,
    link::{self, Missing},
    lookup, output,
    remote::Remote,
    root,
};
use relaymesh_api::view::asked::Decided;
use relaymesh_core::{hash::Hash, id::TaskId, name::Name};
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

/// Shows what is asked, makes sure, and gives the decision. `reason` is that of a refusal.
pub(super) fn decide(context: &Context, decision: &Decision<'_>, reason: Option<&str>) -> Result<Exit, Error> {
    let asked = asked::look(context, decision.task, decision.step)?;
    output::note(&asked::to_text(&asked));
    let (task, name) = (asked.task, &asked.step);
    match decision.cited {
        Some(cited) if cited != asked.ask => {
            let message = format!("step `{name}` asks {}; the decision is about {cited}", asked.ask);
            let hint = format!("read what it asks now: `relaymesh approvals show {task} {name}`");
            return Err(Error::new(Code::Refused, message).hint(hint));
        }
        Some(_) => {}
        None => confirm(decision)?,
    }
    let given = match &context.remote {
        Some(remote) => there(remote, &asked, reason),
        None => here(context, &asked, reason),
    };
    let answer = match given {
        // Somebody was faster; what they decided is worth more than that this came too late.
        Err(error) if error.code == Code::Refused => {
            return Err(asked::look(context, &task.to_string(), Some(name.as_str())).err().unwrap_or(error));
        }
        answer => answer?,
    };
    let exit = say_done(context, decision.event, task, Some(name), &answer)?;
    output::note(&format!("  next: `relaymesh task wait {task}`"));
    Ok(exit)
}

fn here(context: &Context, asked: &Shown, reason: Option<&str>) -> Result<Answer, Error> {
    let rows = lookup::task(&mut root::read(&context.root)?, &asked.task.to_string())?;
    let (step, ask) = (rows.step_id(lookup::step(&rows, asked.step.as_str())?.0), asked.ask);
    let command = match reason {
        None => Command::Approve { step, ask },
        Some(reason) => Command::Deny { step, ask, reason: reason.to_owned() },
    };
    link::once(context, Missing::Refuse, command)
}

fn there(remote: &Remote, asked: &Shown, reason: Option<&str>) -> Result<Answer, Error> {
    let body = json!({ "ask": asked.ask, "approve": reason.is_none(), "reason": reason });
    let Decided { status, .. } = remote.post(&["approvals", &asked.task.to_string(), asked.step.as_str()], &body)?;
    Ok(Answer::Done { status })
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
