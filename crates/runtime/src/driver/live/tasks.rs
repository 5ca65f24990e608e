//! The live rows of tasks.

use super::Touched;
use relaymesh_core::{
    id::TaskId,
    kernel::{Refusal, apply_task},
    op::Op,
    task::{Effect, Status, TaskRows},
};
use relaymesh_store::{Batch, Error, IdempotencyRow, Reader, Saved, StepChange};
use std::collections::HashMap;

/// Live rows by task, and by row key for what the store's queues name.
#[derive(Debug, Default)]
pub(super) struct Tasks {
    entries: HashMap<TaskId, Entry>,
    by_key: HashMap<u64, TaskId>,
    /// Tasks that were read from the store to be looked at.
    visitors: Vec<TaskId>,
}

/// The rows of one task, newer than the store's as long as a batch with them is on its way.
#[derive(Debug)]
struct Entry {
    /// `None` once it is purged.
    rows: Option<TaskRows>,
    /// The row's key.
    key: u64,
    /// Once it is purged, and until its rows are out of the batch: the idempotency key that it had.
    purged: Option<IdempotencyRow>,
    saved: Saved,
    /// The newest batch that has rows of this task.
    batch: u64,
    /// Whether it has changed since the last batch was given out.
    dirty: bool,
    /// How many of its steps are held as ready.
    queued: u16,
}

impl Tasks {
    pub(super) fn len(&self) -> usize {
        self.entries.len()
    }

    pub(super) fn get(&self, task: TaskId) -> Option<&TaskRows> {
        self.entries.get(&task)?.rows.as_ref()
    }

    pub(super) fn load<R: Reader>(&mut self, task: TaskId, reader: &mut R) -> Result<Option<&TaskRows>, Error> {
        if !self.entries.contains_key(&task) {
            let Some(rows) = reader.task(task)? else { return Ok(None) };
            self.insert_loaded(rows);
        }
        Ok(self.get(task))
    }

    pub(super) fn load_key<R: Reader>(&mut self, key: u64, reader: &mut R) -> Result<Option<TaskId>, Error> {
        if let Some(task) = self.by_key.get(&key) {
            return Ok(Some(*task));
        }
        let Some(rows) = reader.task_at(key)? else { return Ok(None) };
        let task = rows.task.id;
        self.insert_loaded(rows);
        Ok(Some(task))
    }

    fn insert_loaded(&mut self, rows: TaskRows) {
        let saved = Saved::of(&rows);
        self.visitors.push(rows.task.id);
        self.insert(rows, saved);
    }

    fn insert(&mut self, rows: TaskRows, saved: Saved) -> &mut Entry {
        let (id, key) = (rows.task.id, rows.task.key);
        self.by_key.insert(key, id);
        let entry = Entry { rows: Some(rows), key, purged: None, saved, batch: 0, dirty: false, queued: 0 };
        self.entries.entry(id).insert_entry(entry).into_mut()
    }

    /// Applies an op to the task, which is loaded or new. A refusal has changed neither rows nor effects.
    pub(super) fn apply(
        &mut self,
        task: TaskId,
        op: &Op,
        effects: &mut Vec<Effect>,
        touched: &mut Touched<TaskId>,
    ) -> Result<(), Refusal> {
        let entry = match self.entries.get_mut(&task) {
            Some(entry) => {
                apply_task(&mut entry.rows, op, effects)?;
                entry
            }
            None => {
                let mut rows = None;
                apply_task(&mut rows, op, effects)?;
                let Some(rows) = rows else { return Ok(()) };
                self.insert(rows, Saved::default())
            }
        };
        if !entry.dirty {
            entry.dirty = true;
            touched.all.push(task);
        }
        Ok(())
    }

    /// The task is purged, and this is the key that it had.
    pub(super) fn note_purged(&mut self, task: TaskId, row: IdempotencyRow) {
        if let Some(entry) = self.entries.get_mut(&task) {
            entry.purged = Some(row);
        }
    }

    /// One more of its steps is held as ready.
    pub(super) fn queue(&mut self, task: TaskId) {
        if let Some(entry) = self.entries.get_mut(&task) {
            entry.queued += 1;
        }
    }

    /// One of its steps is held as ready no longer.
    pub(super) fn unqueue(&mut self, task: TaskId) {
        if let Some(entry) = self.entries.get_mut(&task) {
            entry.queued = entry.queued.saturating_sub(1);
        }
    }

    /// Puts the rows that have changed into batch `number`, and tells of every step that the batch changes.
    pub(super) fn put(
        &mut self,
        touched: &mut Touched<TaskId>,
        batch: &mut Batch,
        number: u64,
        changed: &mut impl FnMut(TaskId, StepChange<'_>),
    ) {
        for task in touched.take_new() {
            let Some(entry) = self.entries.get_mut(task) else { continue };
            entry.dirty = false;
            entry.batch = number;
            match (&entry.rows, entry.purged.take()) {
                (Some(rows), _) => {
                    entry.saved.changes(rows).for_each(|change| changed(*task, change));
                    entry.saved.put(rows, batch);
                }
                (None, Some(row)) => entry.saved.purge(row, batch),
                (None, None) => {}
            }
        }
    }

    /// Batches up to `number` are durable: lets go of the task if nothing is going on with it.
    pub(super) fn settle(&mut self, task: TaskId, number: u64) {
        let idle = |entry: &Entry| {
            let running = |rows: &TaskRows| rows.steps.iter().any(|step| step.status == Status::Running);
            entry.batch <= number && !entry.dirty && entry.queued == 0 && !entry.rows.as_ref().is_some_and(running)
        };
        if self.entries.get(&task).is_some_and(idle)
            && let Some(entry) = self.entries.remove(&task)
        {
            self.by_key.remove(&entry.key);
        }
    }

    /// Lets go of tasks that were only looked at.
    pub(super) fn settle_visitors(&mut self, number: u64) {
        for task in std::mem::take(&mut self.visitors) {
            self.settle(task, number);
        }
    }

    pub(super) fn clear(&mut self) {
        self.entries.clear();
        self.by_key.clear();
        self.visitors.clear();
    }
}
