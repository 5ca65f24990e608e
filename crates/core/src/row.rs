//! Rows as bytes, and the hash of all rows.
//!
//! A row's bytes are a version and its postcard form without what is of this node only, so the same ops give the same
//! bytes on every node. Each row has a sum, checked when the row is read. The **state hash** is the wrapping addition
//! of the sums of all rows: it is kept up by adding the new sum and taking the old one off, whatever the order, and it
//! tells a store that lost, kept or bent a row from one that did not.

use crate::{
    id::{ItemId, LeaseToken, MessageId, NamespaceId, PlanId, RepositoryId, TaskId, ThreadId},
    kernel::Rows,
    lock::{Lock, Repository, RepositoryRows},
    message::{Message, Thread, ThreadRows},
    namespace::Namespace,
    op::append,
    plan::{Item, Plan, PlanRows},
    register::Register,
    task::{Step, Task, TaskRows},
};
use serde::{Deserialize, Serialize, de::DeserializeOwned};

/// 5: steps have terms. Rows are folded from the log, so nothing of an earlier version has to be read.
const VERSION: u8 = 5;

/// Which row it is.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum RowKey {
    /// The row of a task.
    Task(TaskId),
    /// The row of a task's step at this place.
    Step(TaskId, u16),
    /// The row of a thread.
    Thread(ThreadId),
    /// The row of a thread's message.
    Message(ThreadId, MessageId),
    /// The row of a repository, with its fence counter.
    Repository(RepositoryId),
    /// The row of a repository's lock with this token.
    Lock(RepositoryId, LeaseToken),
    /// The row of a namespace.
    Namespace(NamespaceId),
    /// The row of a plan.
    Plan(PlanId),
    /// The row of a plan's item.
    PlanItem(PlanId, ItemId),
    /// The row of a register.
    Register(Register),
}

/// The sum of one row.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub struct RowSum(pub u128);

