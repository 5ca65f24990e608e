//! `relaymesh audit fenced`

use crate::{args::Context, error::Error, exit::Exit, output};
use serde_json::json;

const EXAMPLES: &str = "\
Examples:
  relaymesh audit fenced                     show the newest fenced writes, newest first
  relaymesh audit fenced --task tsk_01KH…    of one task
  relaymesh audit fenced --json | jq .task";

/// Show reports of workers that were rejected because their lease was over
///
/// A worker that was suspended or cut off may report a result after its step was given to another worker. Such a write is
/// rejected as fenced and changes nothing. EPOCH is that of the step, GIVEN the one that the worker showed.
#[derive(Debug, clap::Args)]
#[command(after_help = EXAMPLES)]
pub(crate) struct Args {
    /// Only writes about this task
    #[arg(long, value_name = "ID")]
    task: Option<String>,
    /// Maximum number of results
    #[arg(long, value_name = "N", default_value_t = 100)]
    limit: usize,
}

pub(crate) fn run(args: &Args, context: &Context) -> Result<Exit, Error> {
    let page = context.client().fenced(args.task.as_deref(), args.limit)?;
    if context.json {
        page.entries.iter().for_each(|entry| output::line(&json!(entry).to_string()));
        return Ok(Exit::Done);
    }
    if page.entries.is_empty() {
        output::note("no write was fenced");
        return Ok(Exit::Done);
    }
    let mut lines = vec![["TIME", "TASK", "STEP", "WRITE", "STATUS", "EPOCH", "GIVEN"].map(str::to_owned).to_vec()];
    lines.extend(page.entries.into_iter().map(|entry| {
        let (step, epoch, given) = (entry.step.to_string(), entry.epoch.to_string(), entry.given.to_string());
        vec![entry.at, entry.task.to_string(), step, entry.verb, entry.status.to_string(), epoch, given]
    }));
    output::line(&output::table(&lines));
    Ok(Exit::Done)
}
