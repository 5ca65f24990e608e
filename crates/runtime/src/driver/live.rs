//! Live rows: what something is going on with, as decided, whether or not it is durable yet. Everything else is in the store
//! only.
//!
//! Tasks and other scopes are kept apart: the hot path knows that it has a task in its hands, keeps it from one batch to the next, and
//! goes past the switch between machines.

mod scopes;
mod tasks;

use self::{scopes::Scopes, tasks::Tasks};
use super::namespaces;
use relaymesh_core::{
    hash::Hash,
    id::{RequestId, TaskId},
    kernel::{self, Rows},
    name::Name,
    op::{Op, Scope},
    task::{self, TaskRows, spec::IdempotencyKey},
};
use relaymesh_store::{Batch, Error, IdempotencyRow, Reader, StepChange};
use std::collections::{BTreeSet, HashMap};

#[derive(Debug)]
pub(super) struct Live {
    tasks: Tasks,
    scopes: Scopes,
    /// Every namespace that is there, those of batches on their way included.
    namespaces: BTreeSet<Name>,
    /// The greatest request id that was ever a key here.
    newest_request: Option<RequestId>,
    /// What became of keys that no reader sees yet, with the batch that has it.
    keys: HashMap<(Name, IdempotencyKey), (u64, Option<TaskId>)>,
}

/// What a batch changes.
#[derive(Debug, Default)]
pub(super) struct Share {
    tasks: Touched<TaskId>,
    scopes: Touched<Scope>,
    /// Idempotency keys that no reader sees before the batch is durable.
    keys: Vec<(Name, IdempotencyKey)>,
    /// Namespaces that are made in it.
    namespaces: Vec<Name>,
}

/// Scopes with changed rows; again if they changed after their rows were put.
#[derive(Debug)]
struct Touched<S> {
    all: Vec<S>,
    /// How many have their rows in the batch.
    put: usize,
}

impl<S> Default for Touched<S> {
    fn default() -> Self {
        Self { all: Vec::new(), put: 0 }
    }
}

impl<S> Touched<S> {
    /// Those whose rows are not in the batch yet. They count as put.
    fn take_new(&mut self) -> &[S] {
        let put = std::mem::replace(&mut self.put, self.all.len());
        &self.all[put..]
    }
}

impl Live {
    /// Nothing is live, and the namespaces are known.
    pub(super) fn read<R: Reader>(reader: &mut R) -> Result<Self, Error> {
        Ok(Self {
            tasks: Tasks::default(),
            scopes: Scopes::default(),
            namespaces: namespaces::load(reader)?,
            newest_request: reader.newest_request()?,
            keys: HashMap::new(),
        })
    }

    /// How many tasks are live.
    pub(super) fn tasks(&self) -> usize {
        self.tasks.len()
    }

    /// How many other scopes are live.
    pub(super) fn scopes(&self) -> usize {
        self.scopes.len()
    }

    /// How many keys no reader sees yet.
    pub(super) fn keys(&self) -> usize {
        self.keys.len()
    }

    /// The rows of a task, if they are live.
    pub(super) fn task(&self, task: TaskId) -> Option<&TaskRows> {
        self.tasks.get(task)
    }

    /// The rows of a task, read from the store if they are not live yet.
    pub(super) fn load<R: Reader>(&mut self, task: TaskId, reader: &mut R) -> Result<Option<&TaskRows>, Error> {
        self.tasks.load(task, reader)
    }

    /// The task with this row key. It is live from now on.
    pub(super) fn load_key<R: Reader>(&mut self, key: u64, reader: &mut R) -> Result<Option<TaskId>, Error> {
        self.tasks.load_key(key, reader)
    }

    /// The rows of a scope other than a task, read from the store if they are not live yet.
    pub(super) fn scope<R: Reader>(&mut self, scope: Scope, reader: &mut R) -> Result<Option<&Rows>, Error> {
        self.scopes.load(scope, reader)
    }

    /// Applies an op to a task, which is live or new. A refusal has changed neither rows nor effects.
    pub(super) fn apply(
        &mut self,
        task: TaskId,
        op: &Op,
        effects: &mut Vec<task::Effect>,
        share: &mut Share,
    ) -> Result<(), kernel::Refusal> {
        self.tasks.apply(task, op, effects, &mut share.tasks)
    }

