//! Promises about a batch: all of it or none, and only where it fits.

use super::{Backend, author::WORKERS, gallery::gallery, graph::Graph, snapshot::all_tasks, world::World};
use crate::{
    Batch, Content, ContentKey, ContentPut, Day, Heartbeat, LeaseConflict, Reader, Spend, StepKey, StepPut, StoredOp,
    TaskFilter, TaskPut,
};
use relaymesh_core::{
    budget::Amount,
    id::{StepId, TaskId},
    task::Status,
};

/// A world with a task in it, the batch that made that task, and a second batch that fits and is not committed.
fn two_batches<B: Backend>() -> (World<B>, Batch, Batch) {
    let mut world = World::<B>::new();
    let task = world.author.submit(&Graph::wide(2).input(0, b"1"));
    let first = world.commit();
    world.author.claim(task, 0);
    world.author.submit(&Graph::chain(2).input(1, b"2"));
    let second = world.author.take();
    (world, first, second)
}

/// A `created` task row whose key is taken is refused.
pub fn a_task_that_exists_is_not_created<B: Backend>() {
    let (mut world, first, mut batch) = two_batches::<B>();
    batch.tasks.push(TaskPut { id: TaskId::new(9, 9), ..first.tasks[0].clone() });
    world.refuse(&batch);
}

/// A `created` task row whose id is taken is refused.
pub fn a_task_id_is_not_given_twice<B: Backend>() {
    let (mut world, first, mut batch) = two_batches::<B>();
    batch.tasks.push(TaskPut { key: 77, ..first.tasks[0].clone() });
    world.refuse(&batch);
}

/// A change of a task row that is not there is refused.
pub fn a_missing_task_is_not_changed<B: Backend>() {
    let (mut world, first, mut batch) = two_batches::<B>();
    batch.tasks.push(missing_task(&first));
    world.refuse(&batch);
}

/// A `created` step row whose key is taken is refused.
pub fn a_step_that_exists_is_not_created<B: Backend>() {
    let (mut world, first, mut batch) = two_batches::<B>();
    batch.steps.push(first.steps[1].clone());
    world.refuse(&batch);
}

/// A change of a step row that is not there is refused.
pub fn a_missing_step_is_not_changed<B: Backend>() {
    let (mut world, first, mut batch) = two_batches::<B>();
    batch.steps.push(missing_step(&first));
    world.refuse(&batch);
}

/// A `created` idempotency row whose key is taken is refused.
pub fn an_idempotency_row_that_exists_is_not_created<B: Backend>() {
    let (mut world, first, mut batch) = two_batches::<B>();
    batch.keys.push(first.keys[0].clone());
    world.refuse(&batch);
}

fn missing_task(first: &Batch) -> TaskPut {
    TaskPut { key: 77, id: TaskId::new(9, 9), created: false, ..first.tasks[0].clone() }
}

fn missing_step(first: &Batch) -> StepPut {
    StepPut { key: StepKey::new(77, 0), created: false, ..first.steps[0].clone() }
}

/// The batch once with each mistake that there is.
fn mistaken(batch: &Batch, first: &Batch) -> Vec<Batch> {
    let with = |change: &dyn Fn(&mut Batch)| {
        let mut batch = batch.clone();
        change(&mut batch);
        batch
    };
    vec![
        with(&|b| {
            b.ops.push(StoredOp { pos: b.head.pos + 2, ..first.ops[0].clone() });
            b.head.pos += 2;
        }),
        with(&|b| b.tasks.push(first.tasks[0].clone())),
        with(&|b| b.tasks.push(missing_task(first))),
        with(&|b| b.steps.push(first.steps[0].clone())),
        with(&|b| b.steps.push(missing_step(first))),
        with(&|b| b.keys.push(first.keys[0].clone())),
        with(&|b| b.purged.push(777_777)),
    ]
}

