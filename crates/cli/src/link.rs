//! How a command reaches the driver: in the root's daemon, or (`--no-daemon`) in this process.

use crate::{
    args::Context,
    error::{Code, Error},
    output, root,
    session::{self, Session, Work},
    settings,
};
use relaymesh_api::local::Client;
use relaymesh_runtime::{
    driver::{Answer, Command, Event},
    settings::Settings,
    world::Alert,
};
use relaymesh_store_sqlite::SqliteStore;

/// A driver that can be asked.
pub(crate) enum Link {
    /// In this process, for the length of one command.
    Here(Box<Session>),
    /// At the other end of a socket.
    Daemon(Client),
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
    /// The root's daemon, started if there is none; with `--no-daemon`, a driver here that works on steps if `work` says so.
    pub(crate) fn open(
        context: &Context,
        missing: Missing,
        work: Work,
        alert: impl FnMut(Alert) + Send + 'static,
    ) -> Result<Self, Error> {
        if missing == Missing::Refuse {
            root::there(&context.root)?;
        }
        if context.no_daemon {
            let settings = settings::load(&settings::layers(&context.root, &[]))?.settings;
            let store = Self::store(context, missing, &settings)?;
            return Ok(Self::Here(Box::new(Session::start(
                store,
                &context.caller,
                &settings,
                work,
                Vec::new(),
                alert,
            )?)));
        }
        let is_new = !root::exists(&context.root);
        let started = context.daemon(&[])?;
        if is_new && !started.was_there {
            output::note(&format!("note: made a new root in {}", context.root.display()));
        }
        if !started.was_there {
            let pid = started.client.pid();
            output::note(&format!("note: started the daemon (pid {pid}); `relaymesh down` stops it"));
        }
        if started.was_there && context.root.join(relaymesh_agents::config::FILE).exists() {
            started.client.reload()?;
        }
        Ok(Self::Daemon(started.client))
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
            Self::Here(session) => session.send(command, reply),
            Self::Daemon(client) => client.send(command, reply),
        }
    }

    /// Hands a command over and waits for the answer.
    pub(crate) fn call(&self, command: Command) -> Result<Answer, Error> {
        match self {
            Self::Here(session) => session.call(command),
            Self::Daemon(client) => client.call(command),
        }
    }

    /// Tells `watcher` of everything that becomes durable from now on, until it returns `false`.
    pub(crate) fn watch(&self, watcher: impl FnMut(&Event) -> bool + Send + 'static) -> Result<(), Error> {
        match self {
            Self::Here(session) => {
                session.handle().watch(watcher);
                Ok(())
            }
            Self::Daemon(client) => client.watch(watcher),
        }
    }

    /// Ends what was begun here. A daemon goes on.
    pub(crate) fn finish<T>(self, result: Result<T, Error>) -> Result<T, Error> {
        match self {
            Self::Here(session) => session.finish(result),
            Self::Daemon(_) => result,
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
    let link = Link::open(context, missing, Work::Nothing, warn)?;
    let result = act(&mut |command| link.call(command));
    link.finish(result)
}

/// An answer to another question.
pub(crate) fn unexpected(answer: &Answer) -> Error {
    Error::new(Code::Internal, format!("the driver answered another question: {answer:?}"))
}
