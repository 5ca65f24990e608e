//! Following a task until it has ended.
//!
//! Everything comes in by one channel, in the order in which it happened: events, answers, alerts, Ctrl-C. The driver tells
//! the events of a commit before it answers anybody, so when the end is answered, everything before has been shown. A daemon
//! that goes away is started again, and the task is followed on: nothing is lost by it.

use crate::{
    args::Context,
    error::{Code, Error},
    exit::Exit,
    link::{self, Link, Missing},
    output, root,
    session::{self, Work},
    time,
    view::View,
    watch::{Begin, Watch},
};
use relaymesh_core::{
    id::{StepId, TaskId},
    task::{Status, TaskRows, spec::Ask},
};
use relaymesh_runtime::{
    driver::{Answer, Command, Event, Submit},
    world::Alert,
};
use relaymesh_store::Reader as _;
use relaymesh_store_sqlite::SqliteReader;
use std::{
    path::Path,
    sync::{
        Arc, Mutex, PoisonError,
        mpsc::{self, Receiver, RecvTimeoutError, Sender},
    },
    time::{Duration, Instant},
};

/// What the shell reports for Ctrl-C.
const INTERRUPTED: i32 = 130;

/// How often what agents say is looked at, when every step is drawn.
const REDRAW: Duration = Duration::from_millis(250);

/// How often a daemon that goes away is started again.
const RESTARTS_MAX: u32 = 5;

/// What to work on.
#[derive(Clone)]
pub(crate) enum Start {
    /// A task that is submitted now.
    Submit(Box<Submit>),
    /// A task that is there.
    Wait(TaskId),
    /// A task that ended badly and is tried again.
    Redrive(TaskId, String),
}

/// How long to follow, and what to do when it asks something.
#[derive(Debug, Clone, Copy, Default)]
pub(crate) struct Patience {
    /// Until when; without one, until it has ended.
    pub(crate) until: Option<Instant>,
    /// Approve whatever it asks, once it was shown.
    pub(crate) yes: bool,
}

enum Message {
    Answer(Result<Answer, Error>),
    Event(Event),
    Ended(Result<Answer, Error>),
    Alert(Alert),
    Interrupted,
    TimedOut,
    /// The driver has ended.
    Gone,
}

/// Follows the task until it has ended, patience is over, a person must decide and cannot meanwhile, or Ctrl-C.
pub(crate) fn drive(
    context: &Context,
    missing: Missing,
    start: Start,
    watch: &mut Watch,
    patience: Patience,
) -> Result<Exit, Error> {
    let mut start = start;
    let interrupts = Arc::new(Mutex::new(None));
    on_interrupt(&interrupts);
    for _ in 0..RESTARTS_MAX {
        let (inbox, messages) = mpsc::channel();
        *interrupts.lock().unwrap_or_else(PoisonError::into_inner) = Some(inbox.clone());
        let alerts = inbox.clone();
        let link = Link::open(context, missing, Work::Steps, move |alert| drop(alerts.send(Message::Alert(alert))))?;
        let events = Gone(inbox.clone());
        let reader = root::read(&context.root)?;
        let root = context.root.as_path();
        let mut drive =
            Drive { link: &link, root, reader, inbox, messages, watch, patience, early: Vec::new(), task: None };
        let watching = link.watch(move |event| events.0.send(Message::Event(event.clone())).is_ok());
        let result = watching.and_then(|()| drive.run(start.clone()));
        let task = drive.task;
        match (result, &link) {
            (Err(error), Link::Daemon(_)) if error.code == Code::DaemonGone => {
                watch.note("the daemon went away; starting it again");
                start = match (task, start) {
                    (Some(task), _) => Start::Wait(task),
                    // Nobody knows whether it was accepted; the same request with the same key is accepted once.
                    (None, Start::Submit(submit)) => Start::Submit(submit),
                    (None, Start::Wait(task)) => Start::Wait(task),
                    (None, Start::Redrive(..)) => return Err(error),
                };
            }
            (result, _) => return link.finish(result),
        }
    }
    Err(Error::new(Code::DaemonGone, format!("the daemon went away {RESTARTS_MAX} times")))
}

/// Tells when whatever held it is gone.
struct Gone(Sender<Message>);

impl Drop for Gone {
    fn drop(&mut self) {
        // Nobody listens once the command is done.
        let _ = self.0.send(Message::Gone);
    }
}

struct Drive<'a> {
    link: &'a Link,
    root: &'a Path,
    reader: SqliteReader,
    inbox: Sender<Message>,
    messages: Receiver<Message>,
    watch: &'a mut Watch,
    patience: Patience,
    /// What was told before the answer to the first question.
    early: Vec<Event>,
    /// Which task it is, once that is known.
    task: Option<TaskId>,
}

