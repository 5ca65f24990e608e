//! Live rows: the tasks that something is going on with. Everything else is in the store only.

use relaymesh_core::{
    id::TaskId,
    task::{Status, TaskRows},
};
use relaymesh_store::{Error, IdempotencyRow, Reader, Saved};
use std::collections::HashMap;

/// The rows of one task, newer than the store's as long as a batch with them is on its way.
#[derive(Debug)]
pub(super) struct Entry {
    /// `None` once it is purged.
    pub(super) rows: Option<TaskRows>,
    /// The row's key.
    key: u64,
    /// Once it is purged, and until its rows are out of the batch: the idempotency key that it had.
    pub(super) purged: Option<IdempotencyRow>,
    pub(super) saved: Saved,
    /// The newest batch that has rows of this task.
    pub(super) batch: u64,
    /// Whether it has changed since the last batch was given out.
    pub(super) dirty: bool,
    /// How many of its steps stand in the ready window.
    pub(super) queued: u16,
}

/// Live rows by task, and by row key for what the store's queues name.
#[derive(Debug, Default)]
pub(super) struct Cache {
    entries: HashMap<TaskId, Entry>,
    by_key: HashMap<u64, TaskId>,
    /// Tasks that were read from the store to be looked at.
    visitors: Vec<TaskId>,
}

impl Cache {
    pub(super) fn get(&self, task: TaskId) -> Option<&Entry> {
        self.entries.get(&task)
    }

    pub(super) fn get_mut(&mut self, task: TaskId) -> Option<&mut Entry> {
        self.entries.get_mut(&task)
    }

    /// The live rows of a task, read from the store if they are not here yet.
    pub(super) fn load<R: Reader>(&mut self, task: TaskId, reader: &mut R) -> Result<Option<&mut Entry>, Error> {
        if !self.entries.contains_key(&task) {
            let Some(rows) = reader.task(task)? else { return Ok(None) };
            self.insert_loaded(rows);
        }
        Ok(self.entries.get_mut(&task))
    }

    /// The live rows of the task with this key.
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

    /// Rows that are in no store yet.
    pub(super) fn insert_new(&mut self, rows: TaskRows) {
        self.insert(rows, Saved::default());
    }

    fn insert(&mut self, rows: TaskRows, saved: Saved) {
        let (id, key) = (rows.task.id, rows.task.key);
        self.by_key.insert(key, id);
        let entry = Entry { rows: Some(rows), key, purged: None, saved, batch: 0, dirty: false, queued: 0 };
        self.entries.insert(id, entry);
    }

    /// Batch `number` is durable: lets go of the task if nothing is going on with it.
    pub(super) fn settle(&mut self, task: TaskId, number: u64) {
        let idle = |entry: &Entry| {
            let running = |rows: &TaskRows| rows.steps.iter().any(|step| step.status == Status::Running);
            entry.batch <= number && !entry.dirty && entry.queued == 0 && !entry.rows.as_ref().is_some_and(running)
        };
        if self.entries.get(&task).is_some_and(idle) {
            self.remove(task);
        }
    }

    /// Lets go of tasks that were only looked at.
    pub(super) fn settle_visitors(&mut self, number: u64) {
        for task in std::mem::take(&mut self.visitors) {
            self.settle(task, number);
        }
    }

    fn remove(&mut self, task: TaskId) {
        if let Some(entry) = self.entries.remove(&task) {
            self.by_key.remove(&entry.key);
        }
    }

    pub(super) fn clear(&mut self) {
        self.entries.clear();
        self.by_key.clear();
        self.visitors.clear();
    }

    pub(super) fn len(&self) -> usize {
        self.entries.len()
    }
}
