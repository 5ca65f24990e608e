//! An observer that reads every op as soon as it is on a disk, and folds it for itself.
//!
//! It is the measure for everything else: what the ledger has is durable, and what it does not have is not. It never
//! sees the engine, so it cannot be fooled by what the engine only believes.

mod past;
mod tasks;
mod words;

pub(crate) use past::Past;
pub(crate) use tasks::{Claim, Seen};
pub(crate) use words::Words;

use crate::{
    call::{CallId, call_of},
    invariant::Invariants,
    time::Ns,
};
use relaymesh_core::{
    hash::Hash,
    id::{LeaseToken, MessageId, NamespaceId, PlanId, RepositoryId, TaskId, ThreadId},
    kernel::{Purged, Refusal, Rows, apply},
    lock::RepositoryRows,
    message::{Message, ThreadRows},
    name::Name,
    namespace::{DEFAULT, Namespace},
    op::{Kind, Op, Scope},
    plan::PlanRows,
    task::{TaskRows, spec::IdempotencyKey},
};
use relaymesh_store::{Reader as _, memory::MemoryReader};
use std::collections::{BTreeMap, BTreeSet};

/// What is durable on one node.
#[derive(Debug, Default)]
pub(crate) struct Ledger {
    /// The hash of every op, in order.
    pub(crate) hashes: Vec<Hash>,
    pub(crate) tasks: BTreeMap<TaskId, Seen>,
    /// Tasks that have not ended.
    pub(crate) open: BTreeSet<TaskId>,
    pub(crate) threads: BTreeMap<ThreadId, ThreadRows>,
    pub(crate) repositories: BTreeMap<RepositoryId, RepositoryRows>,
    pub(crate) namespaces: BTreeMap<NamespaceId, Namespace>,
    pub(crate) plans: BTreeMap<PlanId, PlanRows>,
    /// What messages and locks ever were.
    pub(crate) past: Past,
    /// What was written for which call.
    pub(crate) by_call: BTreeMap<CallId, Written>,
    /// Words that ended a hold.
    pub(crate) words: Words,
    /// The completion of the step that asked, for a call that answered it.
    pub(crate) completed_by: BTreeMap<CallId, u64>,
    pub(crate) by_token: BTreeMap<LeaseToken, Claim>,
    pub(crate) by_key: BTreeMap<IdempotencyKey, TaskId>,
    /// What every op is about, in order.
    pub(crate) scopes: Vec<Scope>,
    /// What was purged, and by which ops: a thread's name may be used again.
    pub(crate) purged: BTreeMap<Scope, Vec<u64>>,
    /// Tasks and threads that were purged, as they were.
    pub(crate) gone: Gone,
    /// Keys of tasks that ended up to here may be given up.
    pub(crate) swept_ms: u64,
}

/// What was purged, as it was.
#[derive(Debug, Default)]
pub(crate) struct Gone {
    tasks: BTreeMap<TaskId, Seen>,
    threads: BTreeMap<ThreadId, ThreadRows>,
}

/// What was written for a call.
#[derive(Debug, Clone, Copy)]
pub(crate) struct Written {
    pub(crate) pos: u64,
    pub(crate) kind: Kind,
}

/// One durable op, and what it did.
pub(crate) struct OpSeen<'a> {
    /// When it was decided: between these two.
    pub(crate) decided: (Ns, Ns),
    pub(crate) op: &'a Op,
    /// `None` for the op that makes the task, the thread or the repository.
    pub(crate) before: Option<&'a Rows>,
    /// The rows after it, or why it had no effect: then it should not be on the log.
    pub(crate) after: Result<&'a Rows, &'a Refusal>,
    /// Everything as it was before the op.
    pub(crate) ledger: &'a Ledger,
}

impl OpSeen<'_> {
    /// The task after the op, if it is about one.
    pub(crate) fn task(&self) -> Option<&TaskRows> {
        self.after.ok().and_then(Rows::task)
    }

    /// The repository after the op, if it is about one.
    pub(crate) fn repository(&self) -> Option<&RepositoryRows> {
        self.after.ok().and_then(Rows::repository)
    }

    /// The thread after the op, if it is about one.
    pub(crate) fn thread(&self) -> Option<&ThreadRows> {
        self.after.ok().and_then(Rows::thread)
    }
}

/// What a batch that became durable comes with.
#[derive(Debug, Clone, Copy)]
pub(crate) struct Moments {
    /// When it became durable.
    pub(crate) now: Ns,
    /// When its ops were decided: between these two.
    pub(crate) decided: (Ns, Ns),
}

impl Ledger {
    pub(crate) fn pos(&self) -> u64 {
        self.hashes.len() as u64
    }

    /// Whether every task and every message has come to rest and nothing is locked.
    pub(crate) fn is_at_rest(&self) -> bool {
        self.open.is_empty()
            && self.messages().all(|(_, message)| message.state.is_terminal())
            && self.repositories.values().all(|rows| rows.locks.is_empty())
    }

    /// Whether somebody has made the namespace, or nobody has to.
    pub(crate) fn has_namespace(&self, name: &Name) -> bool {
        name.as_str() == DEFAULT || self.namespaces.contains_key(&NamespaceId::of(name))
    }

    /// Every message there is.
    pub(crate) fn messages(&self) -> impl Iterator<Item = (ThreadId, &Message)> {
        self.threads.iter().flat_map(|(thread, rows)| rows.messages.values().map(|message| (*thread, message)))
    }

    pub(crate) fn message(&self, thread: ThreadId, message: MessageId) -> Option<&Message> {
        self.threads.get(&thread)?.messages.get(&message)
    }

