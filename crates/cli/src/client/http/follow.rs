//! Following a task of a daemon elsewhere.

use super::{
    Http,
    tasks::{body, redrive},
};
use crate::{
    client::{Follow, News, Seen, Start, Tasks as _, Tell},
    error::{Code, Error},
    exit::Exit,
    remote::{Events, Remote},
    watch::Begin,
};
use relaymesh_api::view::Accepted;
use relaymesh_core::{id::TaskId, name::Name};
use std::{sync::Arc, thread};

/// How often events may end before the task does: a daemon that restarts ends them.
const ENDS_MAX: u32 = 5;

/// Does what a start says.
type Beginning = dyn FnOnce(&Remote) -> Result<(TaskId, Begin), Error> + Send;

impl Follow for Http<'_> {
    fn follow(&self, start: &Start, tell: Tell) -> Result<(), Error> {
        let remote = Arc::clone(self.remote);
        let begin: Box<Beginning> = match start {
            Start::Submit(submission) => {
                let body = body(submission)?;
                Box::new(move |remote| {
                    let Accepted { task, merged, .. } = remote.post_bytes(&["tasks"], body)?;
                    Ok((task, if merged { Begin::Merged } else { Begin::Accepted }))
                })
            }
            Start::Redrive(task, reason) => {
                let (task, reason) = (*task, reason.clone());
                Box::new(move |remote| Ok((redrive(remote, task, &reason)?.task, Begin::Redriven)))
            }
            Start::Wait(task) => {
                let task = *task;
                Box::new(move |_| Ok((task, Begin::Found)))
            }
        };
        let listen = move || {
            let tell = tell.until_gone();
            let begun = begin(&remote).and_then(|(task, how)| {
                // In this order: whatever happens after the look rings.
                Ok((task, how, events(&remote, task)?))
            });
            match begun {
                Ok((task, how, mut events)) => {
                    let mut is_wanted = tell.say(News::Begun(Ok((task, how))));
                    while is_wanted && events.rings(None) {
                        is_wanted = tell.say(News::Changed);
                    }
                }
                Err(error) => {
                    tell.say(News::Begun(Err(error)));
                }
            }
        };
        let spawned = thread::Builder::new().name("events".to_owned()).spawn(listen);
        spawned.map(drop).map_err(|error| Error::new(Code::Internal, format!("cannot wait for events: {error}")))
    }

    fn again(&self, _: &Start, task: Option<TaskId>, error: Error) -> Result<Option<&'static str>, Error> {
        if task.is_none() {
            return Err(error);
        }
        self.ends.set(self.ends.get() + 1);
        if self.ends.get() == ENDS_MAX {
            return Err(Error::new(Code::DaemonGone, format!("the daemon closed the event stream {ENDS_MAX} times")));
        }
        Ok(None)
    }

    fn look(&self, task: TaskId) -> Result<Seen, Error> {
        Ok(Seen { task: self.task(task, false)?, pos: None })
    }

    fn is_alone(&self) -> bool {
        false
    }

    fn last_line(&self, _: TaskId, _: &Name) -> Option<String> {
        None
    }

    fn finish(&self, result: Result<Exit, Error>) -> Result<Exit, Error> {
        result
    }
}

fn events(remote: &Remote, task: TaskId) -> Result<Events<'_>, Error> {
    remote.events(&[("task", Some(task.to_string()))])
}
