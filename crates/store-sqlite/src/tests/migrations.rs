//! Numbered migrations: applied once, recognised, and never guessed at.

use super::World;
use crate::schema::{self, MIGRATIONS, Migration, SCHEMA_VERSION};
use relaymesh_store::{Error, Reader as _};
use rusqlite::Connection;

fn edit(world: &World, sql: &str) {
    Connection::open(world.root().database()).unwrap().execute_batch(sql).unwrap();
}

fn unusable(world: &World) -> String {
    match world.open() {
        Err(Error::Unusable { detail }) => detail,
        other => panic!("expected unusable, found {other:?}"),
    }
}

#[test]
fn versions_count_up_from_one() {
    let versions: Vec<i64> = MIGRATIONS.iter().map(|migration| migration.version).collect();
    assert_eq!(versions, (1..=SCHEMA_VERSION).collect::<Vec<_>>());
}

#[test]
fn each_migration_is_recorded_and_applied_once() {
    let mut connection = Connection::open_in_memory().unwrap();
    let more = || {
        let known = MIGRATIONS.iter().map(|m| Migration { version: m.version, description: "", sql: m.sql });
        let sql = "CREATE TABLE more (a INTEGER) STRICT;";
        known.chain([Migration { version: SCHEMA_VERSION + 1, description: "one more", sql }]).collect::<Vec<_>>()
    };
    schema::migrate(&mut connection, MIGRATIONS, 7).unwrap();
    schema::migrate(&mut connection, &more(), 8).unwrap();
    schema::migrate(&mut connection, &more(), 9).unwrap();
    let mut statement = connection.prepare("SELECT version, applied_at_ms, success FROM schema_migrations").unwrap();
    let rows = statement.query_map([], |row| Ok((row.get(0)?, row.get(1)?, row.get(2)?))).unwrap();
    let expected: Vec<_> =
        (1..=SCHEMA_VERSION).map(|version| (version, 7, 1)).chain([(SCHEMA_VERSION + 1, 8, 1)]).collect();
    assert_eq!(rows.collect::<Result<Vec<(i64, i64, i64)>, _>>().unwrap(), expected);
}

#[test]
fn a_migration_that_fails_leaves_nothing_behind() {
    let mut connection = Connection::open_in_memory().unwrap();
    let sql = "CREATE TABLE half (a INTEGER) STRICT; INSERT INTO nowhere VALUES (1);";
    assert!(schema::migrate(&mut connection, &[Migration { version: 1, description: "", sql }], 0).is_err());
    let tables: i64 = connection.query_row("SELECT count(*) FROM sqlite_schema", [], |row| row.get(0)).unwrap();
    assert_eq!(tables, 0);
}

const BACK_TO_V1: &str = include_str!("back_to_v1.sql");

/// A store of the first schema, as an older relaymesh left it: readers say what to do, and the writer does it.
#[test]
fn an_older_store_is_brought_up_to_date_by_its_writer() {
    let mut world = World::new();
    let task = world.finish_one();
    let before = world.reader().task(task).unwrap();
    world.close();
    edit(&world, BACK_TO_V1);
    let Err(Error::Unusable { detail }) = crate::SqliteReader::open(world.root().folder()) else { panic!("too old") };
    assert!(detail.contains("schema 1") && detail.contains("relaymesh init"), "{detail}");
    world.store = Some(world.open().unwrap());
    assert_eq!(world.reader().task(task).unwrap(), before);
    assert_eq!(world.reader().ended(u64::MAX, None, 9).unwrap().len(), 1);
    world.finish_one();
    assert_eq!(world.reader().head().unwrap().pos, 6);
}

#[test]
fn a_newer_schema_is_refused_and_nothing_is_changed() {
    let mut world = World::new();
    world.finish_one();
    world.close();
    edit(&world, "PRAGMA user_version = 99; DROP VIEW tasks;");
    let before = std::fs::read(world.root().database()).unwrap();
    let detail = unusable(&world);
    assert!(detail.contains("schema 99") && detail.contains("newer relaymesh"), "{detail}");
    assert!(matches!(crate::SqliteReader::open(world.root().folder()), Err(Error::Unusable { .. })));
    assert_eq!(std::fs::read(world.root().database()).unwrap(), before);
}

#[test]
fn a_migration_that_somebody_changed_is_refused() {
    let mut world = World::new();
    world.close();
    edit(&world, "UPDATE schema_migrations SET checksum = 'x'");
    assert!(unusable(&world).contains("migration 1 has checksum x"), "the first that differs");
    edit(&world, "UPDATE schema_migrations SET success = 0");
    assert!(unusable(&world).contains("migration 1 did not finish"));
    edit(&world, "DELETE FROM schema_migrations");
    assert!(unusable(&world).contains("migration 1 is not recorded"));
}

#[test]
fn a_file_of_another_program_is_refused() {
    let mut world = World::new();
    world.close();
    edit(&world, "PRAGMA application_id = 7");
    assert!(unusable(&world).contains("not a relaymesh store"));
}

#[test]
fn views_follow_the_program() {
    let mut world = World::new();
    world.close();
    edit(&world, "DROP VIEW tasks; CREATE VIEW tasks AS SELECT 1 AS old;");
    drop(world.open().unwrap());
    let connection = Connection::open(world.root().database()).unwrap();
    connection.prepare("SELECT idempotency_key FROM tasks").unwrap();
}
