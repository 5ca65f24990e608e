//! Following a task: what a client does for it, and what it tells meanwhile.

use super::Submission;
use crate::{error::Error, exit::Exit, watch::Begin};
use relaymesh_api::view::Shown;
use relaymesh_core::{id::TaskId, name::Name};
use relaymesh_runtime::driver::Event;
use std::sync::mpsc::Sender;

/// What the follower of a task needs.
pub(crate) trait Follow {
    /// Does what `start` says, and tells what happens to the task from then on: [`News::Begun`] once, and then whatever changes.
    fn follow(&self, start: &Start, tell: Tell) -> Result<(), Error>;

    /// The news ended before the task did, with this error. `Ok`: the client is ready to follow again, `task` if it is known, or else
    /// by the same start; and what to tell people about it.
    fn again(&self, start: &Start, task: Option<TaskId>, error: Error) -> Result<Option<&'static str>, Error>;

    /// How a task stands now: with its results once it has ended.
    fn look(&self, task: TaskId) -> Result<Seen, Error>;

    /// Whether nobody else can decide while this client follows a task.
    fn is_alone(&self) -> bool;

    /// The last line that the agent of a running step said about its progress, if that can be known here.
    fn last_line(&self, task: TaskId, step: &Name) -> Option<String>;

    /// Ends what was begun in this process. A daemon goes on.
    fn finish(&self, result: Result<Exit, Error>) -> Result<Exit, Error>;
}

/// What to follow.
pub(crate) enum Start {
    /// A task that is submitted now.
    Submit(Box<Submission>),
    /// A task that is there.
    Wait(TaskId),
    /// A task that ended badly and is tried again.
    Redrive(TaskId, String),
}

/// What happened.
pub(crate) enum News {
    /// The start is durable: which task it is, and how it came to be followed.
    Begun(Result<(TaskId, Begin), Error>),
    /// Something about some task became durable.
    Event(Event),
    /// There may be something new about the task; a look says what.
    Changed,
    /// The task has ended, or nobody can tell.
    Ended(Result<(), Error>),
    /// Something that a person should know.
    Alert(String),
    /// Ctrl-C.
    Interrupted,
    /// Patience is over.
    TimedOut,
    /// There will be no more news.
    Gone,
}

/// How a task stands.
pub(crate) struct Seen {
    /// The task.
    pub(crate) task: Shown,
    /// It is at least as new as the log at this position, after which events tell every change. `None`: there are no events.
    pub(crate) pos: Option<u64>,
}

/// Where news goes.
#[derive(Clone)]
pub(crate) struct Tell(Sender<News>);

impl Tell {
    pub(crate) fn new(to: Sender<News>) -> Self {
        Self(to)
    }

    /// `false`: nobody listens any more.
    pub(crate) fn say(&self, news: News) -> bool {
        self.0.send(news).is_ok()
    }

    /// Says that there will be no more, once this is dropped.
    pub(crate) fn until_gone(&self) -> Gone {
        Gone(self.clone())
    }
}

/// Says that there will be no more news when it is dropped.
pub(crate) struct Gone(Tell);

impl Gone {
    pub(crate) fn say(&self, news: News) -> bool {
        self.0.say(news)
    }
}

impl Drop for Gone {
    fn drop(&mut self) {
        // Nobody listens once the command is done.
        self.0.say(News::Gone);
    }
}
