//! `relaymesh task logs`

use crate::{
    args::Context,
    bell::{self, Bell},
    error::Error,
    exit::Exit,
    lookup, output,
    remote::{self, Remote},
    root,
    view::{Shown, View},
};
use relaymesh_api::view::{LogPart, ShownStep};
use relaymesh_core::{id::TaskId, task::Status};
use relaymesh_runtime::agents::said;
use relaymesh_store::Reader as _;
use relaymesh_store_sqlite::SqliteReader;
use serde_json::{Value, json};
use std::{
    collections::BTreeMap,
    fs::File,
    io::{self, Read as _, Seek as _, SeekFrom},
    path::Path,
    time::Duration,
};

const EXAMPLES: &str = "\
Examples:
  relaymesh task logs tsk_01KH…                 what its agents said about their progress
  relaymesh task logs tsk_01KH… --follow        and what they go on saying, until it has ended
  relaymesh task logs tsk_01KH… --stdout        what they gave as results, half ones too
  relaymesh task logs tsk_01KH… --step draft    of one step only";

/// What is read at once.
const READ_BYTES: u64 = 1 << 20;
/// How often a daemon elsewhere is asked what its agents say: nothing tells of that.
const THERE_LOOK: Duration = Duration::from_secs(1);

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
    if let Some(remote) = &context.remote {
        return there(args, context, remote);
    }
    let mut bell = Bell::new(&context.root);
    let mut reader = root::read(&context.root)?;
    let rows = lookup::task(&mut reader, &args.id)?;
    let only = args.step.as_deref().map(|text| lookup::step(&rows, text)).transpose()?.map(|(index, _)| index);
    let files = |step: &ShownStep, epoch: u32, stream: Stream, from: u64| {
        let path = said(&context.root, rows.task.id, &step.step, epoch, stream.as_str());
        // A file that is not there, or not any more, has nothing to show.
        let read = read(&path, from).ok();
        Ok(read.map(|bytes| (from + bytes.len() as u64, bytes)))
    };
    let mut tail = Tail::new(context, args, only, &files);
    loop {
        let shown = again(&mut reader, &context.root, rows.task.id)?;
        let is_over = shown.status.is_terminal() || !args.follow;
        let heard = tail.wanted(&shown).filter(|step| step.status == Status::Running).fold(true, |heard, step| {
            // An agent writes into its file and tells nobody; before its first word there may be no file to listen to.
            let path = said(&context.root, shown.task, &step.step, step.epoch, tail.stream.as_str());
            bell.hears(&path) && heard
        });
        tail.show(&shown, is_over)?;
        if is_over {
            return Ok(if args.follow { Exit::of(shown.status) } else { Exit::Done });
        }
        bell.wait((!heard).then_some(bell::LOOK));
    }
}

/// The same of a daemon elsewhere.
fn there(args: &Args, context: &Context, remote: &Remote) -> Result<Exit, Error> {
    let id = remote::task(remote, context, &args.id)?.to_string();
    let look = || remote.get::<Shown>(&["tasks", &id], &[]);
    let step_of = |step: &str| remote.get::<ShownStep>(&["tasks", &id, "steps", step], &[]);
    let only = args.step.as_deref().map(step_of).transpose()?.map(|step| step.index);
    let parts = |step: &ShownStep, epoch: u32, stream: Stream, from: u64| {
        let query = [
            ("epoch", Some(epoch.to_string())),
            ("stream", Some(stream.as_str().to_owned())),
            ("offset", Some(from.to_string())),
        ];
        let part: LogPart = remote.get(&["tasks", &id, "steps", step.step.as_str(), "logs"], &query)?;
        Ok((part.next > from).then(|| (part.next, part.text.into_bytes())))
    };
    let mut tail = Tail::new(context, args, only, &parts);
    let mut events = remote.events(&[("task", Some(id.clone()))])?;
    loop {
        let shown = look()?;
        let is_over = shown.status.is_terminal() || !args.follow;
        tail.show(&shown, is_over)?;
        if is_over {
            return Ok(if args.follow { Exit::of(shown.status) } else { Exit::Done });
        }
        if !events.rings(Some(THERE_LOOK)) {
            events = remote.events(&[("task", Some(id.clone()))])?;
        }
    }
}

