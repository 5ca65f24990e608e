//! The smallest store: everything in one place behind a lock, gone with the last handle.
//!
//! It exists so that the layers above can be tested without a disk, and as the measure that other stores are compared
//! with. Rows lie here as bytes with their sums, just as on a disk, and are decoded and checked on every read. A
//! memory store that kept the decoded rows would be shorter, and would hide every mistake in encoding.
//!
//! A [`Disk`] is what outlives a [`MemoryStore`]: drop the store, open the disk again, and what was committed is there.
//! Faults are asked for on the disk, because that is where they happen.

mod state;
mod traffic;

use crate::{
    Batch, Blob, Blobs, Content, ContentKey, Day, Due, Error, Head, IdempotencyRow, LeaseConflict, Life, Queue, Reader,
    Spend, StepKey, Store, StoredOp, TaskFilter, TaskPut,
    scope::{Part, ScopeRow},
    traffic::Kept,
};
use relaymesh_core::{
    budget::Amount,
    hash::Hash,
    id::{MessageId, NodeId, RequestId, TaskId, ThreadId, WorkerId},
    kernel::Rows,
    lanes::Priority,
    message::State as MessageState,
    name::Name,
    op::Scope,
    row::{self, RowKey},
    task::{Status, Task, TaskRows, spec::IdempotencyKey},
};
use state::State;
use std::{
    collections::BTreeMap,
    ops::Bound,
    sync::{Arc, Mutex, MutexGuard, PoisonError},
};

/// The epoch of a new store's chain.
const FIRST_EPOCH: u32 = 1;

/// What outlives a [`MemoryStore`]. Clones are the same disk.
#[derive(Debug, Clone)]
pub struct Disk(Arc<Mutex<State>>);

/// The writer on a [`Disk`].
#[derive(Debug)]
pub struct MemoryStore {
    disk: Disk,
}

/// A reader of a [`Disk`]. It sees a commit as soon as it has returned.
#[derive(Debug, Clone)]
pub struct MemoryReader {
    disk: Disk,
}

impl Disk {
    /// An empty disk for `node`.
    pub fn new(node: NodeId) -> Self {
        Self(Arc::new(Mutex::new(State::new(Head::new(node, FIRST_EPOCH)))))
    }

    /// Opens the writer; `InUse` while another one lives.
    pub fn open(&self) -> Result<MemoryStore, Error> {
        self.state().open()?;
        Ok(MemoryStore { disk: self.clone() })
    }

    /// A reader, whether or not a writer lives.
    pub fn reader(&self) -> MemoryReader {
        MemoryReader { disk: self.clone() }
    }

    /// Makes the next commit fail with `error`.
    ///
    /// After `Poisoned` all later commits are `Poisoned` too, until the disk is opened again; only then `applied` shows:
    /// whether the batch had reached the disk. After any other error nothing has changed, later commits succeed, and
    /// `applied` means nothing.
    pub fn fail_next_commit(&self, error: Error, applied: bool) {
        self.state().fail_next(error, applied);
    }

    /// Makes the next `count` reads fail, as a disk does that has trouble for a moment.
    pub fn fail_reads(&self, count: u32) {
        self.state().reads_to_fail = count;
    }

    /// Whether the next read fails.
    pub fn fails_reads(&self) -> bool {
        self.state().reads_to_fail > 0
    }

    /// Flips a bit of a row behind the store's back. False when there is no such row.
    pub fn corrupt_row(&self, key: RowKey) -> bool {
        self.state().row_bytes(key).and_then(|bytes| bytes.last_mut()).map(|byte| *byte ^= 1).is_some()
    }

    /// A lock that a panicking test left behind still guards whole batches: [`State`] checks before it changes.
    pub(crate) fn state(&self) -> MutexGuard<'_, State> {
        self.0.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

impl MemoryStore {
    /// A new, empty store for `node` on a disk of its own.
    pub fn new(node: NodeId) -> Self {
        let disk = Disk::new(node);
        disk.state().writer = true;
        Self { disk }
    }

