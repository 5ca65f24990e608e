//! `relaymesh task logs`

use crate::{
    args::Context,
    client::{About, Client, Rang, Stream},
    error::Error,
    exit::Exit,
    output,
    view::Shown,
};
use relaymesh_api::view::{Delivered, ShownStep};
use relaymesh_core::{content::Media, id::TaskId, name::Name, task::Status};
use serde_json::{Value, json};
use std::collections::BTreeMap;

const EXAMPLES: &str = "\
Examples:
  relaymesh task logs tsk_01KH…                 stderr of every attempt
  relaymesh task logs tsk_01KH… --follow        print new lines until the task has ended
  relaymesh task logs tsk_01KH… --stdout        stdout instead, complete or not
  relaymesh task logs tsk_01KH… --step draft    one step only";

/// What is read at once.
const READ_BYTES: u64 = 1 << 20;

/// Show the output of a task's processes
///
/// Prints stderr, which is kept for each attempt as long as the task. Built-in agents print nothing.
#[derive(Debug, clap::Args)]
#[command(after_help = EXAMPLES)]
pub(crate) struct Args {
    /// Id of the task, or at least four characters of its beginning or end
    id: String,
    /// Print new lines until the task has ended
    #[arg(long, short)]
    follow: bool,
    /// Show stdout instead of stderr
    #[arg(long)]
    stdout: bool,
    /// Only this step
    #[arg(long, value_name = "STEP")]
    step: Option<String>,
}

pub(crate) fn run(args: &Args, context: &Context) -> Result<Exit, Error> {
    let client = context.client();
    let task = client.find(&args.id)?;
    let only = args.step.as_deref().map(|text| client.step(task, text)).transpose()?;
    let stream = if args.stdout { Stream::Stdout } else { Stream::Stderr };
    let mut tail = Tail { only, stream, ..Tail::new(context, task, &*client) };
    let mut bell = client.bell(About::Task(task))?;
    loop {
        let shown = client.task(task, false)?;
        let is_over = shown.status.is_terminal() || !args.follow;
        let running = tail.wanted(&shown).filter(|step| step.status == Status::Running);
        let running: Vec<(Name, u32)> = running.map(|step| (step.step.clone(), step.epoch)).collect();
        // In this order: what is written after the look rings.
        let at_most = bell.listen(task, &running, tail.stream);
        tail.show(&shown, is_over)?;
        if is_over {
            return Ok(if args.follow { Exit::of(shown.status) } else { Exit::Done });
        }
        if bell.wait(at_most)? == Rang::Ended {
            bell = client.bell(About::Task(task))?;
        }
    }
}

/// What the processes of a task have written, from where it was last shown on.
pub(crate) struct Tail<'a> {
    context: &'a Context,
    /// Shows a line.
    line: fn(&str),
    stream: Stream,
    only: Option<u16>,
    client: &'a dyn Client,
    task: TaskId,
    /// How much of each attempt was shown, by the place of its step and its number.
    shown: BTreeMap<(u16, u32), u64>,
}

impl<'a> Tail<'a> {
    /// Of stderr of all steps, to stdout.
    fn new(context: &'a Context, task: TaskId, client: &'a dyn Client) -> Self {
        let (line, stream) = (output::line as fn(&str), Stream::Stderr);
        Self { context, line, stream, only: None, client, task, shown: BTreeMap::new() }
    }

    /// The same as notes, beside the data that a command prints.
    pub(crate) fn noted(context: &'a Context, task: TaskId, client: &'a dyn Client) -> Self {
        Self { line: output::note, ..Self::new(context, task, client) }
    }

    /// The steps that are wanted.
    fn wanted<'t>(&self, task: &'t Shown) -> impl Iterator<Item = &'t ShownStep> + use<'t> {
        let only = self.only;
        task.steps.iter().filter(move |step| only.is_none_or(|only| only == step.index))
    }

    /// Shows new output. An incomplete line waits for its end, unless the attempt has ended.
    pub(crate) fn show(&mut self, task: &Shown, is_over: bool) -> Result<(), Error> {
        for step in self.wanted(task) {
            for epoch in 1..=step.epoch {
                self.show_attempt(step, epoch, is_over)?;
            }
            if task.steps.iter().any(|step| step.ran.is_some()) {
                self.show_result(task, step)?;
            }
        }
        Ok(())
    }

    /// A short result has no file: it is kept as the result alone.
    fn show_result(&mut self, task: &Shown, step: &ShownStep) -> Result<(), Error> {
        let key = (step.index, step.epoch);
        if self.stream != Stream::Stdout || step.status != Status::Success || self.shown.contains_key(&key) {
            return Ok(());
        }
        let result = match task.delivered_by(step) {
            Some(Delivered::Value(value)) => text(value),
            Some(Delivered::Named(named)) => {
                let bytes = self.client.content(self.task, named)?;
                let read = if named.media_type == Media::Json { serde_json::from_slice(&bytes).ok() } else { None };
                read.map_or_else(|| String::from_utf8_lossy(&bytes).into_owned(), |value| text(&value))
            }
            Some(Delivered::Steps(_)) | None => String::new(),
        };
        self.shown.insert(key, result.len() as u64);
        result.lines().for_each(|line| self.say(step, step.epoch, line));
        Ok(())
    }

    fn say(&self, step: &ShownStep, epoch: u32, line: &str) {
        let name = &step.step;
        if self.context.json {
            (self.line)(&json!({ "step": name, "epoch": epoch, "line": line }).to_string());
        } else {
            (self.line)(&format!("{name}.{epoch} | {}", output::clean(line)));
        }
    }

    fn show_attempt(&mut self, step: &ShownStep, epoch: u32, is_over: bool) -> Result<(), Error> {
        loop {
            let from = self.shown.get(&(step.index, epoch)).copied().unwrap_or(0);
            let written = self.client.written(self.task, (&step.step, epoch), self.stream, from)?;
            let Some((next, bytes)) = written else { return Ok(()) };
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

fn text(result: &Value) -> String {
    match result {
        Value::String(text) => text.clone(),
        Value::Null => String::new(),
        value @ (Value::Bool(_) | Value::Number(_) | Value::Array(_) | Value::Object(_)) => value.to_string(),
    }
}
