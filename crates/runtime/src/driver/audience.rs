//! Everybody who listens: callers that wait for the end of a task, and subscribers to events, messages and positions.
//!
//! They hear only of what is durable. The audience does not depend on the engine that serves it and can be handed on to
//! another one.

use super::{
    command::{Answer, Reply},
    effects,
    error::Error,
    event::{Event, Posted},
};
use relaymesh_core::{
    id::TaskId,
    task::{Task, TaskRows},
};
use relaymesh_store::{Batch, Reader};
use std::collections::{BTreeSet, HashMap};

/// Takes events; `false` ends the subscription.
pub type Watcher = Box<dyn FnMut(&Event) -> bool + Send>;

/// Takes news of messages; `false` ends the subscription.
pub(super) type Listener = Box<dyn FnMut(&Posted) -> bool + Send>;

/// Takes the position of the newest durable op; `false` ends the subscription.
pub(super) type Follower = Box<dyn FnMut(u64) -> bool + Send>;

/// Everybody who listens to an engine.
#[derive(Default)]
pub struct Audience {
    waiters: HashMap<TaskId, Vec<Reply>>,
    watchers: Vec<Watcher>,
    listeners: Vec<Listener>,
    followers: Vec<Follower>,
}

/// What a batch has for the audience.
#[derive(Default)]
pub(super) struct Share {
    events: Vec<Event>,
    /// Tasks that end in it, with the callers that waited for that very end.
    ended: Vec<(TaskId, Answer, Vec<Reply>)>,
}

impl Audience {
    /// These watch, and nobody else listens yet.
    pub fn new(watchers: Vec<Watcher>) -> Self {
        Self { watchers, ..Self::default() }
    }

    pub(super) fn watch(&mut self, watcher: Watcher) {
        self.watchers.push(watcher);
    }

    pub(super) fn listen(&mut self, listener: Listener) {
        self.listeners.push(listener);
    }

    pub(super) fn follow(&mut self, follower: Follower) {
        self.followers.push(follower);
    }

    /// Whether anybody takes events.
    pub(super) fn is_watched(&self) -> bool {
        !self.watchers.is_empty()
    }

    /// How many callers wait for the end of a task.
    pub(super) fn waiting(&self) -> usize {
        self.waiters.values().map(Vec::len).sum()
    }

    /// Answers once the task has ended.
    pub(super) fn wait(&mut self, task: TaskId, reply: Reply) {
        self.waiters.entry(task).or_default().push(reply);
    }

    /// A batch decides the end of a task. Its waiters are told of this end once the batch is durable: a later batch may
    /// redrive the task.
    pub(super) fn note_end(&mut self, task: &Task, share: &mut Share) {
        let Some(replies) = self.waiters.remove(&task.id) else { return };
        share.ended.push((task.id, ended(task), replies));
    }

    /// The batch is durable. Subscribers hear of it before callers do.
    pub(super) fn tell(&mut self, share: &Share, batch: &Batch) {
        self.watchers.retain_mut(|watcher| share.events.iter().all(&mut *watcher));
        if !self.listeners.is_empty() {
            let posted: Vec<Posted> = effects::posted(batch).collect();
            self.listeners.retain_mut(|listener| posted.iter().all(&mut *listener));
        }
        if !batch.ops.is_empty() {
            self.followers.retain_mut(|follower| follower(batch.head.pos));
        }
    }

    /// The batch is rolled back: its waiters wait again. Follow with [`Audience::settle`].
    pub(super) fn undo(&mut self, share: Share) {
        for (task, _, replies) in share.ended {
            self.wait_again(task, replies);
        }
    }

    fn wait_again(&mut self, task: TaskId, replies: Vec<Reply>) {
        self.waiters.entry(task).or_default().extend(replies);
    }

    /// After a roll-back, and at the start of an engine: answers waiters of tasks that have ended according to the store, and waiters of
    /// tasks that were never created. A task that is waited for has ended when the redrive before is undone, or when an engine stopped
    /// before it could tell.
    pub(super) fn settle<R: Reader>(&mut self, reader: &mut R, uncreated: BTreeSet<TaskId>, why: &Error) {
        let mut tasks: Vec<TaskId> = self.waiters.keys().copied().collect();
        tasks.sort_unstable();
        for id in tasks {
            let Ok(Some(TaskRows { task, .. })) = reader.task(id) else { continue };
            if task.status.is_terminal() {
                self.answer(id, &Ok(ended(&task)));
            }
        }
        for id in uncreated {
            self.answer(id, &Err(why.clone()));
        }
    }

    fn answer(&mut self, task: TaskId, answer: &Result<Answer, Error>) {
        for reply in self.waiters.remove(&task).into_iter().flatten() {
            reply(answer.clone());
        }
    }

    /// Everybody who waits for a task. They are no longer in the audience.
    pub(super) fn take_waiters(&mut self) -> Vec<Reply> {
        self.waiters.drain().flat_map(|(_, replies)| replies).collect()
    }
}

impl Share {
    pub(super) fn note_event(&mut self, event: Event) {
        self.events.push(event);
    }

    /// Answers the callers that waited for an end.
    pub(super) fn answer(self) {
        for (_, answer, replies) in self.ended {
            for reply in replies {
                reply(Ok(answer.clone()));
            }
        }
    }

    /// The callers that waited for an end.
    pub(super) fn into_waiters(self) -> impl Iterator<Item = Reply> {
        self.ended.into_iter().flat_map(|(_, _, replies)| replies)
    }
}

/// What callers are told of a task that has ended.
pub(super) fn ended(task: &Task) -> Answer {
    Answer::Ended { task: task.id, status: task.status, result_hash: task.result_hash }
}
