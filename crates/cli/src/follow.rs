//! Following a task until it has ended: the one follower, wherever the root is.
//!
//! All news comes by one channel, in the order in which it happened. A client tells either every change as an event, or only that
//! there may be something new, which a look then shows. A client that loses its daemon is asked to begin again, and the task is
//! followed on: nothing is lost by it.

use crate::{
    client::{Change, Client, News, Seen, Start, Tell},
    error::{Code, Error},
    exit::Exit,
    output, time,
    watch::{Begin, Watch},
};
use relaymesh_api::view::Shown;
use relaymesh_core::id::TaskId;
use relaymesh_runtime::driver::Event;
use std::{
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

/// How long to follow, and what to do when it asks something.
#[derive(Debug, Clone, Copy, Default)]
pub(crate) struct Patience {
    /// Until when; without one, until it has ended.
    pub(crate) until: Option<Instant>,
    /// Approve whatever it asks, once it was shown.
    pub(crate) yes: bool,
}

/// Follows the task until it has ended, patience is over, a person must decide and cannot meanwhile, or Ctrl-C.
pub(crate) fn follow(
    client: &dyn Client,
    mut start: Start,
    watch: &mut Watch,
    patience: Patience,
) -> Result<Exit, Error> {
    let interrupts: Arc<Mutex<Option<Sender<News>>>> = Arc::default();
    let told = Arc::clone(&interrupts);
    on_interrupt(move || {
        let inbox = told.lock().unwrap_or_else(PoisonError::into_inner);
        inbox.as_ref().is_some_and(|inbox| inbox.send(News::Interrupted).is_ok())
    });
    loop {
        let (inbox, news) = mpsc::channel();
        *interrupts.lock().unwrap_or_else(PoisonError::into_inner) = Some(inbox.clone());
        let mut follower = Follower { client, news, watch, patience, early: Vec::new(), task: None };
        let result = client.follow(&start, Tell::new(inbox)).and_then(|()| follower.run());
        let task = follower.task;
        match result {
            Err(error) if error.code == Code::DaemonGone => {
                match client.again(&start, task, error) {
                    Ok(note) => note.into_iter().for_each(|note| watch.note(note)),
                    Err(error) => return client.finish(Err(error)),
                }
                start = task.map_or(start, Start::Wait);
            }
            result => return client.finish(result),
        }
    }
}

struct Follower<'a> {
    client: &'a dyn Client,
    news: Receiver<News>,
    watch: &'a mut Watch,
    patience: Patience,
    /// What was told before it was known which task it is.
    early: Vec<Event>,
    /// Which task it is, once that is known.
    task: Option<TaskId>,
}

