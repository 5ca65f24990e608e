//! What messages and locks ever were: an answer may speak of what has passed since.

use crate::time::Ns;
use relaymesh_core::{
    id::{LeaseToken, MessageId, RepositoryId, ThreadId, WorkerId},
    kernel::Rows,
    lock::{Lock, Mode, RepositoryRows},
    message::{self, State, ThreadRows},
    op::{Body, Op, Scope},
};
use std::collections::{BTreeMap, BTreeSet};

/// What messages and locks ever were.
#[derive(Debug, Default)]
pub(crate) struct Past {
    /// Since when each thread, repository and namespace is there.
    since: BTreeMap<Scope, Ns>,
    messages: BTreeMap<(ThreadId, MessageId), MessagePast>,
    /// Every delivery, by its token.
    deliveries: BTreeMap<LeaseToken, Delivered>,
    /// Every lock, by its fence, as it was last.
    locks: BTreeMap<(RepositoryId, u64), LockPast>,
}

/// A message in the past.
#[derive(Debug, Default)]
pub(crate) struct MessagePast {
    /// Since when it is there.
    pub(crate) since: Ns,
    /// Every state that it was in.
    pub(crate) states: BTreeSet<State>,
    /// Since when it waits without a break.
    pub(crate) queued: Option<Ns>,
}

/// A delivery that took effect.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) struct Delivered {
    pub(crate) thread: ThreadId,
    pub(crate) message: MessageId,
    pub(crate) epoch: u32,
    pub(crate) worker: WorkerId,
}

/// A lock in the past.
#[derive(Debug)]
pub(crate) struct LockPast {
    pub(crate) lock: Lock,
    /// Every mode that it was in.
    pub(crate) modes: BTreeSet<Mode>,
    /// Every time until which it was to last.
    pub(crate) deadlines: BTreeSet<u64>,
}

impl Past {
    /// Whether the scope was there at that time already.
    pub(crate) fn was_there(&self, scope: Scope, at: Ns) -> bool {
        self.since.get(&scope).is_some_and(|since| *since <= at)
    }

    pub(crate) fn message(&self, thread: ThreadId, message: MessageId) -> Option<&MessagePast> {
        self.messages.get(&(thread, message))
    }

    pub(crate) fn delivery(&self, token: LeaseToken) -> Option<&Delivered> {
        self.deliveries.get(&token)
    }

    pub(crate) fn lock(&self, repository: RepositoryId, fence: u64) -> Option<&LockPast> {
        self.locks.get(&(repository, fence))
    }

    pub(super) fn keep(&mut self, now: Ns, op: &Op, rows: &Rows) {
        match rows {
            Rows::Thread(rows) => self.keep_thread(now, op, rows),
            Rows::Repository(rows) => self.keep_repository(rows),
            Rows::Namespace(_) | Rows::Plan(_) => {}
            Rows::Task(_) | Rows::Purged(_) => return,
        }
        self.since.entry(op.header.scope).or_insert(now);
    }

    fn keep_thread(&mut self, now: Ns, op: &Op, rows: &ThreadRows) {
        let thread = rows.thread.id;
        for row in rows.messages.values() {
            let past = self.messages.entry((thread, row.draft.id)).or_insert_with(|| MessagePast {
                since: now,
                // It waited, if only for the time of one op.
                states: BTreeSet::from([State::Queued]),
                queued: None,
            });
            past.states.insert(row.state);
            let waits = row.state == State::Queued;
            past.queued = if waits { past.queued.or(Some(now)) } else { None };
        }
        if let Body::Message(message::Body::DeliverMessage { message, worker, token, .. }) = &op.body {
            let epoch = rows.messages.get(message).map_or(0, |row| row.epoch);
            self.deliveries.insert(*token, Delivered { thread, message: *message, epoch, worker: *worker });
        }
    }

    fn keep_repository(&mut self, rows: &RepositoryRows) {
        for lock in rows.locks.values() {
            let past = self.locks.entry((rows.repository.id, lock.fence)).or_insert_with(|| LockPast {
                lock: lock.clone(),
                modes: BTreeSet::new(),
                deadlines: BTreeSet::new(),
            });
            past.modes.insert(lock.mode);
            past.deadlines.insert(lock.deadline_ms);
        }
    }
}
