//! Traces (R30): what happened to a task, as spans, sent to a collector by OTLP over HTTP.
//!
//! ```text
//!  driver ── event ──► watcher ── what ended ──► queue ──► thread: reads the rows, makes spans, sends them
//!                      (one look at the id)       │ full
//!                                                 ▼
//!                                              counted
//! ```
//!
//! Nothing is kept for traces: the rows say when an attempt began and how it ended, and the ids of spans follow from what they are about
//! ([`relaymesh_core::trace`]). So an attempt that began before a crash has its span after it. A collector that is slow or down costs a
//! counter: the queue is bounded, and nobody but the thread ever waits for it.

mod otlp;
mod span;
#[cfg(test)]
mod tests;

pub use otlp::Collector;

use crate::{
    error::{Code, Error},
    metrics::Counts,
};
use relaymesh_agents::Agents;
use relaymesh_core::{
    id::TaskId,
    op::Kind,
    task::Status,
    trace::{self, SpanId},
};
use relaymesh_runtime::driver::Event;
use relaymesh_store::Reader;
use std::{
    collections::{BTreeMap, BTreeSet},
    sync::{
        Arc,
        atomic::Ordering::Relaxed,
        mpsc::{self, Receiver, SyncSender},
    },
    thread,
    time::{Duration, Instant},
};

/// What may wait to be made a span of.
const WAITING_MAX: usize = 8_192;
/// Tasks in one request.
const TASKS_MAX: usize = 256;
/// How long spans wait for others to go with them.
const GATHER: Duration = Duration::from_millis(500);
/// How long what is left has at the end.
const END_PATIENCE: Duration = Duration::from_secs(2);

/// What traces are made from.
pub struct Means {
    /// Opens the store.
    pub open: Box<dyn Fn() -> Result<Box<dyn Reader>, Error> + Send>,
    /// The agents as they are now.
    pub agents: Box<dyn Fn() -> Arc<Agents> + Send>,
    /// Where what is sent and what is dropped is counted.
    pub counts: Arc<Counts>,
    /// How many of a thousand traces are kept.
    pub per_mille: u64,
    /// Hears what an operator should: an event, and why.
    pub say: Box<dyn Fn(&'static str, String) + Send>,
}

/// Traces of a running driver.
pub struct Traces {
    notes: SyncSender<Note>,
    counts: Arc<Counts>,
    per_mille: u64,
}

enum Note {
    /// Something about a task.
    Task(TaskId, Wanted),
    /// Send what is there, and say when.
    End(SyncSender<()>),
}

/// Which spans of a task are to be sent.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
struct Wanted {
    /// That it was asked for, and in which span.
    submitted: Option<Option<SpanId>>,
    /// Attempts that ended: the step, and the fence.
    attempts: BTreeSet<(u16, u32)>,
    /// Steps that ended.
    steps: BTreeSet<u16>,
    /// Whether the task did.
    is_over: bool,
}

impl Traces {
    /// Begins to send what is watched.
    pub fn start(means: Means, collector: Collector) -> std::io::Result<Self> {
        let (notes, received) = mpsc::sync_channel(WAITING_MAX);
        let traces = Self { notes, counts: Arc::clone(&means.counts), per_mille: means.per_mille };
        let sender = Sender { means, collector, reader: None, was_sent: true };
        thread::Builder::new().name("traces".to_owned()).spawn(move || sender.run(&received))?;
        Ok(traces)
    }

    /// Takes events of the driver, on its thread.
    pub fn watcher(&self) -> impl FnMut(&Event) -> bool + Send + 'static {
        let (notes, counts, per_mille) = (self.notes.clone(), Arc::clone(&self.counts), self.per_mille);
        move |event| {
            if trace::is_sampled(event.trace_id, per_mille)
                && let Some(wanted) = Wanted::of(event)
            {
                let spans = wanted.count();
                if notes.try_send(Note::Task(event.task, wanted)).is_err() {
                    counts.spans_dropped.fetch_add(spans, Relaxed);
                }
            }
            true
        }
    }

    /// Sends what is left, which has little time.
    pub fn end(self) {
        let (done, is_done) = mpsc::sync_channel(1);
        if self.notes.try_send(Note::End(done)).is_ok() {
            let _ = is_done.recv_timeout(END_PATIENCE);
        }
    }
}

