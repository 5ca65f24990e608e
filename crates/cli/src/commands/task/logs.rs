//! `relaymesh task logs`

use crate::{
    args::Context,
    bell::{self, Bell},
    error::Error,
    exit::Exit,
    lookup, output, root, view,
};
use relaymesh_core::{
    id::TaskId,
    task::{Status, Step, TaskRows},
};
use relaymesh_runtime::scripts;
use relaymesh_store::Reader as _;
use relaymesh_store_sqlite::SqliteReader;
use serde_json::{Value, json};
use std::{
    collections::BTreeMap,
    fs::File,
    io::{self, Read as _, Seek as _, SeekFrom},
    path::{Path, PathBuf},
};

const EXAMPLES: &str = "\
Examples:
  relaymesh task logs tsk_01KH…                 what its agents said about their progress
  relaymesh task logs tsk_01KH… --follow        and what they go on saying, until it has ended
  relaymesh task logs tsk_01KH… --stdout        what they gave as results, half ones too
  relaymesh task logs tsk_01KH… --step draft    of one step only";

/// Where results come from.
const STDOUT: &str = "stdout";
/// What is read at once.
const READ_BYTES: u64 = 1 << 20;

/// Show what the processes of a task said
///
/// Their stderr is kept in a file for each attempt, as long as the task is. Builtin agents say nothing.
#[derive(Debug, clap::Args)]
#[command(after_help = EXAMPLES)]
pub(crate) struct Args {
    /// The task's id, or at least four characters of its beginning or end
    id: String,
    /// Go on until the task has ended
    #[arg(long, short)]
    follow: bool,
    /// What they gave as results instead
    #[arg(long)]
    stdout: bool,
    /// Of this step only
    #[arg(long, value_name = "STEP")]
    step: Option<String>,
}

pub(crate) fn run(args: &Args, context: &Context) -> Result<Exit, Error> {
    let mut bell = Bell::new(&context.root);
    let mut reader = root::read(&context.root)?;
    let rows = lookup::task(&mut reader, &args.id)?;
    let only = args.step.as_deref().map(|text| lookup::step(&rows, text)).transpose()?.map(|(index, _)| index);
    let mut tail = Tail { context, stream: if args.stdout { STDOUT } else { "stderr" }, only, read: BTreeMap::new() };
    let (id, mut rows) = (rows.task.id, rows);
    loop {
        let is_over = rows.task.status.is_terminal() || !args.follow;
        let heard = tail.is_heard(&bell, &rows);
        tail.show(&mut reader, &rows, is_over)?;
        if is_over {
            return Ok(if args.follow { Exit::of(rows.task.status) } else { Exit::Done });
        }
        bell.wait((!heard).then_some(bell::LOOK));
        rows = again(&mut reader, id)?;
    }
}

fn again(reader: &mut SqliteReader, id: TaskId) -> Result<TaskRows, Error> {
    match reader.task(id)? {
        Some(rows) => Ok(rows),
        None => lookup::task(reader, &id.to_string()),
    }
}

struct Tail<'a> {
    context: &'a Context,
    stream: &'static str,
    only: Option<u16>,
    /// How much of each file was shown.
    read: BTreeMap<PathBuf, u64>,
}

impl Tail<'_> {
    /// Shows whatever is new. A line that has no end yet waits for it, unless there will be none.
    fn show(&mut self, reader: &mut SqliteReader, rows: &TaskRows, is_over: bool) -> Result<(), Error> {
        for (index, step) in rows.indexed() {
            if self.only.is_some_and(|only| only != index) {
                continue;
            }
            for epoch in 1..=step.epoch {
                self.show_attempt(rows.task.id, step, epoch, is_over);
            }
            self.show_result(reader, rows.task.id, step)?;
        }
        Ok(())
    }

    /// A short result has no file: it is kept as the result alone.
    fn show_result(&mut self, reader: &mut SqliteReader, task: TaskId, step: &Step) -> Result<(), Error> {
        let path = self.file(task, step, step.epoch);
        let folder = path.parent().is_some_and(Path::exists);
        if self.stream != STDOUT || step.status != Status::Success || !folder || self.read.contains_key(&path) {
            return Ok(());
        }
        let result = match view::result(reader, step)? {
            Some(Value::String(text)) => text,
            Some(Value::Null) | None => String::new(),
            Some(value) => value.to_string(),
        };
        self.read.insert(path, result.len() as u64);
        result.lines().for_each(|line| self.say(step, step.epoch, line));
        Ok(())
    }

    fn say(&self, step: &Step, epoch: u32, line: &str) {
        let name = &step.spec.name;
        if self.context.json {
            output::line(&json!({ "step": name, "epoch": epoch, "line": line }).to_string());
        } else {
            output::line(&format!("{name}.{epoch} | {}", output::clean(line)));
        }
    }

    /// Whether the bell rings for everything that running attempts say from now on. An agent writes into its file and tells
    /// nobody; before its first word there may be no file to listen to.
    fn is_heard(&self, bell: &Bell, rows: &TaskRows) -> bool {
        let is_wanted = |index: u16| self.only.is_none_or(|only| only == index);
        let running = rows.indexed().filter(|(index, step)| is_wanted(*index) && step.status == Status::Running);
        running.fold(true, |heard, (_, step)| bell.hears(&self.file(rows.task.id, step, step.epoch)) && heard)
    }

    fn file(&self, task: TaskId, step: &Step, epoch: u32) -> PathBuf {
        scripts::said(&self.context.root, task, &step.spec.name, epoch, self.stream)
    }

    fn show_attempt(&mut self, task: TaskId, step: &Step, epoch: u32, is_over: bool) {
        let path = self.file(task, step, epoch);
        loop {
            let from = self.read.get(&path).copied().unwrap_or(0);
            // A file that is not there, or not any more, has nothing to show.
            let Ok(bytes) = read(&path, from) else { return };
            let whole = bytes.iter().rposition(|byte| *byte == b'\n').map_or(0, |at| at + 1);
            let is_full = bytes.len() as u64 == READ_BYTES;
            let shown = if whole == 0 && (is_over || is_full) { bytes.len() } else { whole };
            if shown == 0 {
                return;
            }
            self.read.insert(path.clone(), from + shown as u64);
            String::from_utf8_lossy(&bytes[..shown]).lines().for_each(|line| self.say(step, epoch, line));
        }
    }
}

fn read(path: &PathBuf, from: u64) -> io::Result<Vec<u8>> {
    let mut file = File::open(path)?;
    file.seek(SeekFrom::Start(from))?;
    let mut bytes = Vec::new();
    file.take(READ_BYTES).read_to_end(&mut bytes)?;
    Ok(bytes)
}
