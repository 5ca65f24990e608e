//! `relaymesh task list`

use crate::{
    args::Context,
    client::Listed,
    error::{Code, Error},
    exit::Exit,
    output, time,
    view::with_symbol,
};
use relaymesh_api::view::Summary;
use relaymesh_core::{suggest, task::Status};
use serde_json::json;

const EXAMPLES: &str = "\
Examples:
  relaymesh task list                            list the newest tasks of this namespace
  relaymesh task list --status DEAD_LETTER       only tasks that used up their attempts
  relaymesh task list --before tsk_01KH…         next page
  relaymesh task list --json | jq -r .task       one JSON line per task";

/// List tasks, newest first
#[derive(Debug, clap::Args)]
#[command(after_help = EXAMPLES)]
pub(crate) struct Args {
    /// Only tasks with this status: PENDING, RUNNING, SUCCESS, FAILED, DEAD_LETTER or CANCELLED
    #[arg(long, value_name = "STATUS", value_parser = parse_status)]
    status: Option<Status>,
    /// Maximum number of results
    #[arg(long, value_name = "N", default_value_t = 20, value_parser = clap::value_parser!(u16).range(1..=1000))]
    limit: u16,
    /// Only tasks older than this one
    #[arg(long, value_name = "ID")]
    before: Option<String>,
}

pub(crate) fn run(args: &Args, context: &Context) -> Result<Exit, Error> {
    let wanted = Listed { status: args.status, limit: usize::from(args.limit), before: args.before.as_deref() };
    let (tasks, last) = context.client().tasks(&wanted)?;
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
        Error::new(Code::Usage, format!("{near}use one of {}", names.join(", ")))
    })
}
