//! Rows of scopes other than tasks: a repository and its locks.
//!
//! A scope has a row of its own and rows of its parts. All of them lie in one table, by scope and part, with what is
//! looked up beside them; the machine that they belong to is known by the scope.

use crate::{Batch, Error};
use relaymesh_core::{
    id::{LeaseToken, RepositoryId, TaskId, ThreadId},
    kernel::Rows,
    lock::{Lock, Repository, RepositoryRows},
    name::Name,
    op::Scope,
    row::{self, RowKey, RowSum, encode_lock, encode_repository},
};
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
    /// The row.
    pub bytes: Vec<u8>,
    /// The row's sum.
    pub sum: RowSum,
}

/// What the store, or a batch on its way there, last got of a scope's rows.
#[derive(Debug, Clone, Default)]
pub struct SavedScope {
    rows: BTreeMap<Part, Mark>,
}

/// Tells one state of a row from another, and what it added to the state hash. A lock that went and came again has its
/// first revision again, and another fence.
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
            Self::Repository(_) => None,
            Self::Lock(_, lock) => Some(lock.token.to_bytes()),
        }
    }

    fn mark(&self, sum: RowSum) -> Mark {
        match self {
            Self::Repository(row) => Mark { rev: row.rev, fence: row.fence, sum },
            Self::Lock(_, lock) => Mark { rev: lock.rev, fence: lock.fence, sum },
        }
    }

    fn encode(&self, bytes: &mut Vec<u8>) -> RowSum {
        match self {
            Self::Repository(row) => encode_repository(row, bytes),
            Self::Lock(repository, lock) => encode_lock(repository.id, lock, bytes),
        }
    }

    fn stored(&self, bytes: Vec<u8>, sum: RowSum) -> ScopeRow {
        let (namespace, name, due_ms) = match self {
            Self::Repository(row) => (&row.namespace, row.name.as_str(), None),
            Self::Lock(row, lock) => (&row.namespace, lock.key.as_str(), Some(lock.deadline_ms)),
        };
        ScopeRow { namespace: namespace.clone(), name: name.to_owned(), due_ms, bytes, sum }
    }
}

/// The rows of a scope, its own first. Tasks have their own way into the store.
fn of(rows: &Rows) -> Vec<Row<'_>> {
    match rows {
        Rows::Task(_) => Vec::new(),
        Rows::Repository(rows) => {
            let locks = rows.locks.values().map(|lock| Row::Lock(&rows.repository, lock));
            std::iter::once(Row::Repository(&rows.repository)).chain(locks).collect()
        }
    }
}

/// The scope from its stored rows, each checked against its sum. The scope's own row comes first.
pub fn assemble(scope: Scope, rows: Vec<(Part, Vec<u8>, RowSum)>) -> Result<Option<Rows>, Error> {
    let damaged = |what: &str, error: &dyn std::fmt::Display| Error::Damaged {
        detail: format!("{what} of {scope}: {error}. `relaymesh log rebuild` shows what the log says"),
    };
    let mut rows = rows.into_iter();
    let Some((part, bytes, sum)) = rows.next() else { return Ok(None) };
    let Scope::Repository(id) = scope else {
        return Err(damaged("the rows", &"there is no machine for them in this program"));
    };
    if part.is_some() {
        return Err(damaged("the row", &"it is missing, and rows of its parts are there"));
    }
    let repository: Repository =
        row::decode(RowKey::Repository(id), &bytes, sum).map_err(|e| damaged("the row", &e))?;
    let mut locks = BTreeMap::new();
    for (part, bytes, sum) in rows {
        let token = LeaseToken::from_bytes(part.unwrap_or_default());
        let lock: Lock = row::decode(RowKey::Lock(id, token), &bytes, sum).map_err(|e| damaged("a lock", &e))?;
        locks.insert(token, lock);
    }
    Ok(Some(Rows::Repository(RepositoryRows { repository, locks })))
}

/// A scope as bytes that sort like it: its sort, then its id.
pub fn scope_bytes(scope: Scope) -> [u8; 17] {
    let (sort, id) = match scope {
        Scope::Task(id) => (0, id.to_bytes()),
        Scope::Thread(id) => (1, id.to_bytes()),
        Scope::Repository(id) => (2, id.to_bytes()),
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
        _ => None,
    }
}
