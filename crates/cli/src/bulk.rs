//! Many commands in one go.
//!
//! One by one each would wait for a commit of its own. Handed over together they share commits, and are still decided in the
//! order in which they were given. One that is refused stops none of the others.

use crate::{
    args::Context,
    error::{Code, Error},
    link::{Link, Missing},
    output,
    progress::Progress,
    session,
};
use relaymesh_runtime::{
    driver::{Answer, Command},
    world::Alert,
};
use std::{
    collections::VecDeque,
    sync::mpsc::{self, Receiver},
};

/// How many are on their way at once.
const WINDOW: usize = 64;

/// What became of them.
#[derive(Default)]
pub(crate) struct Outcome {
    done: u64,
    failed: u64,
    /// Why the first one failed that did.
    first: Option<Error>,
}

/// Gives all commands, in order, and tells of each answer in the same order. `what` is said with the progress.
pub(crate) fn all<T>(
    context: &Context,
    what: &'static str,
    commands: Vec<(T, Command)>,
    mut tell: impl FnMut(&T, Result<&Answer, &Error>),
) -> Result<Outcome, Error> {
    let warn = |alert: Alert| output::note(&session::warning(&alert));
    let link = Link::open(context, Missing::Refuse, (None, None), warn)?.refreshed(context)?;
    let mut progress = Progress::new(what, commands.len() as u64);
    let mut outcome = Outcome::default();
    let mut waiting: VecDeque<(T, Receiver<Result<Answer, Error>>)> = VecDeque::new();
    let mut settle = |(about, answer): (T, Receiver<Result<Answer, Error>>)| {
        let answer = answer.recv().unwrap_or_else(|_| Err(Error::new(Code::DaemonGone, "the driver has stopped")));
        tell(&about, answer.as_ref());
        outcome.add(answer.map(drop));
        progress.tell(outcome.done + outcome.failed);
    };
    for (about, command) in commands {
        if waiting.len() == WINDOW
            && let Some(oldest) = waiting.pop_front()
        {
            settle(oldest);
        }
        let (reply, answer) = mpsc::channel();
        // Nobody listens any more once the command is over.
        link.send(command, move |result| drop(reply.send(result)));
        waiting.push_back((about, answer));
    }
    waiting.into_iter().for_each(settle);
    link.finish(Ok(outcome))
}

impl Outcome {
    /// One more is over.
    pub(crate) fn add(&mut self, answer: Result<(), Error>) {
        match answer {
            Ok(()) => self.done += 1,
            Err(error) => {
                self.failed += 1;
                self.first.get_or_insert(error);
            }
        }
    }

    /// How many were done; an error if some were not, with the code of the first of them.
    pub(crate) fn count(self, what: &str) -> Result<u64, Error> {
        let total = self.done + self.failed;
        match self.first {
            None => Ok(self.done),
            Some(first) if total == 1 => Err(first),
            Some(first) => {
                let message =
                    format!("{} of {total} could not be {what}; the first error: {}", self.failed, first.message);
                Err(Error { message, ..first })
            }
        }
    }
}