    /// What outlives this store.
    pub fn disk(&self) -> Disk {
        self.disk.clone()
    }
}

impl Drop for MemoryStore {
    fn drop(&mut self) {
        self.disk.state().writer = false;
    }
}

impl Blobs for Disk {
    fn put(&self, bytes: &[u8]) -> Result<Blob, Error> {
        let (hash, len) = (Hash::sha256(bytes), u32::try_from(bytes.len()).unwrap_or(u32::MAX));
        let mut state = self.state();
        state.blobs.entry(hash).or_insert_with(|| bytes.to_vec());
        Ok(Blob::new(hash, len, Some(state.pin(hash))))
    }

    fn get(&self, hash: &Hash) -> Result<Option<Vec<u8>>, Error> {
        Ok(self.state().blobs.get(hash).cloned())
    }

    fn distrust(&self, cause: &str) -> Error {
        self.state().distrust(cause)
    }
}

impl Store for MemoryStore {
    type Reader = MemoryReader;
    type Blobs = Disk;

    fn reader(&self) -> Result<MemoryReader, Error> {
        Ok(self.disk.reader())
    }

    fn blobs(&self) -> Disk {
        self.disk.clone()
    }

    fn commit(&mut self, batch: &Batch) -> Result<(), Error> {
        self.disk.state().commit(batch)
    }
}

impl MemoryReader {
    /// What is on the disk, unless it was told to fail.
    fn read(&self) -> Result<MutexGuard<'_, State>, Error> {
        let mut state = self.disk.state();
        if state.reads_to_fail > 0 {
            state.reads_to_fail -= 1;
            return Err(Error::Io { detail: "the disk could not be read".to_owned() });
        }
        Ok(state)
    }
}

impl Reader for MemoryReader {
    fn head(&mut self) -> Result<Head, Error> {
        Ok(self.read()?.head.clone())
    }

    fn task(&mut self, id: TaskId) -> Result<Option<TaskRows>, Error> {
        let state = self.read()?;
        state.tasks_by_id.get(&id).and_then(|key| state.tasks.get(key)).map(|row| rows(&state, row)).transpose()
    }

    fn task_at(&mut self, key: u64) -> Result<Option<TaskRows>, Error> {
        let state = self.read()?;
        state.tasks.get(&key).map(|row| rows(&state, row)).transpose()
    }

    fn tasks_by_key(&mut self, after: Option<u64>, limit: usize) -> Result<Vec<TaskRows>, Error> {
        let state = self.read()?;
        let from = after.map_or(Bound::Unbounded, Bound::Excluded);
        let found = state.tasks.range((from, Bound::Unbounded)).take(limit);
        found.map(|(_, row)| rows(&state, row)).collect()
    }

    fn scope(&mut self, scope: Scope) -> Result<Option<Rows>, Error> {
        let state = self.read()?;
        assemble(scope, &state.scopes)
    }

    fn scopes(&mut self, after: Option<Scope>, limit: usize) -> Result<Vec<Scope>, Error> {
        let state = self.read()?;
        let mut scopes: Vec<Scope> = state.scopes.keys().map(|(scope, _)| *scope).collect();
        scopes.dedup();
        Ok(scopes.into_iter().filter(|scope| after.is_none_or(|after| *scope > after)).take(limit).collect())
    }

    fn due_scopes(&mut self, now_ms: u64, limit: usize) -> Result<Vec<(u64, Scope)>, Error> {
        let state = self.read()?;
        let due = state.scopes.iter().filter_map(|((scope, _), row)| Some((row.due_ms?, *scope)));
        let mut due: Vec<(u64, Scope)> = due.filter(|(due_ms, _)| *due_ms <= now_ms).collect();
        due.sort_unstable();
        due.truncate(limit);
        Ok(due)
    }

