//! A driver in this process, for the length of one command.

use crate::{private, root, secrets};
use relaymesh_agents::Agents;
use relaymesh_api::error::{Code, Error};
use relaymesh_runtime::{
    agents::{Limits, News, Runner},
    clock::{Clock, System},
    driver::{Answer, Caller, Command, Config, Driver, Handle, LifeCommand, Watcher},
    host::Host,
    ledger::Books,
    root_clock::RootClock,
    settings::Settings,
    world::Alert,
};
use relaymesh_store::{Head, Reader as _, Store as _};
use relaymesh_store_sqlite::{FileBlobs, SqliteStore};
use std::sync::Arc;

/// A driver in this process.
pub struct Session {
    driver: Driver<SqliteStore>,
    blobs: FileBlobs,
    news: Option<News>,
    clock: Arc<RootClock>,
    caller: Caller,
}

impl Session {
    /// Starts a driver on the store. With agents it claims and runs ready steps; without, it only writes down what it is told.
    pub fn start(
        store: SqliteStore,
        caller: &Caller,
        settings: &Settings,
        agents: Option<Agents>,
        watchers: Vec<Watcher>,
        alert: impl FnMut(Alert) + Send + 'static,
    ) -> Result<Self, Error> {
        private::check(store.root().folder())?;
        let newest_ms = root::reader(&store)?.head()?.hlc().map_or(0, |hlc| hlc.wall_ms);
        let clock = Arc::new(RootClock::start(store.root().folder(), newest_ms));
        let mut alert = alert;
        clock.problem().into_iter().for_each(|problem| alert(Alert::ClockUnconfirmed(problem)));
        let own_time = Clock::at(System, clock.now_ms());
        let mut config: Config = settings.config();
        if agents.is_none() {
            config.slots = 0;
        }
        let blobs = store.blobs();
        let (node, folder) = (root::reader(&store)?.head()?.chain.origin, store.root().folder().to_owned());
        let results = blobs.clone();
        let books = root::reader(&store)?;
        let (mut failed, mut news) = (None, None);
        let driver = Driver::start_watched(store, config, watchers, |handle| {
            let runner = agents.map(|agents| {
                let ways = (handle.clone(), Box::new(books) as Box<dyn Books>);
                Runner::new(secrets::vault(&folder), node, agents, Limits::from(settings), results.clone(), ways)
            });
            let runner = runner.transpose().unwrap_or_else(|error| {
                failed = Some(error);
                None
            });
            news = runner.as_ref().map(Runner::news);
            Host::at(own_time, results, runner, handle.late(), alert)
        })?;
        if let Some(error) = failed {
            return Err(Error::new(Code::StoreIo, format!("cannot start agents: {error}")));
        }
        // R14: keys whose time is over are given up at every start. What is left of it can wait for the next one.
        let until_ms = settings.retention().keys_until_ms(clock.aged_ms());
        driver.handle().send(caller.clone(), Command::Life(LifeCommand::SweepKeys { until_ms }), drop);
        Ok(Self { driver, blobs, news, clock, caller: caller.clone() })
    }

    /// Where commands go.
    pub fn handle(&self) -> &Handle {
        self.driver.handle()
    }

    /// Where new agents are put, if this session works on steps.
    pub fn news(&self) -> Option<News> {
        self.news.clone()
    }

    /// What time it is in this root.
    pub fn clock(&self) -> Arc<RootClock> {
        Arc::clone(&self.clock)
    }

    /// Where long content goes.
    pub fn blobs(&self) -> FileBlobs {
        self.blobs.clone()
    }

    /// Hands a command over; the answer goes to `reply`.
    pub fn send(&self, command: Command, reply: impl FnOnce(Result<Answer, Error>) + Send + 'static) {
        match command.stowed(&self.blobs) {
            Ok(command) => {
                self.handle().send(self.caller.clone(), command, |answer| reply(answer.map_err(Error::from)))
            }
            Err(error) => reply(Err(error.into())),
        }
    }

    /// Hands a command over and waits for the answer.
    pub fn call(&self, command: Command) -> Result<Answer, Error> {
        Ok(self.handle().call(self.caller.clone(), command.stowed(&self.blobs)?)?)
    }

    /// Stops the driver. Running attempts are given back and do not count. A poisoned store is the answer, whatever the
    /// command was told before.
    pub fn finish<T>(self, result: Result<T, Error>) -> Result<T, Error> {
        self.finish_at(result, |_| {})
    }

    /// The same. `last` is told where the log stands, when nothing is written any more and the root is still held.
    pub(crate) fn finish_at<T>(self, result: Result<T, Error>, last: impl FnOnce(&Head)) -> Result<T, Error> {
        self.clock.look();
        self.clock.keep(true);
        match self.driver.stop() {
            Ok(store) => {
                last(store.head());
                let closed = store.close();
                let value = result?;
                closed?;
                Ok(value)
            }
            Err(why) => Err(Error::new(Code::Indeterminate, why)),
        }
    }
}

/// An alert in words.
pub fn warning(alert: &Alert) -> String {
    match alert {
        Alert::ClockJump(jump) => format!("warning: the system clock was changed by {} ms", jump.by_ms),
        Alert::ClockUnconfirmed(problem) => format!("warning: {problem}"),
        Alert::Late { by_ms } => {
            format!(
                "warning: this process was suspended for at least {by_ms} ms; no lease expires before its worker could report"
            )
        }
        Alert::DiskFull(detail) => format!("warning: {detail}; waiting for space"),
        Alert::Poisoned(detail) => format!("warning: the store can no longer be trusted: {detail}"),
        Alert::Unreadable(detail) => format!("warning: stored data cannot be read: {detail}"),
        Alert::Held { agent, reason, until_ms } => {
            format!("warning: agent `{agent}` is held until {}: {reason}", relaymesh_api::time::rfc3339(*until_ms))
        }
    }
}
