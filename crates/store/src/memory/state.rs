//! What lies on a [`Disk`](super::Disk), and how a batch gets there.
//!
//! Invariant: a batch is checked as a whole before anything of it is applied, and applying it cannot fail. That is all
//! there is to "all or none" in memory.

use super::traffic::TrafficRows;
use crate::{
    Batch, Content, ContentKey, Day, Error, Head, IdempotencyRow, KeyPut, LeaseConflict, Life, Queue, Run, ScopePut,
    Spend, StepKey, StepPut, StoredOp, TaskPut,
    life::in_snapshot,
    scope::{Change, Part, ScopeRow},
};
use relaymesh_core::{
    budget::Amount,
    hash::Hash,
    id::{NodeId, TaskId, WorkerId},
    name::Name,
    op::Scope,
    row::RowKey,
    task::spec::IdempotencyKey,
};
use std::{
    collections::{BTreeMap, BTreeSet},
    fmt::Debug,
    sync::{Arc, Weak},
};

/// Everything that was committed, and what stands around it.
#[derive(Debug)]
pub(crate) struct State {
    pub(crate) head: Head,
    pub(crate) ops: BTreeMap<u64, StoredOp>,
    pub(crate) tasks: BTreeMap<u64, TaskPut>,
    pub(crate) tasks_by_id: BTreeMap<TaskId, u64>,
    pub(crate) steps: BTreeMap<StepKey, StepPut>,
    pub(crate) queues: BTreeSet<(Queue, u64, StepKey)>,
    pub(crate) leases: BTreeSet<(NodeId, StepKey)>,
    pub(crate) idempotency: BTreeMap<(Name, IdempotencyKey), IdempotencyRow>,
    pub(crate) scopes: BTreeMap<(Scope, Part), ScopeRow>,
    /// The rows of repositories and namespaces at the horizon.
    pub(crate) snapshot: BTreeMap<(Scope, Part), ScopeRow>,
    pub(crate) life: Life,
    pub(crate) content: BTreeMap<ContentKey, Content>,
    pub(crate) blobs: BTreeMap<Hash, Vec<u8>>,
    /// Blobs that somebody is about to name.
    pins: BTreeMap<Hash, Weak<()>>,
    pub(crate) conflicts: Vec<LeaseConflict>,
    pub(crate) heartbeats: BTreeMap<WorkerId, u64>,
    pub(crate) spends: BTreeMap<(Day, Name, Name, TaskId), Amount>,
    pub(super) traffic: TrafficRows,
    /// Whether a writer lives.
    pub(crate) writer: bool,
    /// Reads that will fail.
    pub(crate) reads_to_fail: u32,
    fault: Option<(Error, bool)>,
    poison: Option<Error>,
    /// A batch that reached the disk although its commit was poisoned. It shows after the next start.
    survivor: Option<Batch>,
}

impl State {
    pub(super) fn new(head: Head) -> Self {
        Self {
            head,
            ops: BTreeMap::new(),
            tasks: BTreeMap::new(),
            tasks_by_id: BTreeMap::new(),
            steps: BTreeMap::new(),
            queues: BTreeSet::new(),
            leases: BTreeSet::new(),
            idempotency: BTreeMap::new(),
            scopes: BTreeMap::new(),
            snapshot: BTreeMap::new(),
            life: Life::default(),
            content: BTreeMap::new(),
            blobs: BTreeMap::new(),
            pins: BTreeMap::new(),
            conflicts: Vec::new(),
            heartbeats: BTreeMap::new(),
            spends: BTreeMap::new(),
            traffic: TrafficRows::default(),
            writer: false,
            reads_to_fail: 0,
            fault: None,
            poison: None,
            survivor: None,
        }
    }

    pub(super) fn open(&mut self) -> Result<(), Error> {
        if self.writer {
            return Err(Error::InUse { detail: "another store is open on this disk; drop it first".to_owned() });
        }
        self.writer = true;
        self.poison = None;
        if let Some(batch) = self.survivor.take() {
            self.apply(&batch);
        }
        Ok(())
    }