    fn inbox(
        &mut self,
        namespace: &Name,
        agent: &Name,
        priority: Priority,
        now_ms: u64,
        limit: usize,
    ) -> Result<Vec<(ThreadId, MessageId)>, Error> {
        let state = self.read()?;
        let waiting = |((scope, part), row): (&(Scope, Part), &ScopeRow)| {
            let (Scope::Thread(thread), Some(part), Some(found)) = (*scope, *part, row.message.as_ref()) else {
                return None;
            };
            let is_wanted = row.namespace == *namespace && found.to == *agent && found.priority == priority;
            let queued_ms = found.queued_ms.filter(|queued_ms| is_wanted && *queued_ms <= now_ms)?;
            Some((queued_ms, thread, MessageId::from_bytes(part)))
        };
        let mut waiting: Vec<_> = state.scopes.iter().filter_map(waiting).collect();
        waiting.sort_unstable();
        Ok(waiting.into_iter().take(limit).map(|(_, thread, message)| (thread, message)).collect())
    }

    fn tasks(&mut self, filter: &TaskFilter, before: Option<u64>, limit: usize) -> Result<Vec<Task>, Error> {
        let state = self.read()?;
        let wanted = |row: &&TaskPut| {
            filter.namespace.as_ref().is_none_or(|namespace| *namespace == row.namespace)
                && filter.status.is_none_or(|status| status == row.status)
        };
        let below = before.map_or(Bound::Unbounded, Bound::Excluded);
        let newest_first = state.tasks.range((Bound::Unbounded, below)).rev().map(|(_, row)| row);
        newest_first.filter(wanted).take(limit).map(decode_task).collect()
    }

    fn idempotency(&mut self, namespace: &Name, key: &IdempotencyKey) -> Result<Option<IdempotencyRow>, Error> {
        let state = self.read()?;
        Ok(state.idempotency.get(&(namespace.clone(), key.clone())).cloned())
    }

    fn newest_request(&mut self) -> Result<Option<RequestId>, Error> {
        let request = |(_, key): &(Name, IdempotencyKey)| match key {
            IdempotencyKey::RequestId(id) => Some(*id),
            IdempotencyKey::Request(_) | IdempotencyKey::Given(_) => None,
        };
        Ok(self.read()?.idempotency.keys().filter_map(request).max())
    }

    fn content(&mut self, key: ContentKey) -> Result<Option<Content>, Error> {
        Ok(self.read()?.content.get(&key).cloned())
    }

    fn contents(&mut self, first: u64, last: u64) -> Result<Vec<(ContentKey, Content)>, Error> {
        let state = self.read()?;
        let range = ContentKey::new(first, 0)..ContentKey::new(last + 1, 0);
        Ok(state.content.range(range).map(|(key, content)| (*key, content.clone())).collect())
    }

    fn blob(&mut self, hash: &Hash) -> Result<Option<Vec<u8>>, Error> {
        Ok(self.read()?.blobs.get(hash).cloned())
    }

    fn ops(&mut self, after: u64, limit: usize) -> Result<Vec<StoredOp>, Error> {
        let state = self.read()?;
        let range = (Bound::Excluded(after), Bound::Unbounded);
        Ok(state.ops.range(range).take(limit).map(|(_, op)| op.clone()).collect())
    }

    fn due(
        &mut self,
        queue: Queue,
        now_ms: u64,
        after: Option<(u64, StepKey)>,
        limit: usize,
    ) -> Result<Vec<(u64, StepKey)>, Error> {
        let state = self.read()?;
        let from = after.map_or(Bound::Included((queue, 0, StepKey::from_raw(0))), |(due_ms, key)| {
            Bound::Excluded((queue, due_ms, key))
        });
        let waiting =
            state.queues.range((from, Bound::Unbounded)).take_while(|(q, due_ms, _)| *q == queue && *due_ms <= now_ms);
        Ok(waiting.take(limit).map(|(_, due_ms, key)| (*due_ms, *key)).collect())
    }

    fn due_in(
        &mut self,
        namespace: &Name,
        queue: Queue,
        now_ms: u64,
        after: Option<Due>,
        limit: usize,
    ) -> Result<(Vec<Due>, Option<Due>), Error> {
        let mut page = self.due(queue, now_ms, after, limit)?;
        let last = page.last().copied().filter(|_| page.len() == limit);
        let state = self.read()?;
        page.retain(|(_, key)| state.tasks.get(&key.task()).is_some_and(|row| row.namespace == *namespace));
        Ok((page, last))
    }

