//! `relaymesh task list`

use crate::{
    args::Context,
    error::{Code, Error},
    exit::Exit,
    lookup, output, root, time,
    view::with_symbol,
};
use relaymesh_api::view::{self, progress};
use relaymesh_core::{
    suggest,
    task::{Status, Task, TaskRows},
};
use relaymesh_store::{Reader, TaskFilter};

const EXAMPLES: &str = "\
Examples:
  relaymesh task list                            the newest of this namespace
  relaymesh task list --status DEAD_LETTER       what needs a person
  relaymesh task list --before tsk_01KH…         the next page
  relaymesh task list --json | jq -r .task       one JSON line per task";

/// List tasks, newest first
///
/// Works while another process runs them.
#[derive(Debug, clap::Args)]
#[command(after_help = EXAMPLES)]
pub(crate) struct Args {
    /// Only those that rest here: PENDING, RUNNING, SUCCESS, FAILED, DEAD_LETTER or CANCELLED
    #[arg(long, value_name = "STATUS", value_parser = parse_status)]
    status: Option<Status>,
    /// At most this many
    #[arg(long, value_name = "N", default_value_t = 20, value_parser = clap::value_parser!(u16).range(1..=1000))]
    limit: u16,
    /// Only those older than this task
    #[arg(long, value_name = "ID")]
    before: Option<String>,
}

pub(crate) fn run(args: &Args, context: &Context) -> Result<Exit, Error> {
    let mut reader = root::read(&context.root)?;
    let before = args.before.as_deref().map(|text| key_of(&mut reader, text)).transpose()?;
    let filter = TaskFilter { namespace: Some(context.namespace.clone()), status: args.status };
    let tasks = reader.tasks(&filter, before, usize::from(args.limit))?;
    let full = tasks.len() == usize::from(args.limit);
    let last = tasks.last().map(|task| task.id);
    let mut lines = vec![["ID", "NAME", "STATUS", "AGE", "STEPS"].map(str::to_owned).to_vec()];
    for task in tasks {
        // The row may have changed since it was listed; what is shown is of one moment.
        let Some(rows) = reader.task_at(task.key)? else { continue };
        if context.json { output::line(&view::summary(&rows).to_string()) } else { lines.push(line(&rows)) }
    }
    if !context.json {
        output::rows(&lines);
    }
    if let Some(last) = last.filter(|_| full) {
        output::note(&format!("more: `relaymesh task list --before {last}`"));
    }
    Ok(Exit::Done)
}

/// The key of the task's row; a number is taken for the key itself.
fn key_of(reader: &mut impl Reader, text: &str) -> Result<u64, Error> {
    match text.parse() {
        Ok(key) => Ok(key),
        Err(_) => lookup::task(reader, text).map(|rows| rows.task.key),
    }
}

fn line(rows: &TaskRows) -> Vec<String> {
    let Task { id, name, status, created_ms, .. } = &rows.task;
    let (done, total) = progress(rows);
    let age = time::span(time::now_ms().saturating_sub(*created_ms));
    vec![id.to_string(), name.to_string(), with_symbol(*status), age, format!("{done}/{total}")]
}

fn parse_status(text: &str) -> Result<Status, Error> {
    let wanted = text.to_ascii_uppercase().replace('-', "_");
    let names = Status::ALL.map(Status::as_str);
    Status::ALL.into_iter().find(|status| status.as_str() == wanted).ok_or_else(|| {
        let near = suggest::nearest(&wanted, names).map_or_else(String::new, |near| format!("did you mean {near}? "));
        Error::new(Code::Usage, format!("{near}a status is one of {}", names.join(", ")))
    })
}
