//! What approve and deny share: the person sees exactly what is asked, and the decision cites its hash.

use crate::{
    args::Context,
    asked,
    client::Change,
    error::{Code, Error},
    exit::Exit,
    output,
};
use relaymesh_api::view::Changed;
use relaymesh_core::{hash::Hash, name::Name};
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
    let client = context.client();
    let asked = asked::look(&*client, client.find(decision.task)?, decision.step)?;
    output::note(&asked::to_text(&asked));
    let (task, name) = (asked.task, &asked.step);
    match decision.cited {
        Some(cited) if cited != asked.ask => {
            let message = format!("step `{name}` has the request {}, but the decision is for {cited}", asked.ask);
            let hint = format!("show the current request with `relaymesh approvals show {task} {name}`");
            return Err(Error::new(Code::Refused, message).hint(hint));
        }
        Some(_) => {}
        None => confirm(decision)?,
    }
    let change = Change::Decide { step: name.clone(), ask: asked.ask, denied: reason.map(str::to_owned) };
    let changed = match client.change(task, &change) {
        // Somebody was faster; what they decided is worth more than that this came too late.
        Err(error) if error.code == Code::Refused => {
            return Err(asked::look(&*client, task, Some(name.as_str())).err().unwrap_or(error));
        }
        changed => changed?,
    };
    let exit = say_done(context, decision.event, Some(name), &changed);
    output::note(&format!("  next: `relaymesh task wait {task}`"));
    Ok(exit)
}

fn confirm(decision: &Decision<'_>) -> Result<(), Error> {
    let verb = decision.verb;
    let refused = |message: &str| {
        Error::new(Code::NotConfirmed, message).hint(format!("use `--yes` to {verb} without confirmation"))
    };
    if decision.yes {
        return Ok(());
    }
    if !output::is_interactive() {
        return Err(refused("cannot ask for confirmation: this is not a terminal"));
    }
    if output::ask(&format!("{verb} this?")) { Ok(()) } else { Err(refused("not confirmed")) }
}

/// Says what was done and where the task rests now.
pub(super) fn say_done(context: &Context, event: &str, step: Option<&Name>, changed: &Changed) -> Exit {
    let Changed { task, status } = changed;
    if context.json {
        let mut value = json!({ "event": event, "task": task, "status": status });
        if let Some(step) = step {
            value["step"] = json!(step);
        }
        output::value(&value);
    } else {
        let step = step.map_or_else(String::new, |step| format!(" step `{step}`"));
        output::note(&format!("{event} {task}{step}; the task is {status}"));
    }
    Exit::Done
}