    pub(super) fn fail_next(&mut self, error: Error, applied: bool) {
        self.fault = Some((error, applied));
    }

    pub(super) fn distrust(&mut self, cause: &str) -> Error {
        self.poison.get_or_insert_with(|| Error::Poisoned { detail: cause.to_owned() }).clone()
    }

    pub(super) fn commit(&mut self, batch: &Batch) -> Result<(), Error> {
        if let Some(poison) = &self.poison {
            return Err(poison.clone());
        }
        self.check(batch)?;
        let Some((error, applied)) = self.fault.take() else {
            self.apply(batch);
            return Ok(());
        };
        if matches!(error, Error::Poisoned { .. }) {
            self.poison = Some(error.clone());
            self.survivor = applied.then(|| batch.clone());
        }
        Err(error)
    }

    /// The step rows of the task with this key, by place.
    pub(super) fn steps_of(&self, task: u64) -> impl Iterator<Item = &StepPut> {
        self.steps.range(StepKey::new(task, 0)..StepKey::new(task + 1, 0)).map(|(_, step)| step)
    }

    /// The bytes of a row, to be damaged.
    pub(super) fn row_bytes(&mut self, key: RowKey) -> Option<&mut Vec<u8>> {
        match key {
            RowKey::Task(id) => Some(&mut self.tasks.get_mut(self.tasks_by_id.get(&id)?)?.bytes),
            RowKey::Step(id, place) => {
                let key = StepKey::new(*self.tasks_by_id.get(&id)?, place);
                Some(&mut self.steps.get_mut(&key)?.bytes)
            }
            RowKey::Repository(id) => Some(&mut self.scopes.get_mut(&(Scope::Repository(id), None))?.bytes),
            RowKey::Lock(id, token) => {
                Some(&mut self.scopes.get_mut(&(Scope::Repository(id), Some(token.to_bytes())))?.bytes)
            }
            RowKey::Namespace(id) => Some(&mut self.scopes.get_mut(&(Scope::Namespace(id), None))?.bytes),
            RowKey::Plan(id) => Some(&mut self.scopes.get_mut(&(Scope::Plan(id), None))?.bytes),
            RowKey::PlanItem(id, item) => {
                Some(&mut self.scopes.get_mut(&(Scope::Plan(id), Some(item.to_bytes())))?.bytes)
            }
            RowKey::Register(register) => Some(&mut self.scopes.get_mut(&(Scope::Register(register), None))?.bytes),
            RowKey::Thread(id) => Some(&mut self.scopes.get_mut(&(Scope::Thread(id), None))?.bytes),
            RowKey::Message(id, message) => {
                Some(&mut self.scopes.get_mut(&(Scope::Thread(id), Some(message.to_bytes())))?.bytes)
            }
        }
    }

    fn check(&self, batch: &Batch) -> Result<(), Error> {
        batch.continues(&self.head)?;
        check_rows("task", &self.tasks, batch.tasks.iter().map(|row| (row.key, row.created)))?;
        let new_ids = batch.tasks.iter().filter(|row| row.created).map(|row| (row.id, true));
        check_rows("task", &self.tasks_by_id, new_ids)?;
        check_rows("step", &self.steps, batch.steps.iter().map(|row| (row.key, row.created)))?;
        self.check_keys(&batch.keys)?;
        self.check_scopes(&batch.scopes)?;
        let (horizon, created) = (batch.horizon.unwrap_or(self.life.horizon), |key| {
            batch.tasks.iter().any(|row| row.created && row.key == key)
        });
        if let Some(key) = batch.purged.iter().find(|key| !self.tasks.contains_key(*key) && !created(**key)) {
            return Err(conflict(format!("there is no task row {key} to purge")));
        }
        if let Some(run) = batch.runs.iter().find(|run| run.stub.pos > horizon || run.first > run.stub.pos) {
            return Err(conflict(format!("ops {} to {} are not below {horizon}", run.first, run.stub.pos)));
        }
        self.traffic.check(&batch.traffic)?;
        check_rows("content", &self.content, batch.content.iter().map(|content| (content.key, true)))
    }

