//! From changed rows to the sections of a batch.

use crate::{Batch, IdempotencyRow, KeyPut, Queue, StepKey, StepPut, TaskPut};
use relaymesh_core::{
    row::{RowSum, StateHash, encode_step, encode_task},
    task::{Status, Step, Task, TaskRows},
};

/// What the store, or a batch on its way there, last got of a task's rows. A row is written when its revision has grown.
#[derive(Debug, Clone, Default)]
pub struct Saved {
    task: Mark,
    steps: Vec<Mark>,
}

/// Revision and sum of one row; revision 0 for none.
#[derive(Debug, Clone, Copy, Default)]
struct Mark {
    rev: u32,
    sum: RowSum,
    /// For a step: the attempt that ran.
    running: Option<u32>,
}

/// A step whose row has changed since it was last put.
#[derive(Debug, Clone, Copy)]
pub struct StepChange<'a> {
    /// Its place.
    pub index: u16,
    /// The epoch of the attempt that ran before.
    pub running_before: Option<u32>,
    /// The row now.
    pub after: &'a Step,
}

impl Saved {
    /// The marks of rows that were just loaded.
    pub fn of(rows: &TaskRows) -> Self {
        let mut bytes = Vec::new();
        let task = Mark { rev: rows.task.rev, sum: encode_task(&rows.task, &mut bytes), running: None };
        let mark = |(index, step): (u16, &Step)| Mark {
            rev: step.rev,
            sum: encode_step(rows.task.id, index, step, &mut bytes),
            running: running(step),
        };
        let steps = rows.indexed().map(mark).collect();
        Self { task, steps }
    }

    /// The steps that [`Saved::put`] would put, with what they were before.
    pub fn changes<'a>(&'a self, rows: &'a TaskRows) -> impl Iterator<Item = StepChange<'a>> {
        let marks = self.steps.iter().copied().chain(std::iter::repeat(Mark::default()));
        let changed = rows.indexed().zip(marks).filter(|((_, step), mark)| mark.rev != step.rev);
        changed.map(|((index, after), mark)| StepChange { index, running_before: mark.running, after })
    }

    /// Puts every row that changed since into the batch, and keeps the batch's state hash up.
    pub fn put(&mut self, rows: &TaskRows, batch: &mut Batch) {
        let task = &rows.task;
        self.steps.resize(rows.steps.len(), Mark::default());
        if self.task.rev == 0 {
            batch.keys.push(KeyPut::Added(IdempotencyRow::of(task)));
        }
        if self.task.rev != task.rev {
            batch.tasks.push(task_put(task, &mut self.task, &mut batch.head.state));
        }
        for ((index, step), mark) in rows.indexed().zip(&mut self.steps) {
            if mark.rev != step.rev {
                batch.steps.push(step_put(task, index, step, mark, &mut batch.head.state));
            }
        }
    }

    /// The task was purged: its rows and its key go, and with them what they added to the batch's state hash.
    pub fn purge(&mut self, row: IdempotencyRow, batch: &mut Batch) {
        let Self { task, steps } = std::mem::take(self);
        if task.rev == 0 {
            return; // no store has heard of it
        }
        for mark in steps.iter().chain([&task]) {
            batch.head.state.change(mark.sum, RowSum::default());
        }
        batch.purged.push(row.task_key);
        batch.keys.push(KeyPut::Removed(row));
    }
}

fn task_put(task: &Task, mark: &mut Mark, state: &mut StateHash) -> TaskPut {
    let mut bytes = Vec::with_capacity(192);
    let sum = encode_task(task, &mut bytes);
    let created = mark.rev == 0;
    state.change(mark.sum, sum);
    *mark = Mark { rev: task.rev, sum, running: None };
    TaskPut {
        key: task.key,
        created,
        id: task.id,
        namespace: task.namespace.clone(),
        status: task.status,
        trace_id: task.trace_id,
        created_ms: task.created_ms,
        updated_ms: task.updated_ms,
        result_hash: task.result_hash,
        bytes,
        sum,
    }
}

fn step_put(task: &Task, index: u16, step: &Step, mark: &mut Mark, state: &mut StateHash) -> StepPut {
    let mut bytes = Vec::with_capacity(192);
    let sum = encode_step(task.id, index, step, &mut bytes);
    let created = mark.rev == 0;
    state.change(mark.sum, sum);
    *mark = Mark { rev: step.rev, sum, running: running(step) };
    StepPut {
        key: StepKey::new(task.key, index),
        created,
        agent: step.spec.agent.clone(),
        status: step.status,
        attempt: step.attempt,
        epoch: step.epoch,
        queue: Queue::of(step),
        lease: step.lease.as_ref().map(|lease| (lease.owner, lease.token)),
        result_pos: step.result_pos,
        artifact_pos: step.output_artifacts.iter().map(|artifact| artifact.pos).collect(),
        updated_ms: step.updated_ms,
        bytes,
        sum,
    }
}

/// The attempt that runs.
fn running(step: &Step) -> Option<u32> {
    (step.status == Status::Running).then_some(step.epoch)
}

/// When the task ended, if it has.
pub fn processed_ms(task: &Task) -> Option<u64> {
    task.status.is_terminal().then_some(task.updated_ms)
}