    fn ended(&mut self, until_ms: u64, after: Option<(u64, u64)>, limit: usize) -> Result<Vec<(u64, u64)>, Error> {
        let state = self.read()?;
        let ended = state.tasks.values().filter(|row| row.status.is_terminal()).map(|row| (row.updated_ms, row.key));
        let is_wanted = |entry: &(u64, u64)| entry.0 <= until_ms && after.is_none_or(|after| *entry > after);
        let mut ended: Vec<(u64, u64)> = ended.filter(is_wanted).collect();
        ended.sort_unstable();
        ended.truncate(limit);
        Ok(ended)
    }

    fn rested(&mut self, until_ms: u64, limit: usize) -> Result<Vec<(u64, ThreadId)>, Error> {
        let state = self.read()?;
        let rested = |((scope, _), row): (&(Scope, Part), &ScopeRow)| match scope {
            Scope::Thread(thread) => row.rested_ms.filter(|ms| *ms <= until_ms).map(|ms| (ms, *thread)),
            Scope::Task(_)
            | Scope::Repository(_)
            | Scope::Namespace(_)
            | Scope::Plan(_)
            | Scope::Register(_)
            | Scope::Log => None,
        };
        let mut rested: Vec<(u64, ThreadId)> = state.scopes.iter().filter_map(rested).collect();
        rested.sort_unstable();
        rested.truncate(limit);
        Ok(rested)
    }

    fn life(&mut self) -> Result<Life, Error> {
        Ok(self.read()?.life)
    }

    fn is_live(&mut self, scope: Scope) -> Result<bool, Error> {
        let state = self.read()?;
        Ok(match scope {
            Scope::Task(task) => state.tasks_by_id.contains_key(&task),
            Scope::Thread(_) | Scope::Repository(_) | Scope::Namespace(_) | Scope::Plan(_) | Scope::Register(_) => {
                state.scopes.contains_key(&(scope, None))
            }
            Scope::Log => true,
        })
    }

    fn snapshot(&mut self, after: Option<Scope>, limit: usize) -> Result<Vec<(Scope, Rows)>, Error> {
        let state = self.read()?;
        let mut scopes: Vec<Scope> = state.snapshot.keys().map(|(scope, _)| *scope).collect();
        scopes.dedup();
        let wanted = scopes.into_iter().filter(|scope| after.is_none_or(|after| *scope > after)).take(limit);
        let rows = wanted.map(|scope| Ok(assemble(scope, &state.snapshot)?.map(|rows| (scope, rows))));
        rows.filter_map(Result::transpose).collect()
    }

    fn next_due(&mut self, now_ms: u64) -> Result<Option<u64>, Error> {
        let state = self.read()?;
        let later = |queue: Queue| {
            let from = Bound::Excluded((queue, now_ms, StepKey::from_raw(u64::MAX)));
            state
                .queues
                .range((from, Bound::Unbounded))
                .next()
                .filter(|(q, ..)| *q == queue)
                .map(|(_, due_ms, _)| *due_ms)
        };
        let of_scopes = state.scopes.values().filter_map(|row| row.due_ms).filter(|due_ms| *due_ms > now_ms);
        Ok(Queue::ALL.into_iter().filter_map(later).chain(of_scopes).min())
    }

    fn leased(&mut self, owner: NodeId, after: Option<StepKey>, limit: usize) -> Result<Vec<StepKey>, Error> {
        let state = self.read()?;
        let from = after.map_or(Bound::Included((owner, StepKey::from_raw(0))), |key| Bound::Excluded((owner, key)));
        let held = state.leases.range((from, Bound::Unbounded)).take_while(|(o, _)| *o == owner);
        Ok(held.take(limit).map(|(_, key)| *key).collect())
    }

