//! Failed tasks and messages.

mod shown;

pub use shown::{All, Documents, Failed, Ids, Outcome, Shown};

use super::document::Document;
use crate::{
    error::{Code, Error},
    lookup,
};
use relaymesh_core::{
    id::{MessageId, TaskId, ThreadId},
    kernel::Rows,
    message::{DeadReason, Message, State, Thread, ThreadRows},
    name::Name,
    op::Scope,
    task::{Status, TaskRows},
};
use relaymesh_store::{Reader, TaskFilter};
use std::collections::BTreeSet;

const PAGE: usize = 256;
/// Failed messages that may be meant by the names of their threads.
const NAMED_MAX: usize = 100_000;

/// A selection of failed tasks and messages.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct Selection {
    /// Only tasks in which this agent failed, and messages to it.
    pub agent: Option<Name>,
    /// Only tasks of this flow.
    pub flow: Option<Name>,
    /// Only failures at or after this time, in milliseconds since 1970.
    pub since_ms: Option<u64>,
    /// Only failures before this time, in milliseconds since 1970.
    pub before_ms: Option<u64>,
}

/// A failed task or message.
pub struct Dead {
    /// Its ids.
    pub what: What,
    /// Namespace.
    pub namespace: Name,
    /// The op that submitted or sent it: what came earlier has a smaller one.
    pub pos: u64,
    /// Name.
    pub name: String,
    /// Agent that failed.
    pub agent: Name,
    /// Final state.
    pub end: String,
    /// Time of the failure, in milliseconds since 1970.
    pub died_ms: u64,
    /// Last error.
    pub why: Option<String>,
}

/// Its ids.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum What {
    /// A task.
    Task(TaskId),
    /// A message of a thread.
    Message(ThreadId, MessageId),
}

impl Selection {
    /// All of the namespace that fits, in the order in which it was submitted or sent. `looked` hears how many threads were seen.
    pub fn find(
        &self,
        reader: &mut (impl Reader + ?Sized),
        namespace: &Name,
        looked: &mut dyn FnMut(u64),
    ) -> Result<Vec<Dead>, Error> {
        self.first(reader, namespace, usize::MAX, looked).map(|(found, _)| found)
    }

    /// The first so many of them, and how many there are. No more than twice as many are held.
    pub fn first(
        &self,
        reader: &mut (impl Reader + ?Sized),
        namespace: &Name,
        limit: usize,
        looked: &mut dyn FnMut(u64),
    ) -> Result<(Vec<Dead>, usize), Error> {
        let (mut found, mut total) = (Vec::new(), 0);
        let mut keep = |dead: Dead| {
            let by_agent = self.agent.as_ref().is_none_or(|agent| *agent == dead.agent);
            if by_agent && self.is_then(dead.died_ms) {
                total += 1;
                found.push(dead);
                if found.len() >= limit.saturating_mul(2) {
                    cut(&mut found, limit);
                }
            }
        };
        for status in [Status::Failed, Status::DeadLetter] {
            let filter = TaskFilter { namespace: Some(namespace.clone()), status: Some(status) };
            lookup::each_task(reader, &filter, |reader, task| {
                // It may have been tried again since it was listed.
                if self.fits_task(&task.name, task.updated_ms) {
                    reader.task_at(task.key)?.as_ref().and_then(dead_task).into_iter().for_each(&mut keep);
                }
                Ok(())
            })?;
        }
        if self.flow.is_none() {
            let mut threads = BTreeSet::new();
            for state in [State::Failed, State::Dead] {
                each_thread_in(reader, state, |thread| {
                    threads.insert(thread);
                })?;
            }
            for (seen, thread) in (1..).zip(threads) {
                if let Some(Rows::Thread(rows)) = reader.scope(Scope::Thread(thread))?
                    && rows.thread.namespace == *namespace
                {
                    let dead = rows.messages.values().filter_map(|message| dead_message(&rows.thread, message));
                    dead.for_each(&mut keep);
                }
                looked(seen);
            }
        }
        cut(&mut found, limit);
        Ok((found, total))
    }

    fn fits_task(&self, name: &Name, died_ms: u64) -> bool {
        // A task that is called as a message was a delivery of it, and the message tells of that itself.
        let is_delivery = self.flow.is_none() && name.as_str().parse::<MessageId>().is_ok();
        !is_delivery && self.flow.as_ref().is_none_or(|flow| flow == name) && self.is_then(died_ms)
    }

    fn is_then(&self, died_ms: u64) -> bool {
        self.since_ms.is_none_or(|since| since <= died_ms) && self.before_ms.is_none_or(|before| died_ms < before)
    }
}

/// Sorts by what was submitted or sent first, and leaves so many.
fn cut(found: &mut Vec<Dead>, limit: usize) {
    found.sort_by_key(|dead: &Dead| dead.pos);
    found.truncate(limit);
}

impl Dead {
    /// The same as it is shown.
    pub fn shown(self) -> Shown {
        let Self { what, name, agent, end, died_ms, why, .. } = self;
        Shown { ids: what.ids(), name, agent, end, died_ms, why }
    }
}

impl What {
    /// Its id, for people.
    pub fn id(self) -> String {
        match self {
            Self::Task(task) => task.to_string(),
            Self::Message(_, message) => message.to_string(),
        }
    }

