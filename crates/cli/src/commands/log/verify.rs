//! `relaymesh log verify`

use super::found;
use crate::{
    args::Context,
    error::{Code, Error},
    exit::Exit,
    output,
    progress::Progress,
    root,
};
use relaymesh_store::{Reader as _, verify};
use serde_json::json;

const EXAMPLES: &str = "\
Examples:
  relaymesh log verify             exit code 0: everything is as it was written; 6: it is not, and what to do
  relaymesh log verify --json";

/// Check every op and every row
///
/// Ops: each hash covers the op and the one before it. Rows: each has a sum, all together have a hash, and what is looked
/// up beside them says the same. Head: the store knows no less than it has acknowledged. Nothing is changed.
#[derive(Debug, clap::Args)]
#[command(after_help = EXAMPLES)]
pub(crate) struct Args {}

pub(crate) fn run(_: &Args, context: &Context) -> Result<Exit, Error> {
    let mut reader = root::read(&context.root)?;
    let head = reader.head()?;
    let (total, _) = reader.counts()?;
    let mut progress = Progress::new("checked ops:", head.pos);
    let checked =
        verify::chain(&mut reader, verify::Checked::default(), &mut |pos| progress.tell(pos)).map_err(found)?;
    let mut progress = Progress::new("checked tasks:", total);
    let rows = verify::rows(&mut reader, &mut |tasks| progress.tell(tasks)).map_err(found)?;
    // Only the writer compares the store with its sidecar; another process that has the root did so when it started.
    match root::open(&context.root) {
        Ok(store) => drop(store),
        Err(error) if error.code == Code::RootInUse => {
            output::note("note: another process has the root, so the newest acknowledged op was not compared");
        }
        Err(error) => return Err(error),
    }
    let state = format!("{:032x}", rows.state.0);
    if context.json {
        let value = json!({
            "ok": true, "ops": checked.pos, "tasks": rows.tasks, "steps": rows.steps, "state_hash": state,
            "head": checked.chain.as_ref().map(|chain| chain.head), "origin": head.chain.origin,
            "origin_epoch": head.chain.origin_epoch,
        });
        output::value(&value);
    } else {
        let facts = [
            ("ops", checked.pos.to_string()),
            ("tasks", rows.tasks.to_string()),
            ("steps", rows.steps.to_string()),
            ("state", state),
        ];
        output::line(&output::table(&facts.map(|(name, value)| vec![name.to_owned(), value])));
        output::note("everything is as it was written");
    }
    Ok(Exit::Done)
}
