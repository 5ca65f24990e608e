//! What approve and deny share: the person sees exactly what is asked, and the decision cites its hash.

use crate::{
    args::Context,
    error::{Code, Error},
    exit::Exit,
    link::{self, Missing},
    lookup, output, root,
};
use relaymesh_core::{
    hash::Hash,
    id::{StepId, TaskId},
    name::Name,
    task::{Status, Step},
};
use relaymesh_runtime::driver::{Answer, Command};
use serde_json::json;

/// The decision.
pub(super) struct Decision<'a> {
    pub(super) task: &'a str,
    pub(super) step: &'a str,
    pub(super) yes: bool,
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
    let rows = lookup::task(&mut root::read(&context.root)?, decision.task)?;
    let (index, step) = lookup::step(&rows, decision.step)?;
    let ask = asked(step)?;
    output::note(&format!("step `{}` of {} asks:\n  {}", step.spec.name, rows.task.id, output::clean(&ask.text)));
    let verb = decision.verb;
    if !decision.yes {
        let refused = |message: &str| {
            Error::new(Code::NotConfirmed, message).hint(format!("`--yes` says {verb} without a question"))
        };
        if !output::is_interactive() {
            return Err(refused("there is nobody to ask: this is not a terminal"));
        }
        if !output::ask(&format!("{verb} this?")) {
            return Err(refused("not confirmed"));
        }
    }
    let (task, name) = (rows.task.id, step.spec.name.clone());
    let answer = link::once(context, Missing::Refuse, command(StepId { task, index }, ask.hash()))?;
    let exit = say_done(context, decision.event, task, Some(&name), &answer)?;
    output::note(&format!("  next: `relaymesh task wait {task}`"));
    Ok(exit)
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

fn asked(step: &Step) -> Result<&relaymesh_core::task::spec::Ask, Error> {
    let name = &step.spec.name;
    match &step.spec.approve {
        Some(ask) if step.status == Status::Waiting => Ok(ask),
        Some(_) => {
            let decided = step.decided_by.as_ref().map_or_else(String::new, |who| format!(" ({who} has decided)"));
            Err(Error::new(
                Code::Refused,
                format!("step `{name}` does not wait for approval: it is {}{decided}", step.status),
            ))
        }
        None => Err(Error::new(Code::Refused, format!("step `{name}` asks for nothing"))),
    }
}
