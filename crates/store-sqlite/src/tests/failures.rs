//! What each failure of a commit does, and does not do (D2, D32).

use super::World;
use crate::{Options, SqliteStore};
use relaymesh_store::{
    Error, Reader, Store,
    contract::{graph::Graph, snapshot::Snapshot},
};
use rusqlite::ffi;

#[test]
fn a_full_database_refuses_and_goes_on_once_there_is_room() {
    let mut world = World::new();
    world.finish_one();
    let before = Snapshot::of(&mut world.reader());
    let limit = |world: &mut World, pages: i64| {
        let sql = format!("PRAGMA max_page_count = {pages}");
        world.store().connection.query_row(&sql, [], |row| row.get::<_, i64>(0)).unwrap()
    };
    let usual = limit(&mut world, 4_294_967_294);
    limit(&mut world, 1);
    world.author.submit_all(2_000, &Graph::single());
    let batch = world.author.take();
    let Err(Error::Full { detail }) = world.store().commit(&batch) else { panic!("there is no room") };
    assert!(detail.contains("Nothing was changed"), "{detail}");
    Snapshot::of(&mut world.reader()).must_equal(&before, "the store before it was full");
    limit(&mut world, usual);
    world.store().commit(&batch).unwrap();
    assert_eq!(world.reader().head().unwrap(), batch.head);
    world.close();
    assert_eq!(world.open().unwrap().head(), &batch.head);
}

#[test]
fn too_little_free_space_is_refused_before_anything_is_touched() {
    let mut world = World::new();
    world.close();
    let options = Options { min_free_disk_bytes: u64::MAX, ..Options::default() };
    let mut store = SqliteStore::open(world.root().folder(), &options).unwrap();
    world.author.submit(&Graph::single());
    let batch = world.author.take();
    for _ in 0..2 {
        let Err(Error::Full { detail }) = store.commit(&batch) else { panic!("nobody has that much room") };
        assert!(detail.contains("min_free_disk_bytes"), "{detail}");
    }
    drop(store);
    world.open().unwrap().commit(&batch).unwrap();
}

/// Arms the statement, commits, and gives the error and whether the store is poisoned for good.
fn fail(statement: &'static str, code: i32) -> (Error, bool) {
    let mut world = World::new();
    world.finish_one();
    let before = world.store().head().clone();
    world.author.submit(&Graph::single());
    let batch = world.author.take();
    world.store().faults.arm(statement, code);
    let error = world.store().commit(&batch).unwrap_err();
    let poisoned = matches!(world.store().commit(&batch), Err(Error::Poisoned { .. }));
    if poisoned {
        // A journal alone is refused as well, and a new start settles it: all of the batch or none.
        assert!(world.store().commit(&relaymesh_store::Batch::new(before.clone())).is_err());
        world.close();
        let head = world.open().unwrap().head().clone();
        assert!(head == before || head == batch.head);
    } else {
        assert_eq!(world.reader().head().unwrap(), batch.head, "the second try went through");
    }
    (error, poisoned)
}

#[test]
fn an_io_error_anywhere_is_poison() {
    for statement in ["BEGIN IMMEDIATE", "WRITE", "COMMIT"] {
        for code in [ffi::SQLITE_IOERR, ffi::SQLITE_IOERR_FSYNC, ffi::SQLITE_IOERR_WRITE] {
            let (error, poisoned) = fail(statement, code);
            assert!(poisoned && matches!(error, Error::Poisoned { .. }), "{statement} {code}: {error:?}");
        }
    }
}

#[test]
fn no_room_at_any_statement_changes_nothing() {
    for statement in ["BEGIN IMMEDIATE", "WRITE", "COMMIT"] {
        let (error, poisoned) = fail(statement, ffi::SQLITE_FULL);
        assert!(!poisoned && matches!(error, Error::Full { .. }), "{statement}: {error:?}");
    }
}

#[test]
fn any_other_error_of_a_commit_is_poison() {
    for code in [ffi::SQLITE_CORRUPT, ffi::SQLITE_NOMEM, ffi::SQLITE_CONSTRAINT] {
        assert!(fail("COMMIT", code).1, "{code}");
    }
}

#[test]
fn errors_before_the_commit_are_undone_and_told_apart() {
    assert!(matches!(fail("WRITE", ffi::SQLITE_CONSTRAINT), (Error::Conflict { .. }, false)));
    assert!(matches!(fail("WRITE", ffi::SQLITE_CORRUPT), (Error::Damaged { .. }, false)));
    assert!(matches!(fail("WRITE", ffi::SQLITE_NOMEM), (Error::Io { .. }, false)));
    assert!(matches!(fail("BEGIN IMMEDIATE", ffi::SQLITE_BUSY), (Error::InUse { .. }, false)));
}

#[test]
fn a_rollback_that_fails_is_poison() {
    let mut world = World::new();
    world.author.submit(&Graph::single());
    let batch = world.author.take();
    world.store().faults.arm("WRITE", ffi::SQLITE_CONSTRAINT);
    world.store().faults.arm("ROLLBACK", ffi::SQLITE_NOMEM);
    let error = world.store().commit(&batch).unwrap_err();
    assert!(matches!(error, Error::Poisoned { .. }), "{error:?}");
    assert!(matches!(world.store().commit(&batch), Err(Error::Poisoned { .. })));
}

#[test]
fn poison_names_its_first_cause() {
    let world = World::new();
    let poison = &world.store.as_ref().unwrap().poison;
    poison.set("the first");
    let error = poison.set("the second").to_string();
    assert!(error.contains("the first") && !error.contains("the second"), "{error}");
}