impl Drive<'_> {
    fn run(&mut self, start: Start) -> Result<Exit, Error> {
        let begun = match start {
            Start::Submit(submit) => self.ask(Command::Submit(*submit))?.map(accepted).transpose()?,
            Start::Redrive(task, reason) => {
                self.ask(Command::Redrive { task, reason })?.map(|_| (task, Begin::Redriven))
            }
            Start::Wait(task) => Some((task, Begin::Found)),
        };
        let Some((task, how)) = begun else {
            self.watch.stopped("interrupted", None)?;
            return Ok(Exit::Interrupted);
        };
        self.task = Some(task);
        let pos = self.reader.head()?.pos;
        let rows = self.rows(task)?;
        self.watch.begin(how, &View::bare(rows).shown(false), pos);
        for event in self.early.drain(..).filter(|event| event.task == task) {
            self.watch.event(&event);
        }
        if let Some(exit) = self.blocked(task)? {
            return Ok(exit);
        }
        self.send(Command::Wait { task }, Message::Ended);
        self.follow(task)
    }

    fn follow(&mut self, task: TaskId) -> Result<Exit, Error> {
        loop {
            match self.next() {
                Message::Event(event) if event.task == task => {
                    self.watch.event(&event);
                    if let Some(exit) = self.blocked(task)? {
                        return Ok(exit);
                    }
                }
                Message::Event(_) | Message::Answer(_) => {}
                Message::Ended(answer) => {
                    answer?;
                    let rows = self.rows(task)?;
                    let view = View::load(&mut self.reader, rows)?;
                    self.watch.end(&view.shown(false));
                    return Ok(Exit::of(view.rows.task.status));
                }
                Message::Alert(alert) => self.watch.note(&session::warning(&alert)),
                Message::Interrupted => {
                    self.watch.stopped("interrupted", Some(task))?;
                    return Ok(Exit::Interrupted);
                }
                Message::TimedOut => {
                    self.watch.stopped("timed_out", Some(task))?;
                    return Ok(Exit::NotEnded);
                }
                Message::Gone => return Err(gone()),
            }
        }
    }

    /// Gives the command and waits until it is durable; `None` when Ctrl-C came first.
    fn ask(&mut self, command: Command) -> Result<Option<Answer>, Error> {
        self.send(command, Message::Answer);
        loop {
            match self.next() {
                Message::Answer(answer) => return Ok(Some(answer?)),
                Message::Alert(alert) => self.watch.note(&session::warning(&alert)),
                Message::Interrupted | Message::TimedOut => return Ok(None),
                Message::Gone => return Err(gone()),
                Message::Event(event) => self.early.push(event),
                Message::Ended(_) => {}
            }
        }
    }

    /// What to do when nothing of the task can go on before a person has decided. In this process nobody else can: whoever
    /// decides needs the root, so the command ends and says so. With a daemon it is said once, and the wait goes on.
    fn blocked(&mut self, task: TaskId) -> Result<Option<Exit>, Error> {
        if !self.watch.has_waiting() {
            return Ok(None);
        }
        let rows = self.rows(task)?;
        if self.patience.yes {
            return self.approve(&rows).map(|()| None);
        }
        let shown = View::bare(rows).shown(false);
        if !shown.is_blocked(time::now_ms()) {
            return Ok(None);
        }
        match self.link {
            Link::Here(_) => {
                self.watch.blocked(&shown);
                Ok(Some(Exit::NotEnded))
            }
            Link::Daemon(_) => {
                self.watch.waits(&shown);
                Ok(None)
            }
        }
    }

    /// Approves whatever waits, having shown it.
    fn approve(&mut self, rows: &TaskRows) -> Result<(), Error> {
        for (index, step) in rows.indexed().filter(|(_, step)| step.status == Status::Waiting) {
            let Some(ask) = &step.spec.approve else { continue };
            let asks = format!("step `{}` asks: {}; approved by --yes", step.spec.name, output::clean(&ask.text));
            self.watch.note(&asks);
            let step = StepId { task: rows.task.id, index };
            // Refused when it was decided meanwhile, which is just as well.
            self.send(Command::Approve { step, ask: Ask::hash(ask) }, Message::Answer);
        }
        Ok(())
    }

    fn rows(&mut self, task: TaskId) -> Result<TaskRows, Error> {
        let missing = || Error::new(Code::NoTask, format!("there is no task {task} in this root"));
        self.reader.task(task)?.ok_or_else(missing)
    }

    fn send(&self, command: Command, wrap: impl FnOnce(Result<Answer, Error>) -> Message + Send + 'static) {
        let inbox = self.inbox.clone();
        self.link.send(command, move |answer| drop(inbox.send(wrap(answer))));
    }

    fn next(&mut self) -> Message {
        loop {
            let left = self.patience.until.map(|until| until.saturating_duration_since(Instant::now()));
            // Only a terminal that is drawn on is looked after meanwhile; nothing that happens waits for it.
            let redraw = self.watch.is_drawn().then_some(REDRAW);
            let received = match left.into_iter().chain(redraw).min() {
                None => self.messages.recv().map_err(|_| RecvTimeoutError::Disconnected),
                Some(wait) => self.messages.recv_timeout(wait),
            };
            match received {
                Ok(message) => return message,
                Err(RecvTimeoutError::Disconnected) => return Message::Gone,
                Err(RecvTimeoutError::Timeout) if left.is_some_and(|left| left <= REDRAW) => return Message::TimedOut,
                Err(RecvTimeoutError::Timeout) => self.watch.redraw(self.root, self.task),
            }
        }
    }
}

fn accepted(answer: Answer) -> Result<(TaskId, Begin), Error> {
    let Answer::Accepted { task, merged, .. } = answer else { return Err(link::unexpected(&answer)) };
    Ok((task, if merged { Begin::Merged } else { Begin::Accepted }))
}

fn gone() -> Error {
    Error::new(Code::DaemonGone, "the driver has ended")
}

/// The first Ctrl-C stops gracefully, the second at once. Without a handler a Ctrl-C ends the process, which loses
/// nothing either; so a failure to install one is only said.
fn on_interrupt(inbox: &Arc<Mutex<Option<Sender<Message>>>>) {
    let inbox = Arc::clone(inbox);
    let mut before = false;
    let installed = ctrlc::set_handler(move || {
        let told =
            inbox.lock().unwrap_or_else(PoisonError::into_inner).as_ref().map(|to| to.send(Message::Interrupted));
        if before || !matches!(told, Some(Ok(()))) {
            std::process::exit(INTERRUPTED);
        }
        before = true;
    });
    if let Err(error) = installed {
        output::note(&format!("note: Ctrl-C will not stop gracefully: {error}"));
    }
}
