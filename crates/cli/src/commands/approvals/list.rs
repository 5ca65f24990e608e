//! `relaymesh approvals list`

use crate::{args::Context, asked::Asked, error::Error, exit::Exit, lookup, output, root, time};
use relaymesh_core::{name::Name, task::Status};
use relaymesh_store::{Reader, TaskFilter};

const EXAMPLES: &str = "\
Examples:
  relaymesh approvals list
  relaymesh approvals list --json | jq -r '\"\\(.task) \\(.step): \\(.asks)\"'";

const TEXT_CHARS_MAX: usize = 60;

/// List every step of this namespace that asks for a decision, the most urgent first
///
/// Works while another process writes.
#[derive(Debug, clap::Args)]
#[command(after_help = EXAMPLES)]
pub(crate) struct Args {}

pub(crate) fn run(_: &Args, context: &Context) -> Result<Exit, Error> {
    let mut reader = root::read(&context.root)?;
    let mut asked = find(&mut reader, &context.namespace)?;
    // What never runs out comes last.
    asked.sort_by_key(|asked| (asked.due_ms.wrapping_sub(1), asked.task.key, asked.step.index));
    if context.json {
        asked.iter().for_each(|asked| output::line(&asked.to_json().to_string()));
        return Ok(Exit::Done);
    }
    let mut lines = vec![["TASK", "STEP", "NAME", "UNTIL", "ASKS"].map(str::to_owned).to_vec()];
    lines.extend(asked.iter().map(|asked| {
        let until = if asked.due_ms > 0 { time::rfc3339(asked.due_ms) } else { "-".to_owned() };
        let text = output::short(&asked.ask.text, TEXT_CHARS_MAX);
        vec![asked.task.id.to_string(), asked.name.to_string(), asked.task.name.to_string(), until, text]
    }));
    output::rows(&lines);
    Ok(Exit::Done)
}

/// A step that has no deadline stands in no queue, so the tasks that are under way are looked at.
fn find(reader: &mut impl Reader, namespace: &Name) -> Result<Vec<Asked>, Error> {
    let mut found = Vec::new();
    for status in Status::ALL.into_iter().filter(|status| !status.is_terminal()) {
        let filter = TaskFilter { namespace: Some(namespace.clone()), status: Some(status) };
        lookup::each_task(reader, &filter, |reader, task| {
            let Some(rows) = reader.task_at(task.key)? else { return Ok(()) };
            for (index, step) in rows.indexed() {
                if step.status == Status::Waiting && step.spec.approve.is_some() {
                    found.push(Asked::load(reader, &rows, index)?);
                }
            }
            Ok(())
        })?;
    }
    Ok(found)
}
