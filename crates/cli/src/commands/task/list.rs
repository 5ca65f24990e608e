//! `relaymesh task list`

use crate::{
    args::Context,
    error::{Code, Error},
    exit::Exit,
    lookup, output,
    remote::{self, Remote},
    root, time,
    view::with_symbol,
};
use relaymesh_api::view::{self, Page, Summary};
use relaymesh_core::{id::TaskId, suggest, task::Status};
use relaymesh_store::{Reader, TaskFilter};
use serde_json::json;

const EXAMPLES: &str = "\
Examples:
  relaymesh task list                            the newest of this namespace
  relaymesh task list --status DEAD_LETTER       what needs a person
  relaymesh task list --before tsk_01KH…         the next page
  relaymesh task list --json | jq -r .task       one JSON line per task";

/// Tasks that a daemon elsewhere is asked for at once.
const PAGE: usize = 500;

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
    let (tasks, last) = match &context.remote {
        Some(remote) => there(args, context, remote)?,
        None => here(args, context)?,
    };
    let mut lines = vec![["ID", "NAME", "STATUS", "AGE", "STEPS"].map(str::to_owned).to_vec()];
    for task in &tasks {
        if context.json { output::line(&json!(task).to_string()) } else { lines.push(line(task)) }
    }
    if !context.json {
        output::rows(&lines);
    }
    if let Some(last) = last {
        output::note(&format!("more: `relaymesh task list --before {last}`"));
    }
    Ok(Exit::Done)
}

/// The tasks, and the last of them if there may be more.
fn here(args: &Args, context: &Context) -> Result<(Vec<Summary>, Option<TaskId>), Error> {
    let mut reader = root::read(&context.root)?;
    let before = args.before.as_deref().map(|text| key_of(&mut reader, text)).transpose()?;
    let filter = TaskFilter { namespace: Some(context.namespace.clone()), status: args.status };
    let tasks = reader.tasks(&filter, before, usize::from(args.limit))?;
    let full = tasks.len() == usize::from(args.limit);
    let last = tasks.last().map(|task| task.id).filter(|_| full);
    let mut found = Vec::with_capacity(tasks.len());
    for task in tasks {
        // The row may have changed since it was listed; what is shown is of one moment.
        found.extend(reader.task_at(task.key)?.as_ref().map(view::summary));
    }
    Ok((found, last))
}

/// The same of a daemon elsewhere.
fn there(args: &Args, context: &Context, remote: &Remote) -> Result<(Vec<Summary>, Option<TaskId>), Error> {
    let mut cursor = match args.before.as_deref() {
        Some(text) if text.parse::<u64>().is_ok() => Some(text.to_owned()),
        Some(text) => Some(remote::task(remote, context, text)?.to_string()),
        None => None,
    };
    let (limit, mut found) = (usize::from(args.limit), Vec::new());
    loop {
        let query = [
            ("namespace", Some(context.namespace.to_string())),
            ("status", args.status.map(|status| status.to_string())),
            ("limit", Some((limit - found.len()).min(PAGE).to_string())),
            ("cursor", cursor),
        ];
        let page: Page = remote.get(&["tasks"], &query)?;
        found.extend(page.tasks);
        cursor = page.next.map(|next| next.to_string());
        if cursor.is_none() || found.len() >= limit {
            let last = found.last().map(|task: &Summary| task.task).filter(|_| cursor.is_some());
            return Ok((found, last));
        }
    }
}

/// The key of the task's row; a number is taken for the key itself.
fn key_of(reader: &mut impl Reader, text: &str) -> Result<u64, Error> {
    match text.parse() {
        Ok(key) => Ok(key),
        Err(_) => lookup::task(reader, text).map(|rows| rows.task.key),
    }
}

fn line(shown: &Summary) -> Vec<String> {
    let Summary { task, name, status, created_ms, steps_done, steps, .. } = shown;
    let age = time::span(time::now_ms().saturating_sub(*created_ms));
    vec![task.to_string(), name.to_string(), with_symbol(*status), age, format!("{steps_done}/{steps}")]
}

fn parse_status(text: &str) -> Result<Status, Error> {
    let wanted = text.to_ascii_uppercase().replace('-', "_");
    let names = Status::ALL.map(Status::as_str);
    Status::ALL.into_iter().find(|status| status.as_str() == wanted).ok_or_else(|| {
        let near = suggest::nearest(&wanted, names).map_or_else(String::new, |near| format!("did you mean {near}? "));
        Error::new(Code::Usage, format!("{near}a status is one of {}", names.join(", ")))
    })
}
