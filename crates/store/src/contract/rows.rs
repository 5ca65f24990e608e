//! Promises about rows: what a task and its steps are, and how they are listed.

use super::{
    Backend,
    gallery::gallery,
    graph::{Graph, asking, name},
    snapshot::all_tasks,
    world::{ReaderOf, World},
};
use crate::{Queue, Reader, TaskFilter};
use relaymesh_core::{
    id::TaskId,
    lanes::Priority,
    op::CancelMode,
    row::StateHash,
    task::{Status, TaskRows},
};

/// Every field of every row comes back, whatever status it rests in.
pub fn rows_in_every_status_come_back<B: Backend>() {
    let mut world = World::<B>::new();
    let tasks = gallery(&mut world.author);
    world.commit();
    let mut reader = world.reader();
    for task in tasks {
        assert_eq!(reader.task(task).unwrap().as_ref(), Some(world.author.rows(task)));
    }
}

/// A task with hundreds of steps comes back with all of them in order, and its neighbours with none of them.
pub fn a_task_with_many_steps_comes_back<B: Backend>() {
    let mut world = World::<B>::new();
    let before = world.author.submit(&Graph::single());
    let many = world.author.submit(&Graph::wide(300));
    let after = world.author.submit(&Graph::single());
    for step in (0..300).step_by(7) {
        world.author.finish(many, step);
    }
    world.commit();
    let mut reader = world.reader();
    for task in [before, many, after] {
        assert_eq!(reader.task(task).unwrap().as_ref(), Some(world.author.rows(task)));
    }
}

/// A task that was never submitted is `None`, in an empty store and in one with tasks.
pub fn a_missing_task_is_none<B: Backend>() {
    let mut world = World::<B>::new();
    let unknown = TaskId::new(1, 1);
    assert_eq!(world.reader().task(unknown).unwrap(), None);
    world.author.submit(&Graph::single());
    world.commit();
    assert_eq!(world.reader().task(unknown).unwrap(), None);
    assert_eq!(world.reader().task_at(0).unwrap(), None);
    assert_eq!(world.reader().task_at(2).unwrap(), None);
}

/// The key of a task's row leads to the same rows as its id. A key that is another op's leads nowhere.
pub fn a_task_is_found_by_its_key<B: Backend>() {
    let mut world = World::<B>::new();
    let first = world.author.submit(&Graph::chain(2));
    world.author.claim(first, 0);
    let second = world.author.submit(&Graph::single());
    world.commit();
    let mut reader = world.reader();
    assert_eq!(reader.task_at(1).unwrap().unwrap().task.id, first);
    assert_eq!(reader.task_at(2).unwrap(), None);
    let rows = reader.task_at(3).unwrap().unwrap();
    assert_eq!((rows.task.id, rows.task.key), (second, 3));
}

/// Rows are what the last batch made of them.
pub fn a_row_changes_with_every_batch<B: Backend>() {
    let mut world = World::<B>::new();
    let task = world.author.submit(&Graph::chain(3));
    world.commit();
    for step in 0..3 {
        let held = world.author.claim(task, step);
        world.commit();
        assert_eq!(world.reader().task(task).unwrap().as_ref(), Some(world.author.rows(task)));
        world.author.complete(task, held, b"1").unwrap();
        world.commit();
        assert_eq!(world.reader().task(task).unwrap().as_ref(), Some(world.author.rows(task)));
    }
    assert_eq!(world.author.status(task), Status::Success);
}

/// A batch may have a row twice: once as it was for a moment, and again as it is. The later one counts.
pub fn of_a_row_twice_in_a_batch_the_later_counts<B: Backend>() {
    let mut world = World::<B>::new();
    let task = world.author.submit(&Graph::chain(2));
    world.author.put_rows();
    let held = world.author.claim(task, 0);
    world.author.put_rows();
    world.author.complete(task, held, b"1").unwrap();
    world.commit();
    assert_eq!(world.reader().task(task).unwrap().as_ref(), Some(world.author.rows(task)));
    let state = recomputed::<B>(&mut world.reader());
    assert_eq!(world.reader().head().unwrap().state, state);
    for step in [1, 0] {
        let due = world.reader().due(Queue::Ready(Priority::Normal), u64::MAX, None, 10).unwrap();
        assert_eq!(due.len(), usize::from(step), "what was ready for a moment only is in no queue");
        if step == 1 {
            world.author.finish(task, step);
            world.commit();
        }
    }
}

/// The newest task is first.
pub fn lists_are_newest_first<B: Backend>() {
    let mut world = World::<B>::new();
    let mut tasks = world.author.submit_all(20, &Graph::single());
    world.commit();
    tasks.reverse();
    let listed = world.reader().tasks(&TaskFilter::default(), None, 100).unwrap();
    assert_eq!(listed.iter().map(|task| task.id).collect::<Vec<_>>(), tasks);
    for task in listed {
        assert_eq!(task, world.author.rows(task.id).task);
    }
}

/// A page ends where the next one begins: `before` itself is not shown again.
pub fn lists_are_paged_by_key<B: Backend>() {
    let mut world = World::<B>::new();
    world.author.submit_all(20, &Graph::single());
    world.commit();
    let mut reader = world.reader();
    assert_eq!(keys(&mut reader, None, 3), [20, 19, 18]);
    assert_eq!(keys(&mut reader, Some(18), 3), [17, 16, 15]);
    assert_eq!(keys(&mut reader, Some(2), 3), [1]);
    assert!(keys(&mut reader, Some(1), 3).is_empty());
    assert_eq!(all_tasks(&mut reader, &TaskFilter::default()).len(), 20);
}

