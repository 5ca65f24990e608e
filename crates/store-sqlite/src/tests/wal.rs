//! The write-ahead log stays short, and is gone after a clean end.

use super::World;
use crate::{Options, SqliteStore, Sync};
use relaymesh_store::{Batch, Reader, Store, contract::graph::Graph, verify};

const MIB: u64 = 1 << 20;

/// Commits a few times what the log may hold, and gives how long it was at its longest. A sixteenth of the usual sizes,
/// so that the test is quick.
fn longest_log(prepare: impl FnOnce(&mut SqliteStore)) -> u64 {
    let mut world = World::new();
    world.close();
    let options = Options { checkpoint_bytes: MIB / 4, wal_bytes_max: 4 * MIB, sync: Sync::Off, ..Options::default() };
    let mut store = SqliteStore::open(world.root().folder(), &options).unwrap();
    prepare(&mut store);
    let batches: Vec<Batch> = (0..300)
        .map(|_| {
            world.author.submit_all(40, &Graph::single());
            world.author.take()
        })
        .collect();
    let mut longest = 0;
    for batch in &batches {
        store.commit(batch).unwrap();
        longest = longest.max(std::fs::metadata(world.root().wal()).unwrap().len());
    }
    longest
}

#[test]
fn the_log_stays_bounded_under_sustained_commits() {
    let longest = longest_log(|_| {});
    assert!(longest < 8 * MIB, "it grew to {longest} bytes");
}

#[test]
fn the_writer_alone_keeps_the_log_bounded() {
    let longest = longest_log(|store| store.checkpointer.stop());
    assert!((4 * MIB..8 * MIB).contains(&longest), "it grew to {longest} bytes");
}

#[test]
fn a_clean_end_leaves_one_whole_file() {
    let mut world = World::new();
    world.finish_one();
    assert!(std::fs::metadata(world.root().wal()).unwrap().len() > 0);
    world.close();
    assert_eq!(std::fs::metadata(world.root().wal()).map_or(0, |found| found.len()), 0);
    assert_eq!(world.reader().head().unwrap().pos, 3);
}

#[test]
fn a_crash_leaves_the_log_and_loses_nothing() {
    let mut world = World::new();
    world.finish_one();
    let head = world.store().head().clone();
    world.crash();
    assert!(std::fs::metadata(world.root().wal()).unwrap().len() > 0);
    assert_eq!(world.open().unwrap().head(), &head);
}

#[test]
fn a_reader_that_holds_still_sees_one_moment_and_can_be_verified_beside_a_writer() {
    let mut world = World::new();
    world.finish_one();
    let mut reader = world.store().reader().unwrap();
    reader.hold_still().unwrap();
    let head = reader.head().unwrap();
    world.finish_one();
    assert_eq!(reader.head().unwrap(), head);
    assert_eq!(verify::rows(&mut reader, &mut |_| ()).unwrap().tasks, 1);
    let checked = verify::chain(&mut reader, verify::Checked::default(), &mut |_| ()).unwrap();
    assert_eq!(checked.pos, head.pos);
    assert_eq!(verify::rows(&mut world.store().reader().unwrap(), &mut |_| ()).unwrap().tasks, 2);
}
