//! Promises about a restart: what was committed is there, in every section, and work goes on.

use super::{
    Backend,
    author::{OWNERS, WORKERS},
    gallery::gallery,
    graph::Graph,
    snapshot::{Snapshot, all_ops},
    world::World,
};
use crate::{Error, Reader, StoredOp};
use relaymesh_core::{op::Chain, task::Status};

/// A world with something in every section, before and after a restart.
fn restarted<B: Backend>() -> (Snapshot, Snapshot) {
    let mut world = World::<B>::new();
    let tasks = gallery(&mut world.author);
    for (worker, task) in WORKERS.into_iter().zip(tasks) {
        world.author.note_heartbeat(worker);
        world.author.note_conflict(task, 0, "complete", 1);
    }
    world.commit();
    gallery(&mut world.author);
    world.commit();
    let before = world.snapshot();
    world.restart();
    (before, world.snapshot())
}

/// Head and ops are the same after a restart.
pub fn a_restart_keeps_the_log<B: Backend>() {
    let (before, after) = restarted::<B>();
    assert!(before.head.pos > 0 && !before.ops.is_empty());
    assert_eq!((after.head, after.ops), (before.head, before.ops));
}

/// Rows, lists and counts are the same after a restart.
pub fn a_restart_keeps_the_rows<B: Backend>() {
    let (before, after) = restarted::<B>();
    assert_eq!(after.rows, before.rows);
    assert_eq!((after.tasks, after.lists, after.counts), (before.tasks, before.lists, before.counts));
}

/// Queues and leases are the same after a restart.
pub fn a_restart_keeps_the_queues<B: Backend>() {
    let (before, after) = restarted::<B>();
    assert!(before.leased.iter().any(|(owner, held)| OWNERS.contains(owner) && !held.is_empty()));
    assert_eq!((after.due, after.next_due, after.leased), (before.due, before.next_due, before.leased));
}

/// Idempotency rows and content are the same after a restart.
pub fn a_restart_keeps_idempotency_and_content<B: Backend>() {
    let (before, after) = restarted::<B>();
    assert!(before.idempotency.iter().all(Option::is_some) && !before.content.is_empty());
    assert_eq!((after.idempotency, after.content), (before.idempotency, before.content));
}

/// Conflicts and heartbeats are the same after a restart.
pub fn a_restart_keeps_the_journal<B: Backend>() {
    let (before, after) = restarted::<B>();
    assert_eq!(before.conflicts.len(), 3);
    assert_eq!((after.conflicts, after.heartbeats), (before.conflicts, before.heartbeats));
}

/// A store that nothing was written to is the same node's empty store after a restart.
pub fn a_restart_of_nothing_is_nothing<B: Backend>() {
    let mut world = World::<B>::new();
    let before = world.snapshot();
    world.restart();
    world.snapshot().must_equal(&before, "the empty store before the restart");
}

/// An author that knows only what it finds goes on with the same chain and the same rows.
pub fn a_restart_goes_on_with_the_chain<B: Backend>() {
    let mut world = World::<B>::new();
    let task = world.author.submit(&Graph::chain(2));
    world.author.finish(task, 0);
    let head = world.commit().head;
    world.restart();
    world.author.finish(task, 1);
    world.commit();
    let mut reader = world.reader();
    assert_eq!(reader.task(task).unwrap().unwrap().task.status, Status::Success);
    let mut chain = Chain::new(head.chain.origin, head.chain.origin_epoch);
    for StoredOp { pos, bytes, hash } in all_ops(&mut reader) {
        chain.verify(pos, &bytes, hash).unwrap();
    }
    assert_eq!(chain, reader.head().unwrap().chain);
}

/// With a restart after every commit, nothing is lost.
pub fn many_restarts_lose_nothing<B: Backend>() {
    let mut world = World::<B>::new();
    let task = world.author.submit(&Graph::wide(10));
    for step in 0..10 {
        world.author.finish(task, step);
        world.commit();
        let before = world.snapshot();
        world.restart();
        world.snapshot().must_equal(&before, "the store before the restart");
    }
    assert_eq!(world.author.status(task), Status::Success);
}

/// While one writer lives, a second one is refused; the first goes on.
pub fn a_second_writer_is_refused<B: Backend>() {
    let mut world = World::<B>::new();
    world.author.submit(&Graph::single());
    world.commit();
    let refused = world.open_again().err().unwrap();
    assert!(matches!(refused, Error::InUse { .. }), "expected InUse, found {refused:?}");
    world.author.submit(&Graph::single());
    world.commit();
    world.restart();
    assert_eq!(world.reader().counts().unwrap().0, 2);
}

/// What was refused does not come back to life.
pub fn a_refused_batch_is_not_there_after_a_restart<B: Backend>() {
    let mut world = World::<B>::new();
    world.author.submit(&Graph::single());
    let first = world.commit();
    world.author.submit_all(5, &Graph::chain(2));
    let mut batch = world.author.take();
    batch.keys.push(first.keys[0].clone());
    world.refuse(&batch);
    let before = world.snapshot();
    world.restart();
    world.snapshot().must_equal(&before, "the store before the restart");
}
