//! Promises about the life of the log: what is purged, what is dropped, and what stays (D33).

use super::{
    Backend,
    author::Author,
    gallery::gallery,
    graph::{Graph, name},
    scopes,
    snapshot::all_ops,
    world::World,
};
use crate::{Blobs as _, Content, ContentKey, Reader, Run, StoredOp, memory::MemoryStore, verify};
use relaymesh_core::{
    id::{NodeId, TaskId, ThreadId},
    kernel::Rows,
    lanes::Priority,
    op::{CancelMode, Scope},
    task::spec::IdempotencyKey,
};

fn given(text: &str) -> IdempotencyKey {
    IdempotencyKey::Given(name(text).into())
}

/// A task that came to its end.
fn ended(author: &mut Author, key: &str) -> TaskId {
    let task = author.submit(&Graph::single().key(given(key)).input(0, b"in"));
    author.finish(task, 0);
    task
}

/// Rows, key, queues and the state hash forget a purged task; its ops and content stay until they are dropped.
pub fn a_purged_task_is_gone_with_its_key<B: Backend>() {
    let mut world = World::<B>::new();
    world.author.submit(&Graph::wide(3));
    world.commit();
    let before = world.snapshot();
    let task = ended(&mut world.author, "x");
    world.commit();
    assert!(world.reader().is_live(Scope::Task(task)).unwrap());
    world.author.purge(task).unwrap();
    world.commit();
    let after = world.snapshot();
    assert_eq!((world.reader().task(task).unwrap(), world.reader().task_at(2).unwrap()), (None, None));
    assert!(!world.reader().is_live(Scope::Task(task)).unwrap());
    assert_eq!(world.reader().idempotency(&name("default"), &given("x")).unwrap(), None);
    assert_eq!((after.head.state, after.counts, &after.rows), (before.head.state, before.counts, &before.rows));
    assert_eq!((after.ops.len(), after.content.len()), (5, 2));
    let again = ended(&mut world.author, "x");
    world.author.purge(again).unwrap();
    let third = world.author.submit(&Graph::single().key(given("x")));
    world.commit();
    assert_eq!(world.reader().task(again).unwrap(), None, "made and purged in one batch");
    assert_eq!(world.reader().idempotency(&name("default"), &given("x")).unwrap().unwrap().task, third);
}

/// A purged thread leaves no row.
pub fn a_purged_thread_is_gone<B: Backend>() {
    let mut world = World::<B>::new();
    let thread = ThreadId::new(1, 1);
    let message = world.author.send(thread, "reviewer", Priority::Normal);
    assert!(world.author.purge_thread(thread).is_err(), "something waits in it");
    let held = world.author.deliver(thread, message);
    world.author.acknowledge(thread, held);
    world.commit();
    assert!(world.reader().is_live(Scope::Thread(thread)).unwrap());
    world.author.purge_thread(thread).unwrap();
    world.commit();
    assert_eq!(world.reader().scope(Scope::Thread(thread)).unwrap(), None);
    assert!(!world.reader().is_live(Scope::Thread(thread)).unwrap());
    assert_eq!(world.reader().head().unwrap().state.0, 0);
}

/// A purge of rows that are not there is refused.
pub fn only_a_task_that_is_there_is_purged<B: Backend>() {
    let mut world = World::<B>::new();
    ended(&mut world.author, "x");
    world.commit();
    let mut batch = world.author.take();
    batch.purged.push(777_777);
    batch.swept_ms = Some(9);
    world.refuse(&batch);
}

/// Up to when keys may be gone only grows: of two sweeps on their way, the second may be of an earlier time.
pub fn what_was_swept_is_not_forgotten<B: Backend>() {
    let mut world = World::<B>::new();
    for (swept_ms, expected) in [(9, 9), (5, 9), (12, 12)] {
        ended(&mut world.author, &format!("x{swept_ms}"));
        let mut batch = world.author.take();
        batch.swept_ms = Some(swept_ms);
        world.try_commit(&batch).unwrap();
        assert_eq!(world.reader().life().unwrap().swept_ms, expected);
    }
}

/// Ended tasks are listed by the time of their end, in pages; a redriven one is not.
pub fn ended_tasks_are_listed_by_time<B: Backend>() {
    let mut world = World::<B>::new();
    let first = ended(&mut world.author, "a");
    let mut expected = vec![(world.author.now_ms, world.author.rows(first).task.key)];
    world.author.submit(&Graph::single());
    for text in ["b", "c", "d"] {
        world.author.now_ms += 10;
        let task = ended(&mut world.author, text);
        expected.push((world.author.now_ms, world.author.rows(task).task.key));
    }
    let redriven = world.author.submit(&Graph::single());
    world.author.cancel(redriven, CancelMode::Hard).unwrap();
    world.commit();
    assert_eq!(world.reader().ended(u64::MAX, None, 9).unwrap().len(), 5);
    world.author.redrive(redriven).unwrap();
    world.commit();
    let mut reader = world.reader();
    assert_eq!(reader.ended(u64::MAX, None, 9).unwrap(), expected);
    assert_eq!(reader.ended(u64::MAX, Some(expected[1]), 1).unwrap(), expected[2..3]);
    assert_eq!(reader.ended(expected[1].0, None, 9).unwrap(), expected[..2]);
    assert_eq!(reader.ended(expected[0].0 - 1, None, 9).unwrap(), []);
}