    /// Keys can come, go and come again in one batch: which are there is followed through it.
    fn check_keys(&self, puts: &[KeyPut]) -> Result<(), Error> {
        let mut now: BTreeMap<(&Name, &IdempotencyKey), Option<u64>> = BTreeMap::new();
        for put in puts {
            let (KeyPut::Added(row) | KeyPut::Moved(row) | KeyPut::Removed(row)) = put;
            let id = (&row.namespace, &row.key);
            let stored = || self.idempotency.get(&(row.namespace.clone(), row.key.clone())).map(|row| row.task_key);
            let owner = now.get(&id).copied().unwrap_or_else(stored);
            match put {
                KeyPut::Added(_) if owner.is_some() => {
                    return Err(conflict(format!("the idempotency row {} exists already", row.key)));
                }
                KeyPut::Added(_) | KeyPut::Moved(_) => drop(now.insert(id, Some(row.task_key))),
                KeyPut::Removed(_) if owner == Some(row.task_key) => drop(now.insert(id, None)),
                KeyPut::Removed(_) => {}
            }
        }
        Ok(())
    }

    /// Rows of scopes can come, go and come again in one batch: what is there is followed through it.
    fn check_scopes(&self, puts: &[ScopePut]) -> Result<(), Error> {
        let mut now: BTreeMap<(Scope, Part), bool> = BTreeMap::new();
        for put in puts {
            let key = (put.scope, put.part);
            let is_there = now.get(&key).copied().unwrap_or_else(|| self.scopes.contains_key(&key));
            let (wanted, stays) = match put.change {
                Change::Created(_) => (false, true),
                Change::Changed(_) => (true, true),
                Change::Removed => (true, false),
            };
            if is_there != wanted {
                let what = if is_there { "exists already" } else { "is not there" };
                return Err(conflict(format!("the row {:?} of {} {what}", put.part, put.scope)));
            }
            now.insert(key, stays);
        }
        Ok(())
    }

    fn apply(&mut self, batch: &Batch) {
        self.head = batch.head.clone();
        self.ops.extend(batch.ops.iter().map(|op| (op.pos, op.clone())));
        self.tasks_by_id.extend(batch.tasks.iter().map(|row| (row.id, row.key)));
        self.tasks.extend(batch.tasks.iter().map(|row| (row.key, row.clone())));
        batch.steps.iter().for_each(|step| self.put_step(step));
        batch.keys.iter().for_each(|put| self.put_key(put));
        batch.purged.iter().for_each(|key| self.purge(*key));
        for put in &batch.scopes {
            match &put.change {
                Change::Created(row) | Change::Changed(row) => {
                    self.scopes.insert((put.scope, put.part), row.clone());
                }
                Change::Removed => drop(self.scopes.remove(&(put.scope, put.part))),
            }
        }
        self.content.extend(batch.content.iter().map(|content| (content.key, content.content.unpinned())));
        batch.runs.iter().for_each(|run| self.drop_run(run));
        if let Some(horizon) = batch.horizon {
            self.life.horizon = horizon;
            let rows = self.scopes.iter().filter(|((scope, _), _)| in_snapshot(*scope));
            self.snapshot = rows.map(|(key, row)| (*key, row.clone())).collect();
        }
        self.life.swept_ms = self.life.swept_ms.max(batch.swept_ms.unwrap_or(0));
        self.conflicts.extend(batch.conflicts.iter().cloned());
        self.heartbeats.extend(batch.heartbeats.iter().map(|beat| (beat.worker, beat.at_ms)));
        for Spend { day, namespace, agent, task, amount } in &batch.spends {
            let sum = self.spends.entry((*day, namespace.clone(), agent.clone(), *task)).or_default();
            *sum = sum.plus(*amount);
        }
        // It was checked as a whole, so nothing of it is refused here.
        let _ = self.traffic.put(&batch.traffic);
    }