/// Commits nothing but some sections of a good batch, with every mistake in turn.
fn refuse_sections<B: Backend>(fill: impl Fn(&Batch, &mut Batch)) {
    let (mut world, first, good) = two_batches::<B>();
    let mut part = Batch::new(world.reader().head().unwrap());
    fill(&good, &mut part);
    for batch in mistaken(&part, &first) {
        world.refuse(&batch);
    }
    world.try_commit(&good).unwrap();
}

/// Whatever the mistake, no op stays and the head does not move.
pub fn refused_ops_leave_no_trace<B: Backend>() {
    refuse_sections::<B>(|good, part| {
        part.ops = good.ops.clone();
        part.head = good.head.clone();
    });
}

/// Whatever the mistake, no row stays, in no list and in no queue.
pub fn refused_rows_leave_no_trace<B: Backend>() {
    refuse_sections::<B>(|good, part| {
        part.tasks = good.tasks.clone();
        part.steps = good.steps.clone();
        part.keys = good.keys.clone();
    });
}

/// Whatever the mistake, no content stays.
pub fn refused_content_leaves_no_trace<B: Backend>() {
    refuse_sections::<B>(|_, part| {
        let key = ContentKey::new(part.head.pos + 1, 0);
        part.content.push(ContentPut { key, content: Content::Inline(b"left over".to_vec()) });
    });
}

/// Whatever the mistake, no journal row stays.
pub fn a_refused_journal_leaves_no_trace<B: Backend>() {
    refuse_sections::<B>(|_, part| {
        let step = StepId { task: TaskId::new(1, 1), index: 0 };
        part.conflicts.push(LeaseConflict { at_ms: 1, step, verb: "fail", found: Status::Running, epoch: 2, given: 1 });
        part.heartbeats.push(Heartbeat { worker: WORKERS[0], at_ms: 1 });
        let name = || "a".parse().unwrap();
        let amount = Amount { tokens: 1, ..Amount::default() };
        part.spends.push(Spend { day: Day(1), namespace: name(), agent: name(), task: TaskId::new(1, 1), amount });
    });
}

/// A refusal is no reason to stop: the batch without the mistake fits.
pub fn after_a_refusal_the_right_batch_fits<B: Backend>() {
    let (mut world, first, good) = two_batches::<B>();
    for batch in mistaken(&good, &first) {
        world.refuse(&batch);
    }
    world.try_commit(&good).unwrap();
    assert_eq!(world.reader().head().unwrap(), good.head);
}

/// A batch with nothing in it is accepted and changes nothing.
pub fn an_empty_batch_changes_nothing<B: Backend>() {
    let mut world = World::<B>::new();
    gallery(&mut world.author);
    world.commit();
    let before = world.snapshot();
    let batch = world.author.take();
    assert!(batch.is_empty());
    world.try_commit(&batch).unwrap();
    world.snapshot().must_equal(&before, "the store before the empty batch");
}

/// A thousand tasks go in at once, and every one of them is there.
pub fn a_thousand_tasks_in_one_batch<B: Backend>() {
    let mut world = World::<B>::new();
    let tasks = world.author.submit_all(1_000, &Graph::chain(2).input(0, b"{}"));
    let batch = world.commit();
    let mut reader = world.reader();
    assert_eq!((reader.head().unwrap(), reader.counts().unwrap()), (batch.head, (1_000, 2_000)));
    for task in &tasks {
        assert_eq!(reader.task(*task).unwrap().as_ref(), Some(world.author.rows(*task)));
    }
    assert_eq!(all_tasks(&mut reader, &TaskFilter::default()).len(), 1_000);
}

/// A thousand tasks of which the last is a mistake: none of them is there.
pub fn a_thousand_tasks_and_one_mistake<B: Backend>() {
    let (mut world, _, good) = two_batches::<B>();
    world.try_commit(&good).unwrap();
    world.author.submit_all(1_000, &Graph::single());
    let mut batch = world.author.take();
    batch.purged.push(777_777);
    world.refuse(&batch);
    assert_eq!(world.reader().counts().unwrap().0, 2);
}