fn keys<R: Reader>(reader: &mut R, before: Option<u64>, limit: usize) -> Vec<u64> {
    reader.tasks(&TaskFilter::default(), before, limit).unwrap().iter().map(|task| task.key).collect()
}

/// Only the tasks of the namespace, and none of one whose name begins the same way.
pub fn lists_are_filtered_by_namespace<B: Backend>() {
    let mut world = World::<B>::new();
    for namespace in ["a", "ab", "a", "A", "b"] {
        world.author.submit(&Graph::single().namespace(namespace));
    }
    world.commit();
    let filter = |text| TaskFilter { namespace: Some(name(text)), status: None };
    assert_eq!(listed(&mut world.reader(), &filter("a")), [3, 1]);
    assert_eq!(listed(&mut world.reader(), &filter("ab")), [2]);
    assert_eq!(listed(&mut world.reader(), &filter("A")), [4]);
    assert!(listed(&mut world.reader(), &filter("c")).is_empty());
}

/// Only the tasks that rest there now, however often they moved before.
pub fn lists_are_filtered_by_status<B: Backend>() {
    let mut world = World::<B>::new();
    gallery(&mut world.author);
    world.commit();
    let task = world.author.submit(&Graph::single());
    world.commit();
    world.author.finish(task, 0);
    world.commit();
    let mut reader = world.reader();
    let mut seen = 0;
    for status in Status::ALL {
        let filter = TaskFilter { namespace: None, status: Some(status) };
        let mut expected: Vec<_> =
            world.author.all_rows().map(|rows| &rows.task).filter(|t| t.status == status).map(|t| t.key).collect();
        expected.sort_by(|a, b| b.cmp(a));
        seen += expected.len();
        assert_eq!(listed(&mut reader, &filter), expected, "{status}");
    }
    assert_eq!(seen, world.author.all_rows().count());
}

/// Both filters at once, with paging over rows that do not match.
pub fn lists_are_filtered_by_both<B: Backend>() {
    let mut world = World::<B>::new();
    for _ in 0..10 {
        for namespace in ["a", "b"] {
            let kept = world.author.submit(&Graph::single().namespace(namespace));
            let ended = world.author.submit(&Graph::single().namespace(namespace));
            world.author.cancel(ended, CancelMode::Hard).unwrap();
            assert_eq!(world.author.status(kept), Status::Pending);
        }
    }
    world.commit();
    let filter = TaskFilter { namespace: Some(name("b")), status: Some(Status::Cancelled) };
    let found = all_tasks(&mut world.reader(), &filter);
    assert_eq!(found.len(), 10);
    assert!(found.iter().all(|task| task.namespace == name("b") && task.status == Status::Cancelled));
    assert!(found.windows(2).all(|pair| pair[0].key > pair[1].key));
}

fn listed<R: Reader>(reader: &mut R, filter: &TaskFilter) -> Vec<u64> {
    all_tasks(reader, filter).iter().map(|task| task.key).collect()
}

/// A limit of 0 gives nothing, everywhere.
pub fn a_limit_of_nothing_gives_nothing<B: Backend>() {
    let mut world = World::<B>::new();
    gallery(&mut world.author);
    world.commit();
    let node = world.author.node();
    let mut reader = world.reader();
    assert!(reader.tasks(&TaskFilter::default(), None, 0).unwrap().is_empty());
    assert!(reader.ops(0, 0).unwrap().is_empty());
    assert!(reader.leased(node, None, 0).unwrap().is_empty());
    assert!(reader.conflicts(0).unwrap().is_empty());
    for queue in Queue::ALL {
        assert!(reader.due(queue, world.author.now_ms, None, 0).unwrap().is_empty());
    }
}

/// Counts are of rows, whatever they rest in, and changes do not count.
pub fn counts_are_of_rows<B: Backend>() {
    let mut world = World::<B>::new();
    assert_eq!(world.reader().counts().unwrap(), (0, 0));
    world.author.submit(&Graph::wide(3));
    let chain = world.author.submit(&Graph::chain(2));
    world.commit();
    assert_eq!(world.reader().counts().unwrap(), (2, 5));
    world.author.finish(chain, 0);
    world.author.cancel(chain, CancelMode::Hard).unwrap();
    world.commit();
    assert_eq!(world.reader().counts().unwrap(), (2, 5));
}

/// The state hash in the head is that of the rows which come back.
pub fn the_state_hash_is_that_of_all_rows<B: Backend>() {
    let mut world = World::<B>::new();
    let tasks = gallery(&mut world.author);
    world.commit();
    assert_eq!(recomputed::<B>(&mut world.reader()), world.reader().head().unwrap().state);
    world.author.redrive(tasks[5]).unwrap();
    world.author.submit(&Graph::chain(9));
    world.commit();
    assert_eq!(recomputed::<B>(&mut world.reader()), world.reader().head().unwrap().state);
}

fn recomputed<B: Backend>(reader: &mut ReaderOf<B>) -> StateHash {
    let mut sum = 0_u128;
    for task in all_tasks(reader, &TaskFilter::default()) {
        let rows: TaskRows = reader.task(task.id).unwrap().unwrap();
        sum = sum.wrapping_add(StateHash::of(&rows).0);
    }
    StateHash(sum)
}

/// A deadline beyond what a signed column holds comes back in the row, and is not due today.
pub fn a_far_deadline_comes_back<B: Backend>() {
    let mut world = World::<B>::new();
    let task = world.author.submit(&Graph::of(vec![asking("never", Some(u64::MAX))]));
    world.commit();
    let rows = world.reader().task(task).unwrap().unwrap();
    assert_eq!(rows.steps[0].due_ms, u64::MAX);
    assert!(world.reader().due(Queue::Approval, world.author.now_ms, None, 10).unwrap().is_empty());
}