/// Threads are listed by the time since when nothing waits in them.
pub fn threads_at_rest_are_listed_by_time<B: Backend>() {
    let mut world = World::<B>::new();
    let threads = [3, 1, 2].map(|number| ThreadId::new(1, number));
    let mut times = Vec::new();
    for thread in threads {
        let message = world.author.send(thread, "reviewer", Priority::Low);
        world.author.now_ms += 5;
        let held = world.author.deliver(thread, message);
        world.author.acknowledge(thread, held);
        times.push((world.author.now_ms, thread));
    }
    world.author.send(threads[1], "reviewer", Priority::Low);
    world.commit();
    let mut reader = world.reader();
    assert_eq!(reader.rested(u64::MAX, 9).unwrap(), [times[0], times[2]]);
    assert_eq!(reader.rested(u64::MAX, 1).unwrap(), times[..1]);
    assert_eq!(reader.rested(times[0].0, 9).unwrap(), times[..1]);
}

/// A log of two ended tasks around one that lives; the two are purged, and a checkpoint is made.
fn purged<B: Backend>() -> (World<B>, TaskId) {
    let mut world = World::<B>::new();
    let gone = ["a", "c"].map(|text| {
        let task = ended(&mut world.author, text);
        (text == "a").then(|| world.author.submit(&Graph::chain(2).input(1, b"kept")));
        task
    });
    let kept = world.author.all_rows().find(|rows| rows.steps.len() == 2).unwrap().task.id;
    gone.into_iter().for_each(|task| world.author.purge(task).unwrap());
    world.author.checkpoint();
    world.author.submit(&Graph::single());
    world.commit();
    (world, kept)
}

fn drop_all<B: Backend>(world: &mut World<B>) -> u64 {
    let mut reader = world.reader();
    let dropped = world.author.drop_ops(&mut reader, usize::MAX);
    world.commit();
    dropped
}

/// Of a run of dropped ops one stub is left, in the place of the last; the others stay as they were, with their content.
pub fn dropped_ops_leave_a_stub_and_take_their_content_along<B: Backend>() {
    let (mut world, kept) = purged::<B>();
    let before = all_ops(&mut world.reader());
    assert_eq!(drop_all(&mut world), 8);
    let after = all_ops(&mut world.reader());
    let places: Vec<(u64, bool)> = after.iter().map(|op| (op.pos, op.stub().is_some())).collect();
    assert_eq!(places, [(3, true), (4, false), (9, true), (10, false), (11, false)]);
    assert!(after.iter().all(|op| op.hash == before[op.pos as usize - 1].hash), "hashes stay");
    let mut reader = world.reader();
    let mut content = |pos, place| reader.bytes(ContentKey::new(pos, place)).unwrap();
    assert_eq!((content(1, 0), content(3, 0), content(5, 0), content(7, 0)), (None, None, None, None));
    assert_eq!(content(4, 1).unwrap(), b"kept");
    assert!(world.reader().task(kept).unwrap().is_some());
    assert_eq!(world.reader().life().unwrap().horizon, 9);
}

/// A run that follows a stub takes it in.
pub fn runs_are_joined_to_the_stub_before_them<B: Backend>() {
    let (mut world, kept) = purged::<B>();
    drop_all(&mut world);
    world.author.cancel(kept, CancelMode::Hard).unwrap();
    world.author.purge(kept).unwrap();
    world.author.checkpoint();
    world.commit();
    assert_eq!(drop_all(&mut world), 4);
    let after = all_ops(&mut world.reader());
    let places: Vec<(u64, bool)> = after.iter().map(|op| (op.pos, op.stub().is_some())).collect();
    assert_eq!(places, [(10, true), (11, false), (13, true), (14, false)]);
}

/// A blob that two ops name stays until both are gone.
pub fn a_blob_goes_with_the_last_op_that_names_it<B: Backend>() {
    let mut world = World::<B>::new();
    let hash = {
        let blob = world.blobs().put(&[7; 20_000]).unwrap();
        for key in ["a", "b"] {
            let graph = Graph::single().key(given(key)).content(0, Content::Blob(blob.clone()));
            world.author.submit(&graph);
        }
        blob.hash
    };
    world.commit();
    let tasks: Vec<TaskId> = world.author.all_rows().map(|rows| rows.task.id).collect();
    for (task, is_there) in tasks.into_iter().zip([true, false]) {
        world.author.cancel(task, CancelMode::Hard).unwrap();
        world.author.purge(task).unwrap();
        world.author.checkpoint();
        world.commit();
        assert!(drop_all(&mut world) > 0);
        assert_eq!(world.reader().blob(&hash).unwrap().is_some(), is_there);
    }
}

