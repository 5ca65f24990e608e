//! Working on a task in this process until it has ended.
//!
//! Everything comes in by one channel, in the order in which it happened: events, answers, alerts, Ctrl-C. The driver tells
//! the events of a commit before it answers anybody, so when the end is answered, everything before has been shown.

use crate::{
    args::Context,
    error::{Code, Error},
    exit::Exit,
    output, root,
    session::{self, Session, Work},
    time,
    view::View,
    watch::{Begin, Watch},
};
use relaymesh_core::{
    id::TaskId,
    task::{Status, Step, TaskRows},
};
use relaymesh_runtime::{
    driver::{Answer, Command, Error as DriverError, Event, Submit},
    world::Alert,
};
use relaymesh_store::Reader as _;
use relaymesh_store_sqlite::{SqliteReader, SqliteStore};
use std::{
    sync::mpsc::{self, Receiver, Sender},
    time::Instant,
};

/// What the shell reports for Ctrl-C.
const INTERRUPTED: i32 = 130;

/// What to work on.
pub(crate) enum Start {
    /// A task that is submitted now.
    Submit(Box<Submit>),
    /// A task that is there.
    Wait(TaskId),
    /// A task that ended badly and is tried again.
    Redrive(TaskId, String),
}

enum Message {
    Answer(Result<Answer, DriverError>),
    Event(Event),
    Ended(Result<Answer, DriverError>),
    Alert(Alert),
    Interrupted,
    TimedOut,
    /// The driver's thread has ended.
    Gone,
}

/// Works until the task has ended, `until` has passed, a person must decide, or Ctrl-C.
pub(crate) fn drive(
    context: &Context,
    store: SqliteStore,
    start: Start,
    watch: &mut Watch,
    until: Option<Instant>,
) -> Result<Exit, Error> {
    let reader = root::reader(&store)?;
    let (inbox, messages) = mpsc::channel();
    let alerts = inbox.clone();
    let session =
        Session::start(store, &context.caller, Work::Steps, move |alert| drop(alerts.send(Message::Alert(alert))))?;
    let events = Gone(inbox.clone());
    session.handle().watch(move |event| events.0.send(Message::Event(event.clone())).is_ok());
    on_interrupt(&inbox);
    let result = Drive { session: &session, reader, inbox, messages, watch, until, early: Vec::new() }.run(start);
    session.finish(result)
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
    session: &'a Session,
    reader: SqliteReader,
    inbox: Sender<Message>,
    messages: Receiver<Message>,
    watch: &'a mut Watch,
    until: Option<Instant>,
    /// What was told before the answer to the first question.
    early: Vec<Event>,
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
        let pos = self.reader.head()?.pos;
        let rows = self.rows(task)?;
        self.watch.begin(how, &rows, pos);
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
                    self.watch.end(&view);
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
                Message::Gone => return Err(Error::new(Code::Internal, "the driver has ended")),
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
                Message::Gone => return Err(Error::new(Code::Internal, "the driver has ended")),
                Message::Event(event) => self.early.push(event),
                Message::Ended(_) => {}
            }
        }
    }

    /// Whether nothing of the task can go on before a person has decided. There is no daemon: whoever decides needs the
    /// root, so the command ends and says so.
    fn blocked(&mut self, task: TaskId) -> Result<Option<Exit>, Error> {
        if !self.watch.has_waiting() {
            return Ok(None);
        }
        let rows = self.rows(task)?;
        if !is_blocked(&rows, time::now_ms()) {
            return Ok(None);
        }
        self.watch.blocked(&rows);
        Ok(Some(Exit::NotEnded))
    }

    fn rows(&mut self, task: TaskId) -> Result<TaskRows, Error> {
        let missing = || Error::new(Code::NoTask, format!("there is no task {task} in this root"));
        self.reader.task(task)?.ok_or_else(missing)
    }

    fn send(&self, command: Command, wrap: impl FnOnce(Result<Answer, DriverError>) -> Message + Send + 'static) {
        let inbox = self.inbox.clone();
        self.session.send(command, move |answer| drop(inbox.send(wrap(answer))));
    }

    fn next(&self) -> Message {
        match self.until {
            None => self.messages.recv().unwrap_or(Message::Gone),
            Some(until) => {
                let left = until.saturating_duration_since(Instant::now());
                self.messages.recv_timeout(left).unwrap_or(Message::TimedOut)
            }
        }
    }
}

fn accepted(answer: Answer) -> Result<(TaskId, Begin), Error> {
    let Answer::Accepted { task, merged, .. } = answer else { return Err(crate::session::unexpected(&answer)) };
    Ok((task, if merged { Begin::Merged } else { Begin::Accepted }))
}

/// Steps wait for approval, none of them is past its deadline, and nothing else moves.
pub(crate) fn is_blocked(rows: &TaskRows, now_ms: u64) -> bool {
    let moves = |step: &Step| step.ready || matches!(step.status, Status::Running | Status::Retrying);
    let waits = |step: &Step| step.status == Status::Waiting;
    let over = |step: &Step| waits(step) && step.due_ms > 0 && step.due_ms <= now_ms;
    rows.steps.iter().any(waits) && !rows.steps.iter().any(|step| moves(step) || over(step))
}

/// The first Ctrl-C stops gracefully, the second at once. Without a handler a Ctrl-C ends the process, which loses
/// nothing either; so a failure to install one is only said.
fn on_interrupt(inbox: &Sender<Message>) {
    let inbox = inbox.clone();
    let mut before = false;
    let installed = ctrlc::set_handler(move || {
        if before || inbox.send(Message::Interrupted).is_err() {
            std::process::exit(INTERRUPTED);
        }
        before = true;
    });
    if let Err(error) = installed {
        output::note(&format!("note: Ctrl-C will not stop gracefully: {error}"));
    }
}
