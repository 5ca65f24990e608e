//! What holders said last: so that a word that is repeated, because its answer was lost, gets the answer that it got.
//!
//! The kernel says which words are the same ([`repeat`]). Here lies what the rows do not keep: the word with its token, and the answer. A word
//! goes with its batch until that is durable, so a batch that is rolled back takes it along. The newest are kept; a restart forgets them, and then
//! the rows decide, for holds that ended before it.

use super::{
    command::{Answer, Error},
    engine::Engine,
};
use crate::world::World;
use relaymesh_core::{
    id::{LeaseToken, StepId, TaskId, ThreadId},
    lock, message,
    op::{HeldMessage, Scope, Subject},
    repeat,
    task::{self, Status},
};
use relaymesh_store::Reader;
use std::collections::{HashMap, VecDeque};

/// Words that are kept; the oldest goes first.
const KEPT_MAX: usize = 16_384;

/// A word that ended a hold, and its answer.
pub(super) struct Said {
    word: Subject,
    answer: Answer,
}

/// What was said last.
#[derive(Default)]
pub(super) struct LastWords {
    by_token: HashMap<(Scope, LeaseToken), Said>,
    oldest_first: VecDeque<(Scope, LeaseToken)>,
}

impl LastWords {
    /// These are durable.
    pub(super) fn settle(&mut self, said: Vec<Said>) {
        for said in said {
            let Some(key) = key(&said.word) else { continue };
            if self.by_token.insert(key, said).is_none() {
                self.oldest_first.push_back(key);
            }
            if self.oldest_first.len() > KEPT_MAX {
                self.oldest_first.pop_front().map(|oldest| self.by_token.remove(&oldest));
            }
        }
    }
}

/// The hold that the word ends.
fn key(word: &Subject) -> Option<(Scope, LeaseToken)> {
    let token = if let Subject::Task(_, body) = word {
        body.held()?.token
    } else if let Subject::Thread(_, body) = word {
        delivery(body)?.token
    } else if let Subject::Repository(_, lock::Body::ReleaseLock { held }) = word {
        held.token
    } else {
        return None;
    };
    Some((word.scope(), token))
}

/// The delivery that the word ends.
fn delivery(body: &message::Body) -> Option<&HeldMessage> {
    if let message::Body::AcknowledgeMessage { held }
    | message::Body::ReplyMessage { held, .. }
    | message::Body::FailMessage { held, .. } = body
    {
        return Some(held);
    }
    None
}

impl<R: Reader, W: World> Engine<R, W> {
    /// The answer to a word that was said before, if this is the same word.
    pub(super) fn said_before(&mut self, word: &Subject) -> Result<Option<Answer>, Error> {
        let Some(key) = key(word) else { return Ok(None) };
        let same = |said: &&Said| repeat::is_same(&said.word, word);
        let on_its_way = self.pipeline.said().find(same);
        if let Some(said) = on_its_way.or_else(|| self.last_words.by_token.get(&key).filter(same)) {
            let answer = said.answer.clone();
            return Ok(self.is_there(word)?.then_some(answer)); // what was purged is not there
        }
        if let Subject::Task(task, body) = word {
            self.said_of_task(*task, body)
        } else if let Subject::Thread(thread, body) = word {
            self.said_of_message(*thread, body)
        } else {
            Ok(None)
        }
    }

    fn is_there(&mut self, word: &Subject) -> Result<bool, Error> {
        if let Subject::Task(task, _) = word {
            return Ok(self.live.load(*task, &mut self.reader).map_err(Error::Store)?.is_some());
        }
        // A repository is never purged.
        Ok(!matches!(word, Subject::Thread(..)) || self.thread(word.scope())?.is_some())
    }

    fn said_of_task(&mut self, task: TaskId, body: &task::Body) -> Result<Option<Answer>, Error> {
        let began_ms = self.timers.began().wall_ms;
        let Some(rows) = self.live.load(task, &mut self.reader).map_err(Error::Store)? else { return Ok(None) };
        let ended = body.held().and_then(|held| {
            let history = &rows.steps.get(usize::from(held.step))?.history;
            history.iter().find(|attempt| attempt.epoch == held.epoch).map(|attempt| attempt.ended_ms)
        });
        let was_said = ended.is_some_and(|at_ms| at_ms <= began_ms) && repeat::was_said_of_task(rows, body);
        Ok(was_said.then_some(Answer::Done { status: rows.task.status }))
    }

    fn said_of_message(&mut self, thread: ThreadId, body: &message::Body) -> Result<Option<Answer>, Error> {
        let began_ms = self.timers.began().wall_ms;
        let Some(held) = delivery(body) else { return Ok(None) };
        let Some(rows) = self.thread(Scope::Thread(thread))? else { return Ok(None) };
        let Some(row) = rows.messages.get(&held.message) else { return Ok(None) };
        if row.updated_ms > began_ms || !repeat::was_said_of_message(rows, body) {
            return Ok(None);
        }
        let (state, asks) = (row.state, row.draft.asks);
        let Some(answer) = row.answered_by else {
            return Ok(Some(Answer::Message { thread, message: held.message, state }));
        };
        let completed = match asks {
            None => None,
            Some(asks) => {
                let StepId { task, index } = asks.step;
                self.live.load(task, &mut self.reader).map_err(Error::Store)?;
                let is_done = |(step, _): (&task::Step, _)| step.status == Status::Success && step.epoch == asks.epoch;
                Some((asks.step, self.step(task, index).is_some_and(is_done)))
            }
        };
        Ok(Some(Answer::Replied { thread, message: answer, completed }))
    }

    /// The word took effect, and this is its answer.
    pub(super) fn note_said(&mut self, word: Subject, answer: &Answer) {
        self.pipeline.after().said.push(Said { word, answer: answer.clone() });
    }
}