fn again(reader: &mut SqliteReader, root: &Path, id: TaskId) -> Result<Shown, Error> {
    let rows = match reader.task(id)? {
        Some(rows) => rows,
        None => lookup::task(reader, &id.to_string())?,
    };
    Ok(View::load(reader, rows)?.with_processes(root).shown(false))
}

/// Which of the two.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Stream {
    Stdout,
    Stderr,
}

impl Stream {
    fn as_str(self) -> &'static str {
        match self {
            Self::Stdout => "stdout",
            Self::Stderr => "stderr",
        }
    }
}

/// What an attempt said from a byte on, and up to which, if it said anything.
type Read<'a> = dyn Fn(&ShownStep, u32, Stream, u64) -> Result<Option<(u64, Vec<u8>)>, Error> + 'a;

struct Tail<'a> {
    context: &'a Context,
    stream: Stream,
    only: Option<u16>,
    read: &'a Read<'a>,
    /// How much of each attempt was shown, by the place of its step and its number.
    shown: BTreeMap<(u16, u32), u64>,
}

impl<'a> Tail<'a> {
    fn new(context: &'a Context, args: &Args, only: Option<u16>, read: &'a Read<'a>) -> Self {
        let stream = if args.stdout { Stream::Stdout } else { Stream::Stderr };
        Self { context, stream, only, read, shown: BTreeMap::new() }
    }

    /// The steps that are wanted.
    fn wanted<'t>(&self, task: &'t Shown) -> impl Iterator<Item = &'t ShownStep> + use<'t> {
        let only = self.only;
        task.steps.iter().filter(move |step| only.is_none_or(|only| only == step.index))
    }

    /// Shows whatever is new. A line that has no end yet waits for it, unless there will be none.
    fn show(&mut self, task: &Shown, is_over: bool) -> Result<(), Error> {
        for step in self.wanted(task) {
            for epoch in 1..=step.epoch {
                self.show_attempt(step, epoch, is_over)?;
            }
            if task.steps.iter().any(|step| step.ran.is_some()) {
                self.show_result(step);
            }
        }
        Ok(())
    }

    /// A short result has no file: it is kept as the result alone.
    fn show_result(&mut self, step: &ShownStep) {
        let key = (step.index, step.epoch);
        if self.stream != Stream::Stdout || step.status != Status::Success || self.shown.contains_key(&key) {
            return;
        }
        let result = match &step.result {
            Value::String(text) => text.clone(),
            Value::Null => String::new(),
            value @ (Value::Bool(_) | Value::Number(_) | Value::Array(_) | Value::Object(_)) => value.to_string(),
        };
        self.shown.insert(key, result.len() as u64);
        result.lines().for_each(|line| self.say(step, step.epoch, line));
    }

    fn say(&self, step: &ShownStep, epoch: u32, line: &str) {
        let name = &step.step;
        if self.context.json {
            output::line(&json!({ "step": name, "epoch": epoch, "line": line }).to_string());
        } else {
            output::line(&format!("{name}.{epoch} | {}", output::clean(line)));
        }
    }

    fn show_attempt(&mut self, step: &ShownStep, epoch: u32, is_over: bool) -> Result<(), Error> {
        loop {
            let from = self.shown.get(&(step.index, epoch)).copied().unwrap_or(0);
            let Some((next, bytes)) = (self.read)(step, epoch, self.stream, from)? else { return Ok(()) };
            let whole = bytes.iter().rposition(|byte| *byte == b'\n').map_or(0, |at| at + 1);
            let is_full = bytes.len() as u64 >= READ_BYTES;
            // What is no text comes as other bytes than it was, so it cannot be said where in it a line ends.
            let is_text = next - from == bytes.len() as u64;
            let shown = if (whole == 0 && (is_over || is_full)) || !is_text { bytes.len() } else { whole };
            if shown == 0 {
                return Ok(());
            }
            let reached = if shown == bytes.len() { next } else { from + shown as u64 };
            self.shown.insert((step.index, epoch), reached);
            String::from_utf8_lossy(&bytes[..shown]).lines().for_each(|line| self.say(step, epoch, line));
        }
    }
}

fn read(path: &Path, from: u64) -> io::Result<Vec<u8>> {
    let mut file = File::open(path)?;
    file.seek(SeekFrom::Start(from))?;
    let mut bytes = Vec::new();
    file.take(READ_BYTES).read_to_end(&mut bytes)?;
    Ok(bytes)
}