/// Whatever is asked, nothing above the horizon goes.
pub fn ops_above_the_horizon_are_not_dropped<B: Backend>() {
    let (mut world, _) = purged::<B>();
    let mut batch = world.author.take();
    let stub = all_ops(&mut world.reader())[10 - 1].clone();
    batch.runs.push(Run { first: 10, stub: StoredOp { bytes: world.reader().head().unwrap().chain.stub(), ..stub } });
    world.refuse(&batch);
}

/// What happens to a repository after the horizon is not in the snapshot.
pub fn the_snapshot_is_of_the_horizon<B: Backend>() {
    let mut world = World::<B>::new();
    assert_eq!(world.reader().snapshot(None, 9).unwrap(), []);
    let held = world.author.lock("app", "src/**").unwrap();
    world.author.lock("web", "x").unwrap();
    world.author.checkpoint();
    let then = world.author.locks("app").clone();
    world.commit();
    world.author.unlock("app", held).unwrap();
    world.author.lock("new", "y").unwrap();
    world.commit();
    world.restart();
    let snapshot = world.reader().snapshot(None, 9).unwrap();
    assert_eq!(snapshot.len(), 2);
    assert!(snapshot.contains(&(scopes::repository("app"), Rows::Repository(then))));
    assert_eq!(world.reader().snapshot(Some(snapshot[0].0), 9).unwrap(), snapshot[1..]);
    assert_eq!(drop_all(&mut world), 0, "an author that made no checkpoint itself drops nothing");
    world.author.checkpoint();
    world.commit();
    assert_eq!(drop_all(&mut world), 5);
    assert_eq!(world.reader().snapshot(None, 9).unwrap().len(), 3);
}

/// A store with something of everything: half of what ended is purged.
fn rich<B: Backend>() -> World<B> {
    let mut world = World::<B>::new();
    for _ in 0..3 {
        gallery(&mut world.author);
        let held = world.author.lock("app", "src/**").unwrap();
        let made = format!("team-{}", world.author.next());
        world.author.create_namespace(&made, "a team").unwrap();
        let thread = ThreadId::new(9, world.author.next());
        let message = world.author.send(thread, "reviewer", Priority::High);
        let held_message = world.author.deliver(thread, message);
        world.author.acknowledge(thread, held_message);
        world.commit();
        let over = world.author.all_rows().filter(|rows| rows.task.status.is_terminal()).map(|rows| rows.task.id);
        for task in over.step_by(2).collect::<Vec<_>>() {
            world.author.purge(task).unwrap();
        }
        world.author.purge_thread(thread).unwrap();
        world.author.unlock("app", held).unwrap();
        world.author.begin_epoch();
    }
    world.author.lock("app", "docs/**").unwrap();
    world.author.checkpoint();
    world.commit();
    gallery(&mut world.author);
    world.commit();
    world
}

/// Every check that there is, and a rebuild whose result can be rebuilt in turn.
fn check<B: Backend>(world: &mut World<B>) {
    let mut reader = world.reader();
    verify::chain(&mut reader, verify::Checked::default(), &mut |_| {}).unwrap();
    verify::rows(&mut reader, &mut |_| {}).unwrap();
    let mut rebuilt = MemoryStore::new(NodeId::new(7, 7));
    let report = verify::rebuild(&mut reader, &mut rebuilt, &mut |_| {}).unwrap();
    assert_eq!(report.differences, []);
    let mut copy = crate::Store::reader(&rebuilt).unwrap();
    assert_eq!(copy.life().unwrap(), reader.life().unwrap());
    assert_eq!(copy.snapshot(None, 99).unwrap(), reader.snapshot(None, 99).unwrap());
    let mut again = MemoryStore::new(NodeId::new(7, 7));
    let report = verify::rebuild(&mut copy, &mut again, &mut |_| {}).unwrap();
    assert_eq!(report.differences, []);
}

/// What is left of a compacted log holds together and folds to the rows.
pub fn a_compacted_log_verifies_and_rebuilds<B: Backend>() {
    let mut world = rich::<B>();
    check(&mut world);
    let ops = all_ops(&mut world.reader()).len();
    let dropped = drop_all(&mut world);
    assert!(dropped > 30 && all_ops(&mut world.reader()).len() < ops, "{dropped} of {ops}");
    check(&mut world);
    world.restart();
    world.author.checkpoint();
    world.commit();
    drop_all(&mut world);
    check(&mut world);
}

/// So does a log of which, after any number of ops, nothing more was dropped: a crash in the middle.
pub fn a_half_compacted_log_verifies_and_rebuilds<B: Backend>() {
    let mut world = rich::<B>();
    let ops = all_ops(&mut world.reader()).len();
    for _ in 0..ops.div_ceil(7) {
        let mut reader = world.reader();
        world.author.drop_ops(&mut reader, 7);
        world.commit();
        check(&mut world);
    }
}

/// A restart changes nothing about any of this.
pub fn a_restart_keeps_what_was_let_go_of<B: Backend>() {
    let mut world = rich::<B>();
    drop_all(&mut world);
    let mut batch = world.author.take();
    batch.swept_ms = Some(77);
    world.try_commit(&batch).unwrap();
    let before = world.snapshot();
    assert_eq!(before.life.swept_ms, 77);
    world.restart();
    world.snapshot().must_equal(&before, "before the restart");
}
