//! `relaymesh agent remove`

use super::file::Sheet;
use crate::{
    agents,
    args::Context,
    error::{Code, Error},
    exit::Exit,
    lookup, output, root,
};
use relaymesh_core::{id::TaskId, name::Name};
use relaymesh_store::{Reader as _, TaskFilter};
use serde_json::json;

const EXAMPLES: &str = "\
Examples:
  relaymesh agent remove upper
  relaymesh agent remove upper --force     even if steps wait for it; they keep waiting

Its history stays on the log, and its running attempts finish.";

/// Remove an agent from agents.toml
#[derive(Debug, clap::Args)]
#[command(after_help = EXAMPLES)]
pub(crate) struct Args {
    /// Name of the agent
    name: Name,
    /// Remove it even if steps wait for it
    #[arg(long)]
    force: bool,
}

pub(crate) fn run(args: &Args, context: &Context) -> Result<Exit, Error> {
    let mut sheet = Sheet::open(context)?;
    if !sheet.take(&args.name) {
        return Err(agents::unknown(&args.name, &agents::read(&context.root)?));
    }
    let waiting = if root::exists(&context.root) { waiting(&args.name, context)? } else { Vec::new() };
    if let (false, Some(first)) = (args.force, waiting.first()) {
        let message = format!("{} for `{}` that have not ended, such as {first}", count(waiting.len()), args.name);
        let error = Error::new(Code::Refused, message).hint("remove it anyway with `--force`; the steps keep waiting");
        return Err(error
            .hint(format!("wait with `relaymesh task wait {first}`, or cancel with `relaymesh task cancel {first}`")));
    }
    sheet.write()?;
    if context.json {
        output::value(&json!({ "name": args.name, "removed": true, "waiting": waiting }));
    } else {
        output::line(&format!("removed {}", args.name));
    }
    Ok(Exit::Done)
}

fn count(tasks: usize) -> String {
    if tasks == 1 { "1 task has steps".to_owned() } else { format!("{tasks} tasks have steps") }
}

/// The tasks with steps for this agent that have not ended.
fn waiting(agent: &Name, context: &Context) -> Result<Vec<TaskId>, Error> {
    let mut reader = root::read(&context.root)?;
    let mut waiting = Vec::new();
    lookup::each_task(&mut reader, &TaskFilter::default(), |reader, task| {
        if !task.status.is_terminal() {
            let rows = reader.task(task.id)?;
            let steps = rows.into_iter().flat_map(|rows| rows.steps);
            let mut open = steps.filter(|step| step.spec.agent == *agent && !step.status.is_terminal());
            waiting.extend(open.next().map(|_| task.id));
        }
        Ok(())
    })?;
    Ok(waiting)
}