    /// A task that is there, or was.
    pub(crate) fn ever(&self, task: TaskId) -> Option<&Seen> {
        self.tasks.get(&task).or_else(|| self.gone.tasks.get(&task))
    }

    /// A message that is there, or was.
    pub(crate) fn ever_message(&self, thread: ThreadId, message: MessageId) -> Option<&Message> {
        let gone = || self.gone.threads.get(&thread)?.messages.get(&message);
        self.message(thread, message).or_else(gone)
    }

    /// Whether the key of a task may have been given up.
    pub(crate) fn may_have_lost_its_key(&self, task: TaskId) -> bool {
        let is_old = |seen: &Seen| seen.rows.task.created_ms <= self.swept_ms;
        self.purged.contains_key(&Scope::Task(task)) || self.tasks.get(&task).is_none_or(is_old)
    }

    /// The rows of a scope.
    pub(crate) fn rows(&self, scope: Scope) -> Option<Rows> {
        match scope {
            Scope::Task(task) => self.tasks.get(&task).map(|seen| Rows::Task(seen.rows.clone())),
            Scope::Thread(thread) => self.threads.get(&thread).cloned().map(Rows::Thread),
            Scope::Repository(repository) => self.repositories.get(&repository).cloned().map(Rows::Repository),
            Scope::Namespace(namespace) => self.namespaces.get(&namespace).cloned().map(Rows::Namespace),
            Scope::Plan(plan) => self.plans.get(&plan).cloned().map(Rows::Plan),
            Scope::Register(_) | Scope::Log => None,
        }
    }

    /// Reads what is new on the disk. Every op is shown to the invariants and to `see`.
    pub(crate) fn read_on(
        &mut self,
        moments: Moments,
        reader: &mut MemoryReader,
        invariants: &mut Invariants,
        see: &mut dyn FnMut(&OpSeen<'_>),
    ) {
        let mut touched = BTreeSet::new();
        self.swept_ms = reader.life().expect("a memory disk can be read").swept_ms;
        let stored = reader.ops(self.pos(), usize::MAX).expect("a memory disk can be read");
        for stored in stored {
            self.hashes.push(stored.hash);
            let op = match Op::decode(stored.pos, &stored.bytes) {
                Ok(op) => op,
                Err(error) => return invariants.say("REBUILD", format!("op {} is unreadable: {error}", stored.pos)),
            };
            touched.insert(op.header.scope);
            self.scopes.push(op.header.scope);
            self.take(moments, &op, invariants, see);
        }
        for scope in touched {
            if stored_rows(reader, scope) != self.rows(scope) {
                invariants.say("REBUILD", format!("the rows of {scope} are not what its ops fold to"));
            }
        }
    }

    fn take(&mut self, moments: Moments, op: &Op, invariants: &mut Invariants, see: &mut dyn FnMut(&OpSeen<'_>)) {
        if let Some(call) = call_of(op) {
            let written = Written { pos: op.pos, kind: op.body.kind() };
            if self.by_call.get(&call).is_some_and(|first| first.kind == Kind::ReplyMessage) {
                self.completed_by.insert(call, op.pos);
            } else {
                self.by_call.insert(call, written);
            }
        }
        let Moments { now, decided } = moments;
        let before = self.rows(op.header.scope);
        let mut rows = before.clone();
        let applied = apply(&mut rows, op, &mut Vec::new());
        // An op about the log itself leaves no rows.
        let nothing = Rows::Purged(Purged { at: op.header.hlc });
        let after = match (&rows, &applied) {
            (Some(rows), Ok(())) => Ok(rows),
            (_, Err(refusal)) => Err(refusal),
            (None, Ok(())) => Ok(&nothing),
        };
        let seen = OpSeen { decided, op, before: before.as_ref(), after, ledger: self };
        invariants.op(&seen);
        see(&seen);
        if let (Some(rows), Ok(())) = (rows, applied) {
            self.words.keep(op);
            self.keep(now, op, rows);
        }
    }

    fn keep(&mut self, now: Ns, op: &Op, rows: Rows) {
        self.past.keep(now, op, &rows);
        match rows {
            Rows::Task(rows) => {
                self.index_task(op, &rows);
                self.keep_task(op, rows);
            }
            Rows::Thread(rows) => drop(self.threads.insert(rows.thread.id, rows)),
            Rows::Repository(rows) => drop(self.repositories.insert(rows.repository.id, rows)),
            Rows::Namespace(row) => drop(self.namespaces.insert(row.id, row)),
            Rows::Plan(rows) => drop(self.plans.insert(rows.plan.id, rows)),
            Rows::Purged(_) => self.forget(op),
        }
    }

    fn forget(&mut self, op: &Op) {
        self.purged.entry(op.header.scope).or_default().push(op.pos);
        match op.header.scope {
            Scope::Task(task) => {
                self.open.remove(&task);
                self.gone.tasks.extend(self.tasks.remove(&task).map(|seen| (task, seen)));
            }
            Scope::Thread(thread) => {
                self.gone.threads.extend(self.threads.remove(&thread).map(|rows| (thread, rows)));
            }
            Scope::Plan(plan) => drop(self.plans.remove(&plan)),
            Scope::Repository(_) | Scope::Namespace(_) | Scope::Register(_) | Scope::Log => {}
        }
    }
}

/// What the store has of a scope.
pub(crate) fn stored_rows(reader: &mut MemoryReader, scope: Scope) -> Option<Rows> {
    match scope {
        Scope::Task(task) => reader.task(task).ok().flatten().map(Rows::Task),
        Scope::Thread(_)
        | Scope::Repository(_)
        | Scope::Namespace(_)
        | Scope::Plan(_)
        | Scope::Register(_)
        | Scope::Log => reader.scope(scope).ok().flatten(),
    }
}