impl Wanted {
    fn of(event: &Event) -> Option<Self> {
        let ended = |status: Status| !matches!(status, Status::Running | Status::Waiting);
        let ended = || event.steps.iter().filter(|step| step.epoch > 0 && ended(step.status));
        let wanted = Self {
            submitted: (event.kind == Kind::ScheduleJob).then_some(event.asked_in),
            attempts: ended().map(|step| (step.index, step.epoch)).collect(),
            steps: ended().filter(|step| step.status.is_terminal()).map(|step| step.index).collect(),
            is_over: event.status.is_terminal(),
        };
        (wanted != Self::default()).then_some(wanted)
    }

    fn count(&self) -> u64 {
        let (submitted, is_over) = (u64::from(self.submitted.is_some()), u64::from(self.is_over));
        submitted + is_over + (self.attempts.len() + self.steps.len()) as u64
    }

    fn add(&mut self, later: Self) {
        self.submitted = self.submitted.or(later.submitted);
        self.attempts.extend(later.attempts);
        self.steps.extend(later.steps);
        self.is_over |= later.is_over;
    }
}

/// The thread that sends.
struct Sender {
    means: Means,
    collector: Collector,
    reader: Option<Box<dyn Reader>>,
    /// Whether the last request was answered well.
    was_sent: bool,
}

impl Sender {
    fn run(mut self, notes: &Receiver<Note>) {
        while let Ok(first) = notes.recv() {
            let (tasks, done) = gather(first, notes);
            self.send(&tasks);
            if let Some(done) = done {
                let _ = done.send(()); // the receiver may have given up
            }
        }
    }

    fn send(&mut self, tasks: &BTreeMap<TaskId, Wanted>) {
        let counts = Arc::clone(&self.means.counts);
        let spans = match self.spans(tasks) {
            Ok(spans) => spans,
            Err(error) => {
                self.reader = None;
                counts.spans_dropped.fetch_add(tasks.values().map(Wanted::count).sum(), Relaxed);
                return self.told(Err(error.message));
            }
        };
        if spans.is_empty() {
            return;
        }
        let count = spans.len() as u64;
        match self.collector.send(spans) {
            Ok(refused) => {
                let refused = refused.min(count);
                counts.spans_sent.fetch_add(count - refused, Relaxed);
                counts.spans_dropped.fetch_add(refused, Relaxed);
                self.told(Ok(()));
            }
            Err(why) => {
                counts.spans_dropped.fetch_add(count, Relaxed);
                self.told(Err(why));
            }
        }
    }

    fn spans(&mut self, tasks: &BTreeMap<TaskId, Wanted>) -> Result<Vec<otlp::Span>, Error> {
        let agents = (self.means.agents)();
        let reader = match &mut self.reader {
            Some(reader) => reader,
            None => self.reader.insert((self.means.open)()?),
        };
        let mut all = Vec::new();
        for (task, wanted) in tasks {
            // What was purged meanwhile has no rows, and nobody looks for it any more.
            if let Some(rows) = reader.task(*task).map_err(|error| Error::new(Code::StoreIo, error.to_string()))? {
                all.extend(span::spans(&rows, wanted, &agents));
            }
        }
        Ok(all)
    }

    /// An operator hears of the first failure, and of the first success after it.
    fn told(&mut self, how: Result<(), String>) {
        if self.was_sent != how.is_ok() {
            self.was_sent = how.is_ok();
            match how {
                Ok(()) => (self.means.say)("traces_sent_again", String::new()),
                Err(why) => (self.means.say)("traces_not_sent", why),
            }
        }
    }
}

/// What comes with the first note, soon.
fn gather(first: Note, notes: &Receiver<Note>) -> (BTreeMap<TaskId, Wanted>, Option<SyncSender<()>>) {
    let (mut tasks, began) = (BTreeMap::<TaskId, Wanted>::new(), Instant::now());
    let mut next = Some(first);
    while let Some(note) = next {
        match note {
            Note::Task(task, wanted) => tasks.entry(task).or_default().add(wanted),
            Note::End(done) => return (tasks, Some(done)),
        }
        if tasks.len() >= TASKS_MAX {
            break;
        }
        next = notes.recv_timeout(GATHER.saturating_sub(began.elapsed())).ok();
    }
    (tasks, None)
}
