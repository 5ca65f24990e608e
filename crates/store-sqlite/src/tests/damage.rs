//! The start check and the reader find what was bent behind the store's back.

use super::World;
use crate::{Options, SqliteStore};
use relaymesh_store::{Error, Reader, contract::graph::Graph};
use rusqlite::Connection;

/// Edits the file of a closed store, and says what the next open finds.
fn after(sql: &str) -> String {
    let mut world = World::new();
    (0..3).for_each(|_| _ = world.finish_one());
    world.close();
    Connection::open(world.root().database()).unwrap().execute_batch(sql).unwrap();
    match world.open() {
        Err(Error::Damaged { detail } | Error::Amnesia { detail }) => detail,
        other => panic!("{sql}: expected damage, found {other:?}"),
    }
}

#[test]
fn every_kind_of_damage_is_found_at_open() {
    for (sql, said) in [
        ("UPDATE op_log SET bytes = zeroblob(length(bytes)) WHERE pos = 4", "op 4"),
        ("UPDATE op_log SET hash = zeroblob(32) WHERE pos = 2", "op 2"),
        ("DELETE FROM op_log WHERE pos = 5", "op 5 is missing"),
        ("DELETE FROM op_log WHERE pos = 1", "op 1 is missing"),
        ("DELETE FROM op_log WHERE pos = 9", "acknowledged"),
        ("UPDATE log_head SET seq = 8", "the head says sequence 8"),
        ("UPDATE log_head SET state = zeroblob(16)", "state hash"),
        ("DELETE FROM log_head", "head row"),
        ("UPDATE task_rows SET row = zeroblob(length(row)) WHERE task_key = 1", "task row of tsk_"),
        ("UPDATE task_rows SET status = 2 WHERE task_key = 1", "different things"),
        ("UPDATE step_rows SET row = zeroblob(length(row))", "step 0 row of tsk_"),
        ("UPDATE step_rows SET queue = 1, due_ms = 0", "different things"),
        ("DELETE FROM step_rows WHERE step_key = 4096", "state hash"),
        ("DELETE FROM task_rows WHERE task_key = 1", "step rows"),
        ("DELETE FROM idempotency_rows", "idempotency row of tsk_"),
        ("UPDATE idempotency_rows SET task_key = 4", "does not fit"),
    ] {
        let found = after(sql);
        assert!(found.contains(said), "{sql}: {found}");
    }
}

#[test]
fn a_long_log_is_checked_at_its_tail() {
    let mut world = World::new();
    (0..5).for_each(|_| _ = world.finish_one());
    world.close();
    let open = |ops: u64| {
        let options = Options { verify_ops_at_open: ops, ..Options::default() };
        SqliteStore::open(world.root().folder(), &options).map(drop)
    };
    for ops in [0, 1, 2, 7, 14, 15, 16] {
        assert_eq!(open(ops), Ok(()), "{ops}");
    }
    let edit = |sql: &str| Connection::open(world.root().database()).unwrap().execute_batch(sql).unwrap();
    edit("UPDATE op_log SET hash = zeroblob(32) WHERE pos = 6");
    assert_eq!(open(9 - 1), Ok(()), "op 6 is before the tail");
    assert!(matches!(open(9), Err(Error::Damaged { .. })), "op 7 follows op 6");
    assert!(matches!(open(100), Err(Error::Damaged { .. })));
}

#[test]
fn an_op_of_a_newer_program_is_no_damage() {
    let mut world = World::new();
    world.finish_one();
    world.author.submit(&Graph::single());
    let mut batch = world.author.take();
    let before = world.store().head().chain.head;
    batch.ops[0].bytes[0] = 200;
    batch.ops[0].hash = relaymesh_core::op::link_hash(&before, &batch.ops[0].bytes);
    batch.head.chain.head = batch.ops[0].hash;
    relaymesh_store::Store::commit(world.store(), &batch).unwrap();
    world.close();
    let Err(Error::Unusable { detail }) = world.open() else { panic!("format 200 is not known") };
    assert!(detail.contains("newer relaymesh"), "{detail}");
}

#[test]
fn a_reader_gives_damage_and_never_a_wrong_answer() {
    let mut world = World::new();
    let task = world.finish_one();
    let edit = |sql: &str| Connection::open(world.root().database()).unwrap().execute_batch(sql).unwrap();
    edit("UPDATE step_rows SET lease_owner = zeroblob(16)");
    assert!(matches!(world.reader().task(task), Err(Error::Damaged { .. })));
    edit("DELETE FROM op_log WHERE pos = 2");
    assert!(matches!(world.reader().ops(0, 10), Err(Error::Damaged { .. })));
    edit("UPDATE task_rows SET sum = zeroblob(16)");
    assert!(matches!(world.reader().task_at(1), Err(Error::Damaged { .. })));
    assert!(matches!(world.reader().tasks(&Default::default(), None, 9), Err(Error::Damaged { .. })));
}

#[test]
fn a_disk_that_is_gone_is_not_called_damage() {
    let mut world = World::new();
    world.finish_one();
    let blob = relaymesh_store::Blobs::put(&world.store().blobs, &[7; 9_000]).unwrap();
    let mut reader = world.reader();
    world.close();
    // What an unmounted disk leaves behind is an empty folder.
    let folder = world.root().folder().to_owned();
    for entry in std::fs::read_dir(&folder).unwrap() {
        let path = entry.unwrap().path();
        if path.is_dir() { std::fs::remove_dir_all(path) } else { std::fs::remove_file(path) }.unwrap();
    }
    let is_io = |found: Result<(), Error>| matches!(&found, Err(Error::Io { detail }) if detail.contains("mounted"));
    assert!(is_io(reader.remembers(&folder)), "{:?}", reader.remembers(&folder));
    assert!(is_io(reader.blob(&blob.hash).map(drop)));
    assert!(is_io(SqliteStore::open(&folder, &Options::default()).map(drop)));
}
