//! What the daemon writes down for operators: one line per thing, for people or as JSON (R31).
//!
//! ```text
//! kernel, io, upkeep ──try_send──► log thread ──► stderr, which is daemon.log when there is no terminal
//! ```
//!
//! Lines about tasks follow the events of the driver, so nothing is said that is not durable. A log must never hold the work up: what does not
//! fit in the queue is counted, and the count is a line of its own. At `info` only so many lines a second are about
//! tasks that go well; at `debug` as many as can be written. Small on purpose: there is one process, one kind of line and one place
//! to write to.

mod event;
mod sink;

pub(crate) use sink::FILE;

use clap::ValueEnum;
use relaymesh_api::time;
use relaymesh_runtime::driver::Event;
use serde_json::{Map, Value, json};
use sink::Sink;
use std::{
    io,
    sync::{
        Arc,
        atomic::{AtomicU64, Ordering},
        mpsc::{self, Receiver, SyncSender},
    },
    thread,
    time::{Duration, Instant},
};

/// Lines that may wait to be written.
const WAITING_MAX: usize = 8_192;
/// Events of tasks that go well, in one second, at `info`.
const EVENTS_A_SECOND: u32 = 1_000;

/// How much is said.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, ValueEnum)]
pub enum Level {
    /// What failed for good
    Error,
    /// And what is tried again
    Warn,
    /// And what is submitted, claimed and done
    Info,
    /// And everything else
    Debug,
}

impl Level {
    /// As it is written.
    pub fn as_str(self) -> &'static str {
        match self {
            Self::Error => "error",
            Self::Warn => "warn",
            Self::Info => "info",
            Self::Debug => "debug",
        }
    }
}

/// How lines are written.
#[derive(Debug, Clone, Copy, PartialEq, Eq, ValueEnum)]
pub enum Form {
    /// For people
    Human,
    /// One JSON object a line
    Json,
}

impl Form {
    /// As it is written.
    pub fn as_str(self) -> &'static str {
        match self {
            Self::Human => "human",
            Self::Json => "json",
        }
    }
}

/// One line.
struct Line {
    level: Level,
    event: &'static str,
    fields: Map<String, Value>,
}

/// Small: there is room for all that may wait from the start.
enum Item {
    Line(u64, Box<Line>),
    Event(u64, Box<Event>),
    Flush(SyncSender<()>),
}

/// Where lines go. Cheap to clone.
#[derive(Clone)]
pub(super) struct Log {
    items: SyncSender<Item>,
    dropped: Arc<Dropped>,
    level: Level,
}

/// How many lines were left out.
#[derive(Default)]
struct Dropped {
    /// And not yet told.
    untold: AtomicU64,
    /// Since the start.
    total: AtomicU64,
}

impl Dropped {
    fn one(&self) {
        self.untold.fetch_add(1, Ordering::Relaxed);
        self.total.fetch_add(1, Ordering::Relaxed);
    }
}

impl Log {
    /// Begins to write. `file` is where stderr goes already, if it is a file that must not grow for ever.
    pub(super) fn start(form: Form, level: Level, file: Option<std::path::PathBuf>) -> io::Result<Self> {
        let (items, received) = mpsc::sync_channel(WAITING_MAX);
        let dropped = Arc::new(Dropped::default());
        let writer = Writer { sink: Sink::new(file), form, level, dropped: Arc::clone(&dropped) };
        thread::Builder::new().name("log".to_owned()).spawn(move || writer.run(&received))?;
        Ok(Self { items, dropped, level })
    }

    /// Says something. Does not wait.
    pub(super) fn say(&self, level: Level, event: &'static str, fields: Value) {
        if level <= self.level {
            let fields = fields.as_object().cloned().unwrap_or_default();
            self.put(Item::Line(time::now_ms(), Box::new(Line { level, event, fields })));
        }
    }

    /// Takes events of the driver, on its thread.
    pub(super) fn watcher(&self) -> impl FnMut(&Event) -> bool + Send + 'static {
        let log = self.clone();
        let (mut since, mut count) = (Instant::now(), 0u32);
        move |event| {
            let level = event::level(event);
            if level > log.level {
                return true;
            }
            if level >= Level::Info && log.level == Level::Info {
                if since.elapsed() >= Duration::from_secs(1) {
                    (since, count) = (Instant::now(), 0);
                }
                count = count.saturating_add(1);
                if count > EVENTS_A_SECOND {
                    log.dropped.one();
                    return true;
                }
            }
            log.put(Item::Event(time::now_ms(), Box::new(event.clone())));
            true
        }
    }

    /// How many lines were left out since the start.
    pub(super) fn dropped_total(&self) -> u64 {
        self.dropped.total.load(Ordering::Relaxed)
    }

    /// Waits until everything that was said is written.
    pub(super) fn flush(&self) {
        let (done, is_done) = mpsc::sync_channel(1);
        if self.items.send(Item::Flush(done)).is_ok() {
            let _ = is_done.recv();
        }
    }

    fn put(&self, item: Item) {
        if self.items.try_send(item).is_err() {
            self.dropped.one();
        }
    }
}

/// The log's own thread. It ends when nobody can say anything any more.
struct Writer {
    sink: Sink,
    form: Form,
    level: Level,
    dropped: Arc<Dropped>,
}

impl Writer {
    fn run(mut self, items: &Receiver<Item>) {
        while let Ok(item) = items.recv() {
            match item {
                Item::Line(at_ms, line) => self.write(at_ms, &line),
                Item::Event(at_ms, event) => {
                    let level = self.level;
                    for line in event::lines(&event).into_iter().filter(|line| line.level <= level) {
                        self.write(at_ms, &line);
                    }
                }
                Item::Flush(done) => {
                    self.say_dropped();
                    drop(done);
                }
            }
            if self.dropped.untold.load(Ordering::Relaxed) > 0 && self.sink.is_second_over() {
                self.say_dropped();
            }
        }
    }

    fn say_dropped(&mut self) {
        let count = self.dropped.untold.swap(0, Ordering::Relaxed);
        if count > 0 {
            let fields = Map::from_iter([("count".to_owned(), json!(count))]);
            self.write(time::now_ms(), &Line { level: Level::Warn, event: "events_dropped", fields });
        }
    }

    fn write(&mut self, at_ms: u64, line: &Line) {
        self.sink.write(&text(self.form, at_ms, line));
    }
}

fn text(form: Form, at_ms: u64, line: &Line) -> String {
    let (at, level) = (time::rfc3339(at_ms), line.level.as_str());
    match form {
        Form::Json => {
            let mut object = Map::from_iter([
                ("ts".to_owned(), json!(at)),
                ("level".to_owned(), json!(level)),
                ("event".to_owned(), json!(line.event)),
            ]);
            object.extend(line.fields.clone());
            Value::Object(object).to_string()
        }
        Form::Human => {
            let words: Vec<String> = line.fields.iter().map(word).collect();
            crate::text::clean(format!("{at} {level:5} {} {}", line.event, words.join(" ")).trim_end())
        }
    }
}

fn word((name, value): (&String, &Value)) -> String {
    match value {
        Value::String(text) if text.contains([' ', '"', '=', '\n']) => format!("{name}={text:?}"),
        Value::String(text) => format!("{name}={text}"),
        Value::Null | Value::Bool(_) | Value::Number(_) | Value::Array(_) | Value::Object(_) => {
            format!("{name}={value}")
        }
    }
}

#[cfg(test)]
mod tests;
