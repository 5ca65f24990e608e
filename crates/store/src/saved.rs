//! From changed rows to the sections of a batch.

use crate::{Batch, IdempotencyRow, Queue, StepKey, StepPut, TaskPut};
use relaymesh_core::{
    hash::Hash,
    row::{RowSum, StateHash, encode_step, encode_task},
    task::{Status, Step, Task, TaskRows},
};

/// What the store, or a batch on its way there, last got of a task's rows. A row is written when its revision has grown.
#[derive(Debug, Clone, Default)]
pub struct Saved {
    /// What the idempotency row says that can change.
    key: Option<(Status, Option<Hash>, Option<u64>)>,
    task: Mark,
    steps: Vec<Mark>,
}

/// Revision and sum of one row; revision 0 for none.
#[derive(Debug, Clone, Copy, Default)]
struct Mark {
    rev: u32,
    sum: RowSum,
}

impl Saved {
    /// The marks of rows that were just loaded.
    pub fn of(rows: &TaskRows) -> Self {
        let mut bytes = Vec::new();
        let task = Mark { rev: rows.task.rev, sum: encode_task(&rows.task, &mut bytes) };
        let mark = |(index, step): (u16, &Step)| Mark {
            rev: step.rev,
            sum: encode_step(rows.task.id, index, step, &mut bytes),
        };
        let steps = rows.indexed().map(mark).collect();
        Self { key: Some(key_mark(&idempotency_row(&rows.task, false))), task, steps }
    }

    /// Puts every row that changed since into the batch, and keeps the batch's state hash up.
    pub fn put(&mut self, rows: &TaskRows, batch: &mut Batch) {
        let task = &rows.task;
        self.steps.resize(rows.steps.len(), Mark::default());
        if self.task.rev != task.rev {
            batch.tasks.push(task_put(task, &mut self.task, &mut batch.head.state));
        }
        for ((index, step), mark) in rows.indexed().zip(&mut self.steps) {
            if mark.rev != step.rev {
                batch.steps.push(step_put(task, index, step, mark, &mut batch.head.state));
            }
        }
        let row = idempotency_row(task, self.key.is_none());
        let key = Some(key_mark(&row));
        if self.key != key {
            self.key = key;
            batch.idempotency.push(row);
        }
    }
}

fn task_put(task: &Task, mark: &mut Mark, state: &mut StateHash) -> TaskPut {
    let mut bytes = Vec::with_capacity(192);
    let sum = encode_task(task, &mut bytes);
    let created = mark.rev == 0;
    state.change(mark.sum, sum);
    *mark = Mark { rev: task.rev, sum };
    TaskPut {
        key: task.key,
        created,
        id: task.id,
        namespace: task.namespace.clone(),
        status: task.status,
        trace_id: task.trace_id,
        created_ms: task.created_ms,
        updated_ms: task.updated_ms,
        bytes,
        sum,
    }
}

fn step_put(task: &Task, index: u16, step: &Step, mark: &mut Mark, state: &mut StateHash) -> StepPut {
    let mut bytes = Vec::with_capacity(192);
    let sum = encode_step(task.id, index, step, &mut bytes);
    let created = mark.rev == 0;
    state.change(mark.sum, sum);
    *mark = Mark { rev: step.rev, sum };
    StepPut {
        key: StepKey::new(task.key, index),
        created,
        agent: step.spec.agent.clone(),
        status: step.status,
        attempt: step.attempt,
        queue: Queue::of(step),
        lease: step.lease.as_ref().map(|lease| (lease.owner, lease.token)),
        result_pos: step.result_pos,
        updated_ms: step.updated_ms,
        bytes,
        sum,
    }
}

fn key_mark(row: &IdempotencyRow) -> (Status, Option<Hash>, Option<u64>) {
    (row.status, row.result_hash, row.processed_ms)
}

/// The idempotency row is a function of the task's row.
pub fn idempotency_row(task: &Task, created: bool) -> IdempotencyRow {
    IdempotencyRow {
        namespace: task.namespace.clone(),
        key: task.idempotency_key.clone(),
        created,
        task_key: task.key,
        task: task.id,
        status: if task.status.is_terminal() { task.status } else { Status::Pending },
        fingerprint: task.fingerprint,
        result_hash: task.result_hash,
        processed_ms: task.status.is_terminal().then_some(task.updated_ms),
    }
}
