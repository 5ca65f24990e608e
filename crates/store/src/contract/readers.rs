//! Promises about readers: what they see, and when.

use super::{Backend, gallery::gallery, graph::Graph, snapshot::Snapshot, world::World};
use crate::Reader;
use relaymesh_core::task::Status;

/// A reader made before a commit sees the batch after it, in every section.
pub fn a_reader_sees_what_is_committed_after_it_was_made<B: Backend>() {
    let mut world = World::<B>::new();
    let mut old = world.reader();
    assert_eq!(old.counts().unwrap(), (0, 0));
    let tasks = gallery(&mut world.author);
    world.author.note_conflict(tasks[0], 0, "fail", 1);
    let batch = world.commit();
    assert_eq!(old.head().unwrap(), batch.head);
    Snapshot::of(&mut old).must_equal(&world.snapshot(), "what a new reader sees");
}

/// Two readers give the same answers.
pub fn two_readers_agree<B: Backend>() {
    let mut world = World::<B>::new();
    let (mut one, mut two) = (world.reader(), world.reader());
    for _ in 0..3 {
        gallery(&mut world.author);
        world.commit();
        Snapshot::of(&mut one).must_equal(&Snapshot::of(&mut two), "what the other reader sees");
    }
}

/// A reader made before a batch was refused sees nothing of it.
pub fn a_reader_sees_nothing_of_a_refused_batch<B: Backend>() {
    let mut world = World::<B>::new();
    world.author.submit(&Graph::single());
    let first = world.commit();
    let mut old = world.reader();
    let before = Snapshot::of(&mut old);
    world.author.submit(&Graph::single());
    let mut batch = world.author.take();
    batch.keys.push(first.keys[0].clone());
    world.refuse(&batch);
    Snapshot::of(&mut old).must_equal(&before, "what it saw before");
}

/// Many readers at once are no obstacle to the writer, nor to each other.
pub fn many_readers_live_side_by_side<B: Backend>() {
    let mut world = World::<B>::new();
    let mut readers = Vec::new();
    for count in 1..=16 {
        readers.push(world.reader());
        world.author.submit(&Graph::single());
        world.commit();
        for reader in &mut readers {
            assert_eq!(reader.counts().unwrap().0, count);
        }
    }
}

/// One reader follows a task through all its commits.
pub fn an_old_reader_follows_a_task_to_its_end<B: Backend>() {
    let mut world = World::<B>::new();
    let mut reader = world.reader();
    let task = world.author.submit(&Graph::single());
    assert_eq!(reader.task(task).unwrap(), None, "not committed yet");
    world.commit();
    let mut seen = vec![reader.task(task).unwrap().unwrap().task.status];
    let held = world.author.claim(task, 0);
    world.commit();
    seen.push(reader.task(task).unwrap().unwrap().task.status);
    world.author.complete(task, held, b"1").unwrap();
    world.commit();
    seen.push(reader.task(task).unwrap().unwrap().task.status);
    assert_eq!(seen, [Status::Pending, Status::Running, Status::Success]);
}
