//! How a command reaches the driver: in the root's daemon, or (`--no-daemon`) in this process.

use crate::{
    args::Context,
    client::Submission,
    error::{Code, Error},
    output, root,
    session::{self, Session},
    settings,
};
use relaymesh_agents::{Agents, config::FILE};
use relaymesh_api::{flow, local::Client};
use relaymesh_core::task::spec::RetryPolicy;
use relaymesh_runtime::{
    driver::{Answer, Command, Submit, Until, Watcher},
    settings::Settings,
    world::Alert,
};
use relaymesh_store_sqlite::SqliteStore;
use std::sync::mpsc;

/// A driver that can be asked.
pub(crate) enum Link {
    /// In this process, for the length of one command.
    Here {
        /// The driver.
        session: Box<Session>,
        /// What the settings say about retries.
        retry: RetryPolicy,
    },
    /// At the other end of a socket.
    Daemon {
        /// The connection.
        client: Client,
        /// Whether the daemon was there before: it may know older agents than there are now.
        was_there: bool,
    },
}

/// Whether a root is made if there is none.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Missing {
    /// It is made.
    Make,
    /// It is an error.
    Refuse,
}

impl Link {
    /// The root's daemon, started if there is none; with `--no-daemon`, a driver here that works on steps if it gets agents. What
    /// `events` makes, once there is a driver, is told of everything that becomes durable from now on, until it returns `false`; it is dropped when the driver goes away.
    pub(crate) fn open(
        context: &Context,
        missing: Missing,
        (works_by, events): (Option<&Agents>, Option<&dyn Fn() -> Watcher>),
        alert: impl FnMut(Alert) + Send + 'static,
    ) -> Result<Self, Error> {
        if missing == Missing::Refuse {
            root::there(&context.root)?;
        }
        if context.no_daemon {
            let settings = settings::load(&settings::layers(&context.root, &[]))?.settings;
            let store = Self::store(context, missing, &settings)?;
            let watchers = events.map(|events| events()).into_iter().collect();
            let session = Session::start(store, &context.caller, &settings, works_by.cloned(), watchers, alert)?;
            return Ok(Self::Here { session: Box::new(session), retry: settings.retry() });
        }
        let is_new = !root::exists(&context.root);
        let started = context.daemon(&[])?;
        if is_new && !started.was_there {
            output::note(&format!("note: created a new root in {}", context.root.display()));
        }
        if !started.was_there {
            let pid = started.client.pid();
            output::note(&format!("note: started the daemon (pid {pid}); `relaymesh down` stops it"));
        }
        if let Some(events) = events {
            started.client.watch(events())?;
        }
        Ok(Self::Daemon { client: started.client, was_there: started.was_there })
    }

    /// The same, once its daemon has taken up the agents as they are now. A submit does that by itself.
    pub(crate) fn refreshed(self, context: &Context) -> Result<Self, Error> {
        if let Self::Daemon { client, was_there: true } = &self
            && context.root.join(FILE).exists()
        {
            client.reload()?;
        }
        Ok(self)
    }

    fn store(context: &Context, missing: Missing, settings: &Settings) -> Result<SqliteStore, Error> {
        let options = root::options(settings);
        match missing {
            Missing::Make => root::open_or_create(&context.root, &options),
            Missing::Refuse => root::open(&context.root, &options),
        }
    }

    /// Hands a command over; the answer goes to `reply`, once it is durable.
    pub(crate) fn send(&self, command: Command, reply: impl FnOnce(Result<Answer, Error>) + Send + 'static) {
        match self {
            Self::Here { session, .. } => session.send(command, reply),
            Self::Daemon { client, .. } => client.send(command, reply),
        }
    }

    /// Hands a submit over; the answer goes to `reply`, once it is durable. What its steps do not say about retries is filled in where
    /// the driver is; for one in this process, by these agents.
    pub(crate) fn submit(
        &self,
        submission: &Submission,
        agents: &Agents,
        reply: impl FnOnce(Result<Answer, Error>) + Send + 'static,
    ) {
        let Submission { namespace, prepared, request, .. } = submission;
        let mut submit = Submit::new(namespace.clone(), prepared.clone(), Until::Accepted);
        let gaps = flow::retry_gaps(request);
        match self {
            Self::Here { session, retry } => {
                flow::fill_retries(&mut submit.schedule, &gaps, agents, *retry);
                session.send(Command::Submit(submit), reply);
            }
            Self::Daemon { client, .. } => client.submit(submit, gaps, reply),
        }
    }

    /// Hands a submit over and waits for the answer.
    pub(crate) fn submitted(&self, submission: &Submission, agents: &Agents) -> Result<Answer, Error> {
        let (reply, answer) = mpsc::channel();
        self.submit(submission, agents, move |result| drop(reply.send(result)));
        answer.recv().unwrap_or_else(|_| Err(gone()))
    }

    /// Hands a command over and waits for the answer.
    pub(crate) fn call(&self, command: Command) -> Result<Answer, Error> {
        match self {
            Self::Here { session, .. } => session.call(command),
            Self::Daemon { client, .. } => client.call(command),
        }
    }

    /// Ends what was begun here. A daemon goes on.
    pub(crate) fn finish<T>(self, result: Result<T, Error>) -> Result<T, Error> {
        match self {
            Self::Here { session, .. } => session.finish(result),
            Self::Daemon { .. } => result,
        }
    }
}

/// Gives one command. Nothing is claimed here meanwhile.
pub(crate) fn once(context: &Context, missing: Missing, command: Command) -> Result<Answer, Error> {
    with(context, missing, |ask| ask(command))
}

/// Does something that takes several commands. Nothing is claimed here meanwhile.
pub(crate) fn with<T>(
    context: &Context,
    missing: Missing,
    act: impl FnOnce(&mut dyn FnMut(Command) -> Result<Answer, Error>) -> Result<T, Error>,
) -> Result<T, Error> {
    let warn = |alert: Alert| output::note(&session::warning(&alert));
    let link = Link::open(context, missing, (None, None), warn)?.refreshed(context)?;
    let result = act(&mut |command| link.call(command));
    link.finish(result)
}

/// An answer to another question.
pub(crate) fn unexpected(answer: &Answer) -> Error {
    Error::new(Code::Internal, format!("unexpected answer from the driver: {answer:?}"))
}

/// There is no driver to ask any more.
pub(crate) fn gone() -> Error {
    Error::new(Code::DaemonGone, "the driver has stopped")
}
