//! Rows of scopes other than tasks: a repository and its locks, a thread and its messages, a namespace, a plan
//! and its items.
//!
//! A scope has a row of its own and rows of its parts. All of them lie in one table, by scope and part, with what is
//! looked up beside them; the machine that they belong to is known by the scope.

use crate::{Batch, Error};
use relaymesh_core::register::Register;
use relaymesh_core::{
    id::{ItemId, LeaseToken, MessageId, NamespaceId, PlanId, RepositoryId, TaskId, ThreadId},
    kernel::Rows,
    lanes::Priority,
    lock::{Lock, Repository, RepositoryRows},
    message::{Message, State, Thread, ThreadRows},
    name::Name,
    namespace::Namespace,
    op::Scope,
    plan::{Item, Plan, PlanRows},
    row::{
        self, RowKey, RowSum, encode_lock, encode_message, encode_namespace, encode_plan, encode_plan_item,
        encode_repository, encode_thread,
    },
};
use serde::de::DeserializeOwned;
use std::collections::{BTreeMap, BTreeSet};

/// Which row of a scope: `None` for its own, otherwise the id of the part.
pub type Part = Option<[u8; 16]>;

/// What becomes of one row of a scope.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct ScopePut {
    /// The scope.
    pub scope: Scope,
    /// Which of its rows.
    pub part: Part,
    /// What becomes of it.
    pub change: Change,
}

impl ScopePut {
    /// When the row is to be looked at again.
    pub fn due_ms(&self) -> Option<u64> {
        match &self.change {
            Change::Created(row) | Change::Changed(row) => row.due_ms,
            Change::Removed => None,
        }
    }
}

/// What becomes of a row.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Change {
    /// There is no such row yet.
    Created(ScopeRow),
    /// It is there and changes.
    Changed(ScopeRow),
    /// It is there and goes.
    Removed,
}

/// A row of a scope: its bytes, and what is looked up beside them.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct ScopeRow {
    /// The team or project it belongs to.
    pub namespace: Name,
    /// What people call it.
    pub name: String,
    /// When it is to be looked at again.
    pub due_ms: Option<u64>,
    /// For a thread in which nothing waits any more: since when.
    pub rested_ms: Option<u64>,
    /// For a message: what it is found by.
    pub message: Option<MessageLookup>,
    /// The row.
    pub bytes: Vec<u8>,
    /// The row's sum.
    pub sum: RowSum,
}

/// What a message is found by, and where its content lies.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct MessageLookup {
    /// Who says it.
    pub from: Name,
    /// Who is to hear it.
    pub to: Name,
    /// Where it rests.
    pub state: State,
    /// Which lane it waits in.
    pub priority: Priority,
    /// When it was sent.
    pub sent_ms: u64,
    /// While it is queued: from when on it may be delivered.
    pub queued_ms: Option<u64>,
    /// The task whose step waits for the answer.
    pub task: Option<TaskId>,
    /// Arrival number of the op that carried the content.
    pub content_pos: u64,
}

/// A row as it was stored: which part, its bytes and sum, and for a message where its content lies.
pub type StoredRow = (Part, Vec<u8>, RowSum, u64);

/// What the store, or a batch on its way there, last got of a scope's rows.
#[derive(Debug, Clone, Default)]
pub struct SavedScope {
    rows: BTreeMap<Part, Mark>,
}

/// Tells one state of a row from another, and what it added to the state hash. A lock that went and came again has its
/// first revision again, and another fence; an item of a plan was made by another op then.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
struct Mark {
    rev: u32,
    fence: u64,
    sum: RowSum,
}

