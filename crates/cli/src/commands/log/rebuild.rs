//! `relaymesh log rebuild`

use super::found;
use crate::{
    args::Context,
    error::{Code, Error},
    exit::Exit,
    output,
    progress::Progress,
    root,
};
use relaymesh_runtime::rebuild;
use relaymesh_store::{
    Reader as _,
    verify::{DIFFERENCES_MAX, Difference},
};
use relaymesh_store_sqlite::{Options, SqliteStore, Sync};
use serde_json::{Value, json};
use std::path::{Path, PathBuf};

const EXAMPLES: &str = "\
Examples:
  relaymesh log rebuild            exit code 0: no difference; 6: the rows differ, and where
  relaymesh log rebuild --json";

/// Rebuild the tables from the log in a copy, and compare
///
/// `log verify` finds damage by a disk or by hand; this also finds rows that a bug wrote with valid checksums. The copy is
/// made in `ROOT/rebuild-PID` and deleted at the end; the live rows are not changed.
#[derive(Debug, clap::Args)]
#[command(after_help = EXAMPLES)]
pub(crate) struct Args {}

pub(crate) fn run(_: &Args, context: &Context) -> Result<Exit, Error> {
    let mut reader = root::read(&context.root)?;
    let head = reader.head()?;
    let scratch = Scratch(context.root.join(format!("rebuild-{}", std::process::id())));
    let mut target =
        SqliteStore::create(&scratch.0, head.chain.origin, &Options { sync: Sync::Off, ..Options::default() })?;
    let mut progress = Progress::new("folded ops:", head.pos);
    let rebuilt = rebuild::rebuild(&mut reader, &mut target, &mut |pos| progress.tell(pos)).map_err(found);
    drop(target);
    scratch.remove();
    let rebuilt = rebuilt?;
    let differences: Vec<Value> = rebuilt.differences.iter().map(to_json).collect();
    if context.json {
        output::value(
            &json!({ "ok": differences.is_empty(), "ops": rebuilt.ops, "tasks": rebuilt.tasks, "differences": differences }),
        );
    } else {
        let facts = [("ops", rebuilt.ops), ("tasks", rebuilt.tasks), ("differences", differences.len() as u64)];
        output::line(&output::table(&facts.map(|(name, value)| vec![name.to_owned(), value.to_string()])));
        rebuilt.differences.iter().for_each(|difference| output::line(&output::clean(&difference.to_string())));
    }
    if differences.is_empty() {
        output::note("the tables match the log");
        return Ok(Exit::Done);
    }
    let at_least = if differences.len() < DIFFERENCES_MAX { "" } else { "at least " };
    Err(Error::new(Code::Damaged, format!("the tables differ from the log in {at_least}{} places", differences.len())))
}

fn to_json(difference: &Difference) -> Value {
    let Difference { task, step, field, stored, rebuilt } = difference;
    json!({ "task": task, "step": step, "field": field, "stored": stored, "rebuilt": rebuilt })
}

/// The folder of the copy. A leftover of a killed process is of no value.
struct Scratch(PathBuf);

impl Scratch {
    fn remove(&self) {
        let path: &Path = &self.0;
        if let Err(error) = std::fs::remove_dir_all(path)
            && error.kind() != std::io::ErrorKind::NotFound
        {
            output::note(&format!("note: cannot delete {}: {error}; delete it by hand", path.display()));
        }
    }
}

impl Drop for Scratch {
    fn drop(&mut self) {
        self.remove();
    }
}