impl Follower<'_> {
    fn run(&mut self) -> Result<Exit, Error> {
        loop {
            let news = self.next();
            if let Some(exit) = self.take(news)? {
                return Ok(exit);
            }
        }
    }

    fn take(&mut self, news: News) -> Result<Option<Exit>, Error> {
        match news {
            News::Begun(begun) => {
                let (task, how) = begun?;
                self.begin(task, how)
            }
            News::Event(event) => match self.task {
                None => {
                    self.early.push(event);
                    Ok(None)
                }
                Some(task) if event.task == task => self.event(&event),
                Some(_) => Ok(None),
            },
            News::Changed => match self.task {
                Some(task) => self.seen(&self.client.look(task)?.task),
                None => Ok(None),
            },
            News::Ended(ended) => {
                ended?;
                match self.task {
                    Some(task) => self.seen(&self.client.look(task)?.task),
                    None => Ok(None),
                }
            }
            News::Alert(text) => {
                self.watch.note(&text);
                Ok(None)
            }
            News::Interrupted => {
                self.watch.stopped("interrupted", self.task)?;
                Ok(Some(Exit::Interrupted))
            }
            News::TimedOut => {
                self.watch.stopped("timed_out", self.task)?;
                Ok(Some(Exit::NotEnded))
            }
            News::Gone => Err(Error::new(Code::DaemonGone, "the driver has stopped")),
        }
    }

    fn begin(&mut self, task: TaskId, how: Begin) -> Result<Option<Exit>, Error> {
        self.task = Some(task);
        let Seen { task: shown, pos } = self.client.look(task)?;
        self.watch.begin(how, &shown, pos.unwrap_or(0));
        for event in std::mem::take(&mut self.early).iter().filter(|event| event.task == task) {
            if let Some(exit) = self.event(event)? {
                return Ok(Some(exit));
            }
        }
        // Of a task that begins now, events tell everything from its start.
        let is_told = pos.is_some() && matches!(how, Begin::Accepted | Begin::Redriven);
        if is_told { Ok(None) } else { self.seen(&shown) }
    }

    /// Something about the task became durable.
    fn event(&mut self, event: &Event) -> Result<Option<Exit>, Error> {
        self.watch.event(event);
        let ends = event.status.is_terminal();
        if !ends && !self.watch.has_waiting() {
            return Ok(None);
        }
        let shown = self.client.look(event.task)?.task;
        // It may have been tried again since the event.
        if ends && shown.status.is_terminal() { self.end(&shown).map(Some) } else { self.waits(&shown) }
    }

    /// The task stands like this.
    fn seen(&mut self, shown: &Shown) -> Result<Option<Exit>, Error> {
        if shown.status.is_terminal() {
            return self.end(shown).map(Some);
        }
        self.watch.sync(shown);
        self.waits(shown)
    }

    fn end(&mut self, shown: &Shown) -> Result<Exit, Error> {
        let client = self.client;
        self.watch.end(shown, &|named| client.content(shown.task, named))?;
        Ok(Exit::of(shown.status))
    }

    /// What to do when the task cannot go on before a person decides. Where nobody else can, the command ends and says so;
    /// otherwise it is said once, and the wait goes on.
    fn waits(&mut self, shown: &Shown) -> Result<Option<Exit>, Error> {
        if self.patience.yes {
            return self.approve(shown).map(|()| None);
        }
        if !shown.is_blocked(time::now_ms()) {
            return Ok(None);
        }
        if self.client.is_alone() {
            self.watch.blocked(shown);
            return Ok(Some(Exit::NotEnded));
        }
        self.watch.waits(shown);
        Ok(None)
    }

    /// Approves whatever waits, having shown it.
    fn approve(&mut self, task: &Shown) -> Result<(), Error> {
        for step in task.waiting() {
            // Decided meanwhile, which is just as well.
            let Ok(asked) = self.client.asked(task.task, step.step.as_str()) else { continue };
            let asks = output::clean(&asked.asks);
            self.watch.note(&format!("step `{}` asks: {asks} (approved automatically)", asked.step));
            let decision = Change::Decide { step: asked.step, ask: asked.ask, denied: None };
            match self.client.change(task.task, &decision) {
                Err(error) if error.code != Code::Refused => return Err(error),
                Ok(_) | Err(_) => {}
            }
        }
        Ok(())
    }

    fn next(&mut self) -> News {
        loop {
            // Patience is for the task, and begins when it is known.
            let left = self.task.and(self.patience.until).map(|until| until.saturating_duration_since(Instant::now()));
            // Only a terminal that is drawn on is looked after meanwhile; nothing that happens waits for it.
            let redraw = self.watch.is_drawn().then_some(REDRAW);
            let received = match left.into_iter().chain(redraw).min() {
                None => self.news.recv().map_err(|_| RecvTimeoutError::Disconnected),
                Some(wait) => self.news.recv_timeout(wait),
            };
            match received {
                Ok(news) => return news,
                Err(RecvTimeoutError::Disconnected) => return News::Gone,
                Err(RecvTimeoutError::Timeout) if left.is_some_and(|left| left <= REDRAW) => return News::TimedOut,
                Err(RecvTimeoutError::Timeout) => {
                    if let Some(task) = self.task {
                        self.watch.redraw(|step| self.client.last_line(task, step));
                    }
                }
            }
        }
    }
}

/// The first Ctrl-C is told, and stops gracefully; the second stops at once, and so does one that nobody listens to. Without a handler a
/// Ctrl-C ends the process, which loses nothing either; so a failure to install one is only said.
pub(crate) fn on_interrupt(tell: impl Fn() -> bool + Send + 'static) {
    let mut before = false;
    let installed = ctrlc::set_handler(move || {
        if before || !tell() {
            std::process::exit(INTERRUPTED);
        }
        before = true;
    });
    if let Err(error) = installed {
        output::note(&format!("note: cannot handle Ctrl-C: {error}"));
    }
}