    /// Its ids, for programs.
    pub fn ids(self) -> Ids {
        match self {
            Self::Task(task) => Ids { task: Some(task), message: None, thread: None },
            Self::Message(thread, message) => Ids { task: None, message: Some(message), thread: Some(thread) },
        }
    }

    /// Everything that is known of it.
    pub fn document(self) -> Document {
        match self {
            Self::Task(task) => Document::export(task),
            Self::Message(thread, message) => Document::message(thread, message),
        }
    }
}

/// The failed tasks and messages with these ids. One that has not failed is an error.
pub fn named(
    reader: &mut (impl Reader + ?Sized),
    ids: &[String],
    looked: &mut dyn FnMut(u64),
) -> Result<Vec<Dead>, Error> {
    let mut found = Vec::new();
    let mut messages = BTreeSet::new();
    for text in ids {
        if let Ok(thread) = text.parse::<ThreadId>() {
            let Some(Rows::Thread(rows)) = reader.scope(Scope::Thread(thread))? else {
                return Err(Error::new(Code::NoTask, format!("there is no {thread} in this root")));
            };
            found.extend(rows.messages.values().filter_map(|message| dead_message(&rows.thread, message)));
            if found.len() > NAMED_MAX {
                let message = format!("the threads have more than {NAMED_MAX} failed messages");
                return Err(Error::new(Code::TooLong, message).hint("name fewer threads at once"));
            }
        } else if let Ok(message) = text.parse::<MessageId>() {
            messages.insert(message);
        } else {
            let rows = lookup::task(reader, text)?;
            let alive = || format!("{} is {}: it has not failed", rows.task.id, rows.task.status);
            found.push(dead_task(&rows).ok_or_else(|| Error::new(Code::Refused, alive()))?);
        }
    }
    let mut alive = None;
    if !messages.is_empty() {
        // Only its thread knows a message, so all threads are asked.
        each_thread(reader, looked, |rows| {
            for message in rows.messages.values().filter(|message| messages.contains(&message.draft.id)) {
                messages_found(&rows.thread, message, &mut found, &mut alive);
            }
        })?;
    }
    if let Some(error) = alive {
        return Err(error);
    }
    let is_found =
        |id: &MessageId| found.iter().any(|dead| matches!(dead.what, What::Message(_, found) if found == *id));
    match messages.iter().find(|id| !is_found(id)) {
        Some(id) => Err(Error::new(Code::NoTask, format!("there is no message {id} in this root"))),
        None => Ok(found),
    }
}

fn messages_found(thread: &Thread, message: &Message, found: &mut Vec<Dead>, alive: &mut Option<Error>) {
    match dead_message(thread, message) {
        Some(dead) => found.push(dead),
        None => {
            let words = format!("{} is {}: it has not failed", message.draft.id, message.state);
            alive.get_or_insert_with(|| Error::new(Code::Refused, words));
        }
    }
}

/// Every thread with a message in this state.
fn each_thread_in(
    reader: &mut (impl Reader + ?Sized),
    state: State,
    mut tell: impl FnMut(ThreadId),
) -> Result<(), Error> {
    let mut after = None;
    loop {
        let page = reader.threads(state, after, PAGE)?;
        let Some(last) = page.last() else { return Ok(()) };
        after = Some(*last);
        page.into_iter().for_each(&mut tell);
    }
}

/// Every thread of the root.
pub fn each_thread(
    reader: &mut (impl Reader + ?Sized),
    looked: &mut dyn FnMut(u64),
    mut tell: impl FnMut(&ThreadRows),
) -> Result<(), Error> {
    let (mut last, mut seen) = (None, 0);
    loop {
        let page = reader.scopes(last, PAGE)?;
        let Some(newest) = page.last() else { return Ok(()) };
        last = Some(*newest);
        for scope in page {
            // Threads come before repositories.
            let Scope::Thread(_) = scope else { return Ok(()) };
            if let Some(Rows::Thread(rows)) = reader.scope(scope)? {
                tell(&rows);
            }
            seen += 1;
        }
        looked(seen);
    }
}

fn dead_task(rows: &TaskRows) -> Option<Dead> {
    let task = &rows.task;
    if !matches!(task.status, Status::Failed | Status::DeadLetter) {
        return None;
    }
    let step = rows.steps.get(usize::from(task.failing?.step))?;
    Some(Dead {
        what: What::Task(task.id),
        namespace: task.namespace.clone(),
        pos: task.key,
        name: task.name.to_string(),
        agent: step.spec.agent.clone(),
        end: task.status.to_string(),
        died_ms: task.updated_ms,
        why: step.error.clone(),
    })
}

fn dead_message(thread: &Thread, message: &Message) -> Option<Dead> {
    let end = match (message.state, message.dead) {
        (State::Queued | State::Processing | State::Done, _) => return None,
        (State::Dead, Some(DeadReason::Expired)) => "DEAD (expired)".to_owned(),
        (State::Dead, Some(DeadReason::Exhausted)) => "DEAD (delivered too often)".to_owned(),
        (State::Failed | State::Dead, _) => message.state.to_string(),
    };
    let draft = &message.draft;
    Some(Dead {
        what: What::Message(thread.id, draft.id),
        namespace: thread.namespace.clone(),
        pos: message.content_pos,
        name: format!("from {}", draft.from),
        agent: draft.to.clone(),
        end,
        died_ms: message.updated_ms,
        why: message.error.clone(),
    })
}