    fn waiting(&mut self, after: Option<StepKey>, limit: usize) -> Result<Vec<StepKey>, Error> {
        let from = after.map_or(Bound::Unbounded, Bound::Excluded);
        let state = self.read()?;
        let waiting = state.steps.range((from, Bound::Unbounded)).filter(|(_, step)| step.status == Status::Waiting);
        Ok(waiting.take(limit).map(|(key, _)| *key).collect())
    }

    fn threads(&mut self, wanted: MessageState, after: Option<ThreadId>, limit: usize) -> Result<Vec<ThreadId>, Error> {
        let state = self.read()?;
        let found = state.scopes.iter().filter_map(|((scope, _), row)| match (scope, &row.message) {
            (Scope::Thread(thread), Some(message)) if message.state == wanted => Some(*thread),
            _ => None,
        });
        let mut threads: Vec<ThreadId> = found.filter(|thread| after.is_none_or(|after| *thread > after)).collect();
        threads.dedup();
        threads.truncate(limit);
        Ok(threads)
    }

    fn conflicts(&mut self, limit: usize) -> Result<Vec<LeaseConflict>, Error> {
        Ok(self.read()?.conflicts.iter().rev().take(limit).cloned().collect())
    }

    fn heartbeat(&mut self, worker: WorkerId) -> Result<Option<u64>, Error> {
        Ok(self.read()?.heartbeats.get(&worker).copied())
    }

    fn spends(&mut self, since: Day) -> Result<Vec<Spend>, Error> {
        let known = &self.read()?.spends;
        Ok(known.iter().filter(|((day, ..), _)| *day >= since).map(spend).collect())
    }

    fn spends_for(&mut self, task: TaskId) -> Result<Vec<Spend>, Error> {
        let known = &self.read()?.spends;
        Ok(known.iter().filter(|((.., other), _)| *other == task).map(spend).collect())
    }

    fn traffic(&mut self) -> Result<Kept, Error> {
        Ok(self.read()?.traffic.kept())
    }

    fn counts(&mut self) -> Result<(u64, u64), Error> {
        let state = self.read()?;
        Ok((state.tasks.len() as u64, state.steps.len() as u64))
    }
}

fn spend(((day, namespace, agent, task), amount): (&(Day, Name, Name, TaskId), &Amount)) -> Spend {
    Spend { day: *day, namespace: namespace.clone(), agent: agent.clone(), task: *task, amount: *amount }
}

fn assemble(scope: Scope, rows: &BTreeMap<(Scope, Part), ScopeRow>) -> Result<Option<Rows>, Error> {
    let rows = rows.range((scope, None)..).take_while(|((of, _), _)| *of == scope);
    let pos = |row: &ScopeRow| row.message.as_ref().map_or(0, |message| message.content_pos);
    let stored = rows.map(|((_, part), row)| (*part, row.bytes.clone(), row.sum, pos(row)));
    crate::scope::assemble(scope, stored.collect())
}

fn decode_task(row: &TaskPut) -> Result<Task, Error> {
    let decoded = row::decode(RowKey::Task(row.id), &row.bytes, row.sum);
    let task: Task = decoded.map_err(|error| Error::row(row.id, "task", &error))?;
    Ok(Task { key: row.key, ..task })
}

fn rows(state: &State, row: &TaskPut) -> Result<TaskRows, Error> {
    let task = decode_task(row)?;
    let mut steps = Vec::new();
    for (place, step) in (0u16..).zip(state.steps_of(row.key)) {
        let decoded = if step.key.place() == place {
            row::decode(RowKey::Step(row.id, place), &step.bytes, step.sum)
        } else {
            Err(row::Error::Damaged { detail: format!("it is missing; the next one is {}", step.key.place()) })
        };
        let mut decoded: relaymesh_core::task::Step =
            decoded.map_err(|error| Error::row(row.id, &format!("step {place}"), &error))?;
        decoded.result_pos = step.result_pos;
        for (artifact, pos) in decoded.output_artifacts.iter_mut().zip(&step.artifact_pos) {
            artifact.pos = *pos;
        }
        steps.push(decoded);
    }
    Ok(TaskRows { task, steps })
}