    /// Applies an op to the rows of another scope, which are live. A refusal has changed neither rows nor effects.
    pub(super) fn apply_to_scope(
        &mut self,
        op: &Op,
        effects: &mut Vec<kernel::Effect>,
        share: &mut Share,
        batch: &mut Batch,
    ) -> Result<(), kernel::Refusal> {
        self.scopes.apply(op, effects, &mut share.scopes, batch)
    }

    /// The task was purged, and this is the key that it had.
    pub(super) fn note_purged(&mut self, task: TaskId, row: IdempotencyRow) {
        self.tasks.note_purged(task, row);
    }

    /// One more step of the task is held as ready: the task stays live.
    pub(super) fn queue(&mut self, task: TaskId) {
        self.tasks.queue(task);
    }

    /// One step of the task is held as ready no longer.
    pub(super) fn unqueue(&mut self, task: TaskId) {
        self.tasks.unqueue(task);
    }

    pub(super) fn has_namespace(&self, name: &Name) -> bool {
        self.namespaces.contains(name)
    }

    /// All namespaces, in the order of their names.
    pub(super) fn namespaces(&self) -> &BTreeSet<Name> {
        &self.namespaces
    }

    /// A namespace was made.
    pub(super) fn note_namespace(&mut self, name: Name, share: &mut Share) {
        self.namespaces.insert(name.clone());
        share.namespaces.push(name);
    }

    /// As if the namespace had never been made.
    #[cfg(test)]
    pub(super) fn forget_namespace(&mut self, name: &Name) {
        self.namespaces.remove(name);
    }

    /// What becomes of a key in batch `number`, until a reader can see it.
    pub(super) fn note_key(
        &mut self,
        key: (Name, IdempotencyKey),
        task: Option<TaskId>,
        number: u64,
        share: &mut Share,
    ) {
        share.keys.push(key.clone());
        self.keys.insert(key, (number, task));
    }

    /// The task that has this key, with its fingerprint.
    pub(super) fn task_of_key<R: Reader>(
        &mut self,
        namespace: &Name,
        key: &IdempotencyKey,
        reader: &mut R,
    ) -> Result<Option<(TaskId, Hash)>, Error> {
        if let IdempotencyKey::RequestId(id) = key
            && self.newest_request < Some(*id)
        {
            self.newest_request = Some(*id);
            return Ok(None);
        }
        match self.keys.get(&(namespace.clone(), key.clone())) {
            None => {}
            Some((_, None)) => return Ok(None),
            Some((_, Some(task))) => {
                if let Some(rows) = self.tasks.get(*task) {
                    return Ok(Some((*task, rows.task.fingerprint)));
                }
            }
        }
        let row = reader.idempotency(namespace, key)?;
        Ok(row.map(|row| (row.task, row.fingerprint)))
    }

    /// Puts the rows that have changed into batch `number`, and tells of every step that the batch changes. Gives back when the first row
    /// of another scope falls due.
    pub(super) fn put(
        &mut self,
        share: &mut Share,
        batch: &mut Batch,
        number: u64,
        mut changed: impl FnMut(TaskId, StepChange<'_>),
    ) -> Option<u64> {
        self.tasks.put(&mut share.tasks, batch, number, &mut changed);
        self.scopes.put(&mut share.scopes, batch, number)
    }

    /// Batches up to `number` are settled: lets go of what was only looked at.
    pub(super) fn let_go(&mut self, number: u64) {
        self.tasks.settle_visitors(number);
        self.scopes.settle(number);
    }

    /// Batches up to `number` are settled: lets go of a task if nothing is going on with it.
    pub(super) fn let_go_of(&mut self, task: TaskId, number: u64) {
        self.tasks.settle(task, number);
    }

    /// Batch `number` is durable: readers see its keys, and rows with which nothing more is going on are let go of.
    pub(super) fn settle(&mut self, share: Share, number: u64) {
        for key in share.keys {
            if self.keys.get(&key).is_some_and(|(batch, _)| *batch <= number) {
                self.keys.remove(&key);
            }
        }
        for task in share.tasks.all {
            self.tasks.settle(task, number);
        }
        self.scopes.settle(number);
    }

    /// A batch is rolled back: its namespaces are not there, its keys are free, and all rows are read again. Gives back the tasks
    /// that its keys stood for.
    pub(super) fn undo(&mut self, share: Share) -> impl Iterator<Item = TaskId> {
        self.tasks.clear();
        self.scopes.clear();
        for name in &share.namespaces {
            self.namespaces.remove(name);
        }
        share.keys.into_iter().filter_map(|key| self.keys.remove(&key)?.1)
    }
}
