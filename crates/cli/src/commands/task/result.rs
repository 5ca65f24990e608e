//! `relaymesh task result`

use crate::{
    args::Context,
    error::{Code, Error},
    exit::Exit,
    output, watch,
};
use relaymesh_api::view::Reference;
use relaymesh_core::task::Status;

const EXAMPLES: &str = "\
Examples:
  relaymesh task result tsk_01KH…                 the result of the task
  relaymesh task result tsk_01KH… fetch           the result of a step
  relaymesh task result tsk_01KH… fetch | jq .files";

/// Print the whole result of a task or a step, as JSON
///
/// Does not wait: `relaymesh task wait` does.
#[derive(Debug, clap::Args)]
#[command(after_help = EXAMPLES)]
pub(crate) struct Args {
    /// Id of the task, or at least four characters of its beginning or end
    id: String,
    /// Name or index of a step; by default, the result of the task
    step: Option<String>,
}

pub(crate) fn run(args: &Args, context: &Context) -> Result<Exit, Error> {
    let client = context.client();
    let task = client.find(&args.id)?;
    let shown = client.task(task, false)?;
    let step = match &args.step {
        Some(step) => shown.steps.get(usize::from(client.step(task, step)?)),
        None => None,
    };
    let fetch = |named: &Reference| client.content(task, named);
    let (status, error, has_one) = match step {
        Some(step) => (step.status, step.error.as_ref(), shown.delivered_by(step).is_some()),
        None => (shown.status, None, shown.delivered().is_some()),
    };
    if has_one {
        output::json(|out| match step {
            Some(step) => watch::step_result(&shown, step, &fetch, out),
            None => watch::result(&shown, &fetch, out),
        })?;
        return Ok(Exit::Done);
    }
    let what = args.step.as_ref().map_or_else(|| task.to_string(), |step| format!("step `{step}` of {task}"));
    let why = error.map_or_else(String::new, |error| format!(": {}", output::clean(error)));
    let error = Error::new(Code::Refused, format!("{what} has no result: it is {status}{why}"));
    Err(match status {
        Status::Pending | Status::Waiting | Status::Running | Status::Retrying => {
            error.hint(format!("wait for it with `relaymesh task wait {task}`"))
        }
        Status::Success | Status::Failed | Status::DeadLetter | Status::Cancelled | Status::Skipped => {
            error.hint(format!("show its steps with `relaymesh task show {task}`"))
        }
    })
}