/// One row of a scope.
enum Row<'a> {
    Repository(&'a Repository),
    Lock(&'a Repository, &'a Lock),
    Thread(&'a ThreadRows),
    Message(&'a Thread, &'a Message),
    Namespace(&'a Namespace),
    Plan(&'a Plan),
    Item(&'a Plan, &'a Item),
}

impl SavedScope {
    /// The marks of rows that were just loaded.
    pub fn of(rows: &Rows) -> Self {
        let mut bytes = Vec::new();
        let mark = |row: Row<'_>| (row.part(), row.mark(row.encode(&mut bytes)));
        Self { rows: of(rows).into_iter().map(mark).collect() }
    }

    /// Puts every row that changed since into the batch, and keeps the batch's state hash up.
    pub fn put(&mut self, scope: Scope, rows: Option<&Rows>, batch: &mut Batch) {
        let mut gone: BTreeSet<Part> = self.rows.keys().copied().collect();
        for row in rows.map(of).unwrap_or_default() {
            let part = row.part();
            gone.remove(&part);
            let before = self.rows.get(&part).copied();
            if before.is_some_and(|mark| row.mark(mark.sum) == mark) {
                continue;
            }
            let mut bytes = Vec::with_capacity(192);
            let mark = row.mark(row.encode(&mut bytes));
            batch.head.state.change(before.map_or(RowSum::default(), |mark| mark.sum), mark.sum);
            self.rows.insert(part, mark);
            let row = row.stored(bytes, mark.sum);
            let change = if before.is_some() { Change::Changed(row) } else { Change::Created(row) };
            batch.scopes.push(ScopePut { scope, part, change });
        }
        for part in gone {
            let Some(mark) = self.rows.remove(&part) else { continue };
            batch.head.state.change(mark.sum, RowSum::default());
            batch.scopes.push(ScopePut { scope, part, change: Change::Removed });
        }
    }
}

impl Row<'_> {
    fn part(&self) -> Part {
        match self {
            Self::Repository(_) | Self::Thread(_) | Self::Namespace(_) | Self::Plan(_) => None,
            Self::Lock(_, lock) => Some(lock.token.to_bytes()),
            Self::Message(_, message) => Some(message.draft.id.to_bytes()),
            Self::Item(_, item) => Some(item.id.to_bytes()),
        }
    }

    fn mark(&self, sum: RowSum) -> Mark {
        match self {
            Self::Repository(row) => Mark { rev: row.rev, fence: row.fence, sum },
            Self::Lock(_, lock) => Mark { rev: lock.rev, fence: lock.fence, sum },
            Self::Thread(rows) => Mark { rev: rows.thread.rev, fence: 0, sum },
            Self::Message(_, message) => Mark { rev: message.rev, fence: 0, sum },
            Self::Namespace(row) => Mark { rev: row.rev, fence: 0, sum },
            Self::Plan(row) => Mark { rev: row.rev, fence: 0, sum },
            Self::Item(_, item) => Mark { rev: item.rev, fence: made_by(item), sum },
        }
    }

    fn encode(&self, bytes: &mut Vec<u8>) -> RowSum {
        match self {
            Self::Repository(row) => encode_repository(row, bytes),
            Self::Lock(repository, lock) => encode_lock(repository.id, lock, bytes),
            Self::Thread(rows) => encode_thread(&rows.thread, bytes),
            Self::Message(thread, message) => encode_message(thread.id, message, bytes),
            Self::Namespace(row) => encode_namespace(row, bytes),
            Self::Plan(row) => encode_plan(row, bytes),
            Self::Item(plan, item) => encode_plan_item(plan.id, item, bytes),
        }
    }

    fn stored(&self, bytes: Vec<u8>, sum: RowSum) -> ScopeRow {
        let (namespace, name, due_ms) = match self {
            Self::Repository(row) => (row.namespace.clone(), row.name.as_str(), None),
            Self::Lock(row, lock) => (row.namespace.clone(), lock.key.as_str(), Some(lock.deadline_ms)),
            Self::Thread(rows) => (rows.thread.namespace.clone(), "", None),
            Self::Message(row, message) => (row.namespace.clone(), message.draft.to.as_str(), due_ms(message)),
            Self::Namespace(row) => (row.name.clone(), row.name.as_str(), None),
            Self::Plan(row) => (row.namespace.clone(), "", None),
            Self::Item(plan, item) => (plan.namespace.clone(), item.title.as_str(), None),
        };
        let message = if let Self::Message(_, message) = self { Some(lookup(message)) } else { None };
        let rested_ms = if let Self::Thread(rows) = self { rested_ms(rows) } else { None };
        ScopeRow { namespace, name: name.to_owned(), due_ms, rested_ms, message, bytes, sum }
    }
}

/// The random part of the id of the op that made an item's revision, or most of it.
fn made_by(item: &Item) -> u64 {
    let [.., a, b, c, d, e, f, g, h] = item.by.to_bytes();
    u64::from_be_bytes([a, b, c, d, e, f, g, h])
}

/// When a message is to be looked at again: its delivery's lease ends, or it becomes too old. That a queued one falls
/// due concerns only whoever waits for it.
pub fn due_ms(message: &Message) -> Option<u64> {
    let lease = message.lease.as_ref().map(|lease| lease.deadline_ms);
    let expires = (message.expires_ms > 0 && !message.state.is_terminal()).then_some(message.expires_ms);
    lease.into_iter().chain(expires).min()
}

/// Since when nothing waits in the thread, if nothing does.
pub fn rested_ms(rows: &ThreadRows) -> Option<u64> {
    rows.messages.values().all(|message| message.state.is_terminal()).then_some(rows.thread.updated_ms)
}

fn lookup(message: &Message) -> MessageLookup {
    MessageLookup {
        from: message.draft.from.clone(),
        to: message.draft.to.clone(),
        state: message.state,
        priority: message.draft.priority,
        sent_ms: message.sent_ms,
        queued_ms: (message.state == State::Queued).then_some(message.due_ms),
        task: message.draft.asks.map(|asks| asks.step.task),
        content_pos: message.content_pos,
    }
}

/// The rows of a scope, its own first. Tasks have their own way into the store.
fn of(rows: &Rows) -> Vec<Row<'_>> {
    match rows {
        Rows::Task(_) | Rows::Purged(_) => Vec::new(),
        Rows::Repository(rows) => {
            let locks = rows.locks.values().map(|lock| Row::Lock(&rows.repository, lock));
            std::iter::once(Row::Repository(&rows.repository)).chain(locks).collect()
        }
        Rows::Namespace(row) => vec![Row::Namespace(row)],
        Rows::Plan(rows) => {
            let items = rows.items.values().map(|item| Row::Item(&rows.plan, item));
            std::iter::once(Row::Plan(&rows.plan)).chain(items).collect()
        }
        Rows::Thread(rows) => {
            let messages = rows.messages.values().map(|message| Row::Message(&rows.thread, message));
            std::iter::once(Row::Thread(rows)).chain(messages).collect()
        }
    }
}

/// The scope from its stored rows, each checked against its sum. The scope's own row comes first.
pub fn assemble(scope: Scope, rows: Vec<StoredRow>) -> Result<Option<Rows>, Error> {
    let mut rows = rows.into_iter();
    let Some(own) = rows.next() else { return Ok(None) };
    if own.0.is_some() {
        return Err(damaged(scope, &"its own row is missing, and rows of its parts are there"));
    }
    let part = |row: &StoredRow| row.0.unwrap_or_default();
    match scope {
        Scope::Task(_) | Scope::Log | Scope::Register(_) => Err(damaged(scope, &"its rows do not lie here")),
        Scope::Repository(id) => {
            let repository: Repository = decode(scope, RowKey::Repository(id), &own)?;
            let lock = |row: StoredRow| {
                let token = LeaseToken::from_bytes(part(&row));
                Ok((token, decode::<Lock>(scope, RowKey::Lock(id, token), &row)?))
            };
            let locks = rows.map(lock).collect::<Result<BTreeMap<_, _>, Error>>()?;
            Ok(Some(Rows::Repository(RepositoryRows { repository, locks })))
        }
        Scope::Thread(id) => {
            let thread: Thread = decode(scope, RowKey::Thread(id), &own)?;
            let message = |row: StoredRow| {
                let message = MessageId::from_bytes(part(&row));
                let mut found: Message = decode(scope, RowKey::Message(id, message), &row)?;
                found.content_pos = row.3;
                Ok((message, found))
            };
            let messages = rows.map(message).collect::<Result<BTreeMap<_, _>, Error>>()?;
            Ok(Some(Rows::Thread(ThreadRows { thread, messages })))
        }
        Scope::Namespace(id) => match rows.next() {
            Some(_) => Err(damaged(scope, &"a namespace has one row, and there are more")),
            None => Ok(Some(Rows::Namespace(decode(scope, RowKey::Namespace(id), &own)?))),
        },
        Scope::Plan(id) => {
            let plan: Plan = decode(scope, RowKey::Plan(id), &own)?;
            let item = |row: StoredRow| {
                let item = ItemId::from_bytes(part(&row));
                Ok((item, decode::<Item>(scope, RowKey::PlanItem(id, item), &row)?))
            };
            let items = rows.map(item).collect::<Result<BTreeMap<_, _>, Error>>()?;
            Ok(Some(Rows::Plan(PlanRows { plan, items })))
        }
    }
}

fn decode<T: DeserializeOwned>(scope: Scope, key: RowKey, row: &StoredRow) -> Result<T, Error> {
    row::decode(key, &row.1, row.2).map_err(|error| damaged(scope, &error))
}

fn damaged(scope: Scope, what: &dyn std::fmt::Display) -> Error {
    Error::Damaged { detail: format!("{scope}: {what}. `relaymesh log rebuild` shows what the log says") }
}

/// A scope as bytes that sort like it: its sort, then its id.
pub fn scope_bytes(scope: Scope) -> [u8; 17] {
    let (sort, id) = match scope {
        Scope::Task(id) => (0, id.to_bytes()),
        Scope::Thread(id) => (1, id.to_bytes()),
        Scope::Repository(id) => (2, id.to_bytes()),
        Scope::Log => (3, [0; 16]),
        Scope::Namespace(id) => (4, id.to_bytes()),
        Scope::Plan(id) => (5, id.to_bytes()),
        Scope::Register(register) => (6, [register.number(); 16]),
    };
    let mut bytes = [sort; 17];
    bytes[1..].copy_from_slice(&id);
    bytes
}

/// The scope with these bytes.
pub fn scope_of(bytes: &[u8]) -> Option<Scope> {
    let (sort, id) = bytes.split_first()?;
    let id: [u8; 16] = id.try_into().ok()?;
    match sort {
        0 => Some(Scope::Task(TaskId::from_bytes(id))),
        1 => Some(Scope::Thread(ThreadId::from_bytes(id))),
        2 => Some(Scope::Repository(RepositoryId::from_bytes(id))),
        3 => Some(Scope::Log),
        4 => Some(Scope::Namespace(NamespaceId::from_bytes(id))),
        5 => Some(Scope::Plan(PlanId::from_bytes(id))),
        6 if id == [id[0]; 16] => Register::numbered(id[0]).map(Scope::Register),
        _ => None,
    }
}
