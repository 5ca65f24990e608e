//! `relaymesh dead list`

use super::find::{Selection, What};
use crate::{args::Context, error::Error, exit::Exit, output, time};
use relaymesh_api::view::dead::All;
use serde_json::json;

const EXAMPLES: &str = "\
Examples:
  relaymesh dead list                            list all of this namespace
  relaymesh dead list --agent reviewer --since 2h
  relaymesh dead list --json | jq -r .why        print the errors";

/// How much of a reason a table shows.
const WHY_CHARS_MAX: usize = 60;

/// List failed tasks and messages, most recent failure first
#[derive(Debug, clap::Args)]
#[command(after_help = EXAMPLES)]
pub(crate) struct Args {
    #[command(flatten)]
    selection: Selection,
    /// Maximum number of results
    #[arg(long, value_name = "N", default_value_t = 50, value_parser = clap::value_parser!(u32).range(1..))]
    limit: u32,
}

pub(crate) fn run(args: &Args, context: &Context) -> Result<Exit, Error> {
    let All { dead: mut found, total } = args.selection.find(&*context.client())?;
    found.sort_by_key(|dead| std::cmp::Reverse(dead.died_ms));
    let shown = &found[..found.len().min(args.limit as usize)];
    if context.json {
        shown.iter().for_each(|dead| output::line(&json!(dead).to_string()));
    } else {
        let mut lines = vec![["ID", "NAME", "AGENT", "END", "AGO", "WHY"].map(str::to_owned).to_vec()];
        lines.extend(shown.iter().map(|dead| {
            let why = dead.why.as_deref().map_or_else(|| "-".to_owned(), |why| output::short(why, WHY_CHARS_MAX));
            let ago = time::span(time::now_ms().saturating_sub(dead.died_ms));
            let id = dead.ids.what().map(What::id).unwrap_or_default();
            vec![id, dead.name.clone(), dead.agent.to_string(), dead.end.clone(), ago, why]
        }));
        output::rows(&lines);
    }
    if shown.len() < total {
        output::note(&format!("more: {total} in total; raise --limit"));
    }
    Ok(Exit::Done)
}
