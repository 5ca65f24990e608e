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
use relaymesh_core::{hash::Hash, id::NodeId};
use relaymesh_store::{
    Reader as _,
    verify::{self, Problem},
};
use serde_json::{Value, json};

const EXAMPLES: &str = "\
Examples:
  relaymesh log verify             exit code 0: intact; 6: damaged, with what to do
  relaymesh log verify --json";

/// Check the log and the tables for corruption
///
/// Checks the hash chain of the ops, the checksum of each row, the hash of all rows, the indexes, and that no
/// acknowledged op is missing. Changes nothing.
#[derive(Debug, clap::Args)]
#[command(after_help = EXAMPLES)]
pub(crate) struct Args {}

/// What was checked, and is as it was written.
pub(crate) struct Checked {
    pub(crate) ops: u64,
    tasks: u64,
    steps: u64,
    state: String,
    head: Option<Hash>,
    origin: NodeId,
    origin_epoch: u32,
}

pub(crate) fn run(_: &Args, context: &Context) -> Result<Exit, Error> {
    let checked = check(context)?;
    if context.json {
        output::value(&checked.to_json());
    } else {
        output::line(&checked.to_text());
        output::note("the log and the tables are intact");
    }
    Ok(Exit::Done)
}

/// Checks every op and every row.
pub(crate) fn check(context: &Context) -> Result<Checked, Error> {
    let mut reader = root::read(&context.root)?;
    // Of one moment, so that a daemon may go on meanwhile.
    reader.hold_still()?;
    let head = reader.head()?;
    let (total, _) = reader.counts()?;
    let mut progress = Progress::new("checked ops:", head.pos);
    let checked =
        verify::chain(&mut reader, verify::Checked::default(), &mut |pos| progress.tell(pos)).map_err(found)?;
    let mut progress = Progress::new("checked tasks:", total);
    let rows = verify::rows(&mut reader, &mut |tasks| progress.tell(tasks))
        .map_err(|problem| found(gone_meanwhile(problem, head.pos, context)))?;
    drop(reader);
    // Only the writer compares the store with its sidecar; another process that has the root did so when it started.
    match root::open(&context.root, &Default::default()) {
        Ok(store) => drop(store),
        Err(error) if error.code == Code::RootInUse => {
            output::note("note: another process is using the root, so the newest acknowledged op was not compared");
        }
        Err(error) => return Err(error),
    }
    Ok(Checked {
        ops: checked.pos,
        tasks: rows.tasks,
        steps: rows.steps,
        state: format!("{:032x}", rows.state.0),
        head: checked.chain.as_ref().map(|chain| chain.head),
        origin: head.chain.origin,
        origin_epoch: head.chain.origin_epoch,
    })
}

/// Files of contents are not held still: of what somebody purged and compacted since, they may be gone.
fn gone_meanwhile(problem: Problem, from: u64, context: &Context) -> Problem {
    let is_content = matches!(problem, Problem::NoContent { .. } | Problem::Store(_));
    let now = root::read(&context.root).ok().and_then(|mut reader| reader.head().ok()).map(|head| head.pos);
    match now {
        Some(to) if is_content && to != from => Problem::Moved { from, to },
        Some(_) | None => problem,
    }
}

impl Checked {
    /// For programs.
    pub(crate) fn to_json(&self) -> Value {
        let Self { ops, tasks, steps, state, head, origin, origin_epoch } = self;
        json!({
            "ok": true, "ops": ops, "tasks": tasks, "steps": steps, "state_hash": state, "head": head,
            "origin": origin, "origin_epoch": origin_epoch,
        })
    }

    /// For people.
    pub(crate) fn to_text(&self) -> String {
        let facts = [
            ("ops", self.ops.to_string()),
            ("tasks", self.tasks.to_string()),
            ("steps", self.steps.to_string()),
            ("state", self.state.clone()),
        ];
        output::table(&facts.map(|(name, value)| vec![name.to_owned(), value]))
    }
}
