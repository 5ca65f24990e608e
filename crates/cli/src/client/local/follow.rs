//! Following a task of the root on this machine.

use super::{Local, rows};
use crate::{
    bell::Bell,
    client::{Follow, News, Seen, Start, Tell},
    error::{Code, Error},
    exit::Exit,
    link::{self, Link, Missing},
    output, session,
    view::View,
    watch::{Begin, last},
};
use relaymesh_api::view::Results;
use relaymesh_core::{id::TaskId, name::Name};
use relaymesh_runtime::{
    driver::{Answer, Command, Event, Watcher},
    world::Alert,
};
use relaymesh_store::Reader as _;
use std::{
    thread,
    time::{Duration, Instant},
};

/// How often a daemon that goes away is started again.
const RESTARTS_MAX: u32 = 5;

/// How long until the lock is tried again: its holder may have ended.
const ROUND: Duration = Duration::from_secs(1);

impl Local<'_> {
    /// Opens the link that follows a task.
    fn open(&self, start: &Start, tell: &Tell) -> Result<(), Error> {
        let alerts = tell.clone();
        let alert = move |alert: Alert| {
            alerts.say(News::Alert(session::warning(&alert)));
        };
        // In this order: the events of the start itself are told as well.
        let events = || {
            let told = tell.until_gone();
            Box::new(move |event: &Event| told.say(News::Event(event.clone()))) as Watcher
        };
        let works_by = if self.context.no_daemon { Some(self.agents()?) } else { None };
        let work = (works_by, Some(&events as &dyn Fn() -> Watcher));
        let link = match start {
            Start::Submit(_) => Link::open(self.context, Missing::Make, work, alert)?,
            Start::Wait(_) | Start::Redrive(..) => {
                Link::open(self.context, Missing::Refuse, work, alert)?.refreshed(self.context)?
            }
        };
        *self.link.borrow_mut() = Some(link);
        Ok(())
    }

    /// Follows the work of the process that has the root, for one round.
    fn beside(&self, task: TaskId, tell: &Tell) -> Result<(), Error> {
        if !self.is_beside.replace(true) {
            output::note("another process is using the root; following its work");
        }
        let (root, tell) = (self.context.root.clone(), tell.until_gone());
        let listen = move || {
            let (mut bell, end) = (Bell::new(&root), Instant::now() + ROUND);
            let mut is_wanted = tell.say(News::Begun(Ok((task, Begin::Found))));
            while is_wanted && Instant::now() < end {
                bell.wait(Some(end.saturating_duration_since(Instant::now())));
                is_wanted = tell.say(News::Changed);
            }
        };
        let spawned = thread::Builder::new().name("bell".to_owned()).spawn(listen);
        spawned.map(drop).map_err(|error| Error::new(Code::StoreIo, format!("cannot follow the root: {error}")))
    }
}

impl Follow for Local<'_> {
    fn follow(&self, start: &Start, tell: Tell) -> Result<(), Error> {
        if let Start::Wait(task) = *start
            && self.rows(task)?.task.status.is_terminal()
        {
            tell.until_gone().say(News::Begun(Ok((task, Begin::Found))));
            return Ok(());
        }
        match (self.open(start, &tell), start) {
            // With `--no-daemon`, a daemon or another such command may have the root.
            (Err(error), Start::Wait(task)) if self.context.no_daemon && error.code == Code::RootInUse => {
                return self.beside(*task, &tell);
            }
            (opened, _) => opened?,
        }
        let link = self.link.borrow();
        let Some(link) = &*link else { return Err(link::gone()) };
        // What was decided before the watch and is not durable yet has no event, so the end of a task that is there is asked for.
        // A submit needs no such question: its answer comes after everything before it.
        let end = tell.clone();
        let ended = move |answer: Result<Answer, Error>| {
            end.say(News::Ended(answer.map(drop)));
        };
        let begun = move |begun| {
            tell.say(News::Begun(begun));
        };
        match start {
            Start::Submit(submission) => {
                link.submit(submission, self.agents()?, move |answer| begun(answer.and_then(accepted)));
            }
            Start::Redrive(task, reason) => {
                let (task, reason) = (*task, reason.clone());
                let redriven = move |answer: Result<Answer, Error>| begun(answer.map(|_| (task, Begin::Redriven)));
                link.send(Command::Redrive { task, reason }, redriven);
                link.send(Command::Wait { task }, ended);
            }
            Start::Wait(task) => {
                begun(Ok((*task, Begin::Found)));
                link.send(Command::Wait { task: *task }, ended);
            }
        }
        Ok(())
    }

    fn again(&self, start: &Start, task: Option<TaskId>, error: Error) -> Result<Option<&'static str>, Error> {
        let note = match &*self.link.borrow() {
            None if self.is_beside.get() => return Ok(None),
            Some(Link::Here { .. }) => return Err(error),
            Some(Link::Daemon { .. }) => Some("the daemon ended; starting it again"),
            None => None,
        };
        drop(self.link.take());
        self.restarts.set(self.restarts.get() + 1);
        match (task, start) {
            _ if self.restarts.get() == RESTARTS_MAX => {
                Err(Error::new(Code::DaemonGone, format!("the daemon ended {RESTARTS_MAX} times")))
            }
            // Nobody knows whether it was done, and it must not be done twice.
            (None, Start::Redrive(..)) => Err(error),
            // Nobody knows whether it was accepted; the same request with the same key is accepted once.
            (None, Start::Submit(_) | Start::Wait(_)) | (Some(_), _) => Ok(note),
        }
    }

    fn look(&self, task: TaskId) -> Result<Seen, Error> {
        self.read(|reader| {
            let pos = reader.head()?.pos;
            let rows = rows(reader, task)?;
            let has_ended = rows.task.status.is_terminal();
            let view = if has_ended { View::load(reader, rows, Results::Short)? } else { View::bare(rows) };
            Ok(Seen { task: view.shown(false), pos: Some(pos) })
        })
    }

    fn is_alone(&self) -> bool {
        self.context.no_daemon
    }

    fn last_line(&self, task: TaskId, step: &Name) -> Option<String> {
        last::line(&self.context.root, task, step)
    }

    fn finish(&self, result: Result<Exit, Error>) -> Result<Exit, Error> {
        match self.link.take() {
            Some(link) => link.finish(result),
            None => result,
        }
    }
}

fn accepted(answer: Answer) -> Result<(TaskId, Begin), Error> {
    let Answer::Accepted { task, merged, .. } = answer else { return Err(link::unexpected(&answer)) };
    Ok((task, if merged { Begin::Merged } else { Begin::Accepted }))
}