/// The sum of all rows.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default, Serialize, Deserialize)]
pub struct StateHash(#[serde(with = "crate::hex128")] pub u128);

/// Why a row's bytes cannot be used.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
pub enum Error {
    /// Written by a newer program.
    #[error("row version {found} is not known here")]
    Version {
        /// The version.
        found: u8,
    },
    /// Not what was written.
    #[error("the row does not match its sum")]
    Sum,
    /// Matches its sum and cannot be read all the same.
    #[error("the row cannot be read: {detail}")]
    Damaged {
        /// What the decoder said.
        detail: String,
    },
}

impl StateHash {
    /// The state hash after a row with sum `old` became one with sum `new`.
    pub fn change(&mut self, old: RowSum, new: RowSum) {
        self.0 = self.0.wrapping_sub(old.0).wrapping_add(new.0);
    }

    /// The hash of these rows alone.
    pub fn of(rows: &TaskRows) -> Self {
        let mut hash = Self::default();
        let mut bytes = Vec::new();
        hash.add(encode_task(&rows.task, &mut bytes));
        for (index, step) in rows.indexed() {
            hash.add(encode_step(rows.task.id, index, step, &mut bytes));
        }
        hash
    }

    /// The hash of the rows of one scope alone, whichever machine they belong to.
    pub fn of_rows(rows: &Rows) -> Self {
        match rows {
            Rows::Task(rows) => Self::of(rows),
            Rows::Thread(rows) => Self::of_thread(rows),
            Rows::Repository(rows) => Self::of_repository(rows),
            Rows::Namespace(row) => Self(encode_namespace(row, &mut Vec::new()).0),
            Rows::Plan(rows) => Self::of_plan(rows),
            Rows::Purged(_) => Self::default(),
        }
    }

    fn of_thread(rows: &ThreadRows) -> Self {
        let mut hash = Self::default();
        let mut bytes = Vec::new();
        hash.add(encode_thread(&rows.thread, &mut bytes));
        for message in rows.messages.values() {
            hash.add(encode_message(rows.thread.id, message, &mut bytes));
        }
        hash
    }

    fn of_repository(rows: &RepositoryRows) -> Self {
        let mut hash = Self::default();
        let mut bytes = Vec::new();
        hash.add(encode_repository(&rows.repository, &mut bytes));
        for lock in rows.locks.values() {
            hash.add(encode_lock(rows.repository.id, lock, &mut bytes));
        }
        hash
    }

    fn of_plan(rows: &PlanRows) -> Self {
        let mut hash = Self::default();
        let mut bytes = Vec::new();
        hash.add(encode_plan(&rows.plan, &mut bytes));
        for item in rows.items.values() {
            hash.add(encode_plan_item(rows.plan.id, item, &mut bytes));
        }
        hash
    }

    fn add(&mut self, sum: RowSum) {
        self.change(RowSum::default(), sum);
    }
}

/// Writes the task's row over `out` and gives its sum.
pub fn encode_task(task: &Task, out: &mut Vec<u8>) -> RowSum {
    encode(RowKey::Task(task.id), task, out)
}

/// Writes the step's row over `out` and gives its sum.
pub fn encode_step(task: TaskId, index: u16, step: &Step, out: &mut Vec<u8>) -> RowSum {
    encode(RowKey::Step(task, index), step, out)
}

/// Writes the thread's row over `out` and gives its sum.
pub fn encode_thread(thread: &Thread, out: &mut Vec<u8>) -> RowSum {
    encode(RowKey::Thread(thread.id), thread, out)
}

/// Writes the message's row over `out` and gives its sum.
pub fn encode_message(thread: ThreadId, message: &Message, out: &mut Vec<u8>) -> RowSum {
    encode(RowKey::Message(thread, message.draft.id), message, out)
}

/// Writes the repository's row over `out` and gives its sum.
pub fn encode_repository(repository: &Repository, out: &mut Vec<u8>) -> RowSum {
    encode(RowKey::Repository(repository.id), repository, out)
}

/// Writes the lock's row over `out` and gives its sum.
pub fn encode_lock(repository: RepositoryId, lock: &Lock, out: &mut Vec<u8>) -> RowSum {
    encode(RowKey::Lock(repository, lock.token), lock, out)
}

/// Writes the namespace's row over `out` and gives its sum.
pub fn encode_namespace(row: &Namespace, out: &mut Vec<u8>) -> RowSum {
    encode(RowKey::Namespace(row.id), row, out)
}

/// Writes the plan's row over `out` and gives its sum.
pub fn encode_plan(plan: &Plan, out: &mut Vec<u8>) -> RowSum {
    encode(RowKey::Plan(plan.id), plan, out)
}

/// Writes the row of the plan's item over `out` and gives its sum.
pub fn encode_plan_item(plan: PlanId, item: &Item, out: &mut Vec<u8>) -> RowSum {
    encode(RowKey::PlanItem(plan, item.id), item, out)
}

/// The row with these bytes, if they have this sum.
pub fn decode<T: DeserializeOwned>(key: RowKey, bytes: &[u8], sum: RowSum) -> Result<T, Error> {
    if sum_of(key, bytes) != sum {
        return Err(Error::Sum);
    }
    match bytes.split_first() {
        Some((&VERSION, rest)) => match postcard::take_from_bytes(rest) {
            Ok((row, [])) => Ok(row),
            Ok((_, more)) => Err(Error::Damaged { detail: format!("{} bytes too many", more.len()) }),
            Err(error) => Err(Error::Damaged { detail: error.to_string() }),
        },
        Some((&found, _)) => Err(Error::Version { found }),
        None => Err(Error::Damaged { detail: "it is empty".to_owned() }),
    }
}

/// Writes the row over `out` and gives its sum.
pub fn encode<T: Serialize>(key: RowKey, row: &T, out: &mut Vec<u8>) -> RowSum {
    out.clear();
    out.push(VERSION);
    append(row, out);
    sum_of(key, out)
}

/// The sum of a row with these bytes. The key is part of it, so that a row in another's place is found.
pub fn sum_of(key: RowKey, bytes: &[u8]) -> RowSum {
    let mut hasher = blake3::Hasher::new();
    match key {
        RowKey::Task(task) => hasher.update(b"t").update(&task.to_bytes()),
        RowKey::Step(task, index) => hasher.update(b"s").update(&task.to_bytes()).update(&index.to_be_bytes()),
        RowKey::Thread(id) => hasher.update(b"c").update(&id.to_bytes()),
        RowKey::Message(id, message) => hasher.update(b"m").update(&id.to_bytes()).update(&message.to_bytes()),
        RowKey::Repository(id) => hasher.update(b"r").update(&id.to_bytes()),
        RowKey::Lock(id, token) => hasher.update(b"l").update(&id.to_bytes()).update(&token.to_bytes()),
        RowKey::Namespace(id) => hasher.update(b"n").update(&id.to_bytes()),
        RowKey::Plan(id) => hasher.update(b"p").update(&id.to_bytes()),
        RowKey::PlanItem(id, item) => hasher.update(b"i").update(&id.to_bytes()).update(&item.to_bytes()),
        RowKey::Register(register) => hasher.update(b"g").update(&[register.number()]),
    };
    hasher.update(bytes);
    let mut sum = [0; 16];
    hasher.finalize_xof().fill(&mut sum);
    RowSum(u128::from_be_bytes(sum))
}

#[cfg(test)]
mod tests;