    fn put_key(&mut self, put: &KeyPut) {
        match put {
            KeyPut::Added(row) | KeyPut::Moved(row) => {
                self.idempotency.insert((row.namespace.clone(), row.key.clone()), row.clone());
            }
            KeyPut::Removed(row) => {
                let id = (row.namespace.clone(), row.key.clone());
                if self.idempotency.get(&id).is_some_and(|there| there.task_key == row.task_key) {
                    self.idempotency.remove(&id);
                }
            }
        }
    }

    /// A task's rows go.
    fn purge(&mut self, task: u64) {
        if let Some(row) = self.tasks.remove(&task) {
            self.tasks_by_id.remove(&row.id);
        }
        let steps: Vec<StepKey> = self.steps_of(task).map(|step| step.key).collect();
        for key in steps {
            self.remove_step(key);
        }
    }

    /// Old ops go, with their content and with blobs that nothing else names.
    fn drop_run(&mut self, run: &Run) {
        let ops = self.ops.range(run.first..=run.stub.pos).map(|(pos, _)| *pos).collect::<Vec<_>>();
        ops.iter().for_each(|pos| drop(self.ops.remove(pos)));
        self.ops.insert(run.stub.pos, run.stub.clone());
        let range = ContentKey::new(run.first, 0)..ContentKey::new(run.stub.pos + 1, 0);
        let content = self.content.range(range).map(|(key, _)| *key).collect::<Vec<_>>();
        for key in content {
            let Some(Content::Blob(blob)) = self.content.remove(&key) else { continue };
            let is_named = |content: &Content| matches!(content, Content::Blob(other) if other.hash == blob.hash);
            let is_pinned = self.pins.get(&blob.hash).is_some_and(|pin| pin.strong_count() > 0);
            if !is_pinned && !self.content.values().any(is_named) {
                self.blobs.remove(&blob.hash);
            }
        }
    }

    /// Keeps a blob from being removed as long as what it gives lives.
    pub(super) fn pin(&mut self, hash: Hash) -> Arc<()> {
        self.pins.retain(|_, pin| pin.strong_count() > 0);
        if let Some(pin) = self.pins.get(&hash).and_then(Weak::upgrade) {
            return pin;
        }
        let pin = Arc::new(());
        self.pins.insert(hash, Arc::downgrade(&pin));
        pin
    }

    fn remove_step(&mut self, key: StepKey) {
        if let Some(old) = self.steps.remove(&key) {
            old.queue.map(|(queue, due_ms)| self.queues.remove(&(queue, due_ms, key)));
            old.lease.map(|(owner, _)| self.leases.remove(&(owner, key)));
        }
    }

    /// Puts the row and keeps the two indexes up.
    fn put_step(&mut self, step: &StepPut) {
        let key = step.key;
        self.remove_step(key);
        self.steps.insert(key, step.clone());
        self.queues.extend(step.queue.map(|(queue, due_ms)| (queue, due_ms, key)));
        self.leases.extend(step.lease.map(|(owner, _)| (owner, key)));
    }
}

/// Rows that are `created` must be new, the others there already.
fn check_rows<K: Ord + Debug, V>(
    what: &str,
    there: &BTreeMap<K, V>,
    rows: impl Iterator<Item = (K, bool)>,
) -> Result<(), Error> {
    let mut new = BTreeSet::new();
    for (key, created) in rows {
        match (created, there.contains_key(&key) || new.contains(&key)) {
            (true, false) => drop(new.insert(key)),
            (false, true) => {}
            (true, true) => return Err(conflict(format!("the {what} row {key:?} exists already"))),
            (false, false) => return Err(conflict(format!("there is no {what} row {key:?} to change"))),
        }
    }
    Ok(())
}

pub(super) fn conflict(detail: String) -> Error {
    Error::Conflict { detail }
}
