//! The contract's tables in text, read with a plain connection (R17).

use super::World;
use crate::schema::ulid;
use proptest::prelude::*;
use relaymesh_core::id::{StepId, TaskId};
use relaymesh_store::{
    IdempotencyRow, KeyPut, Reader, Store as _,
    contract::{author::WORKERS, graph::Graph},
};
use rusqlite::Connection;

type Text = Option<String>;

fn plain(world: &World) -> Connection {
    Connection::open(world.root().database()).unwrap()
}

#[test]
fn tasks_and_idempotency_read_as_they_are_shown() {
    let mut world = World::new();
    let task = world.finish_one();
    let open = world.author.submit(&Graph::single());
    world.commit();
    for id in [task, open] {
        let rows = world.reader().task(id).unwrap().unwrap().task;
        let sql = "SELECT status, idempotency_key, trace_id, namespace, created_at_ms, updated_at_ms FROM tasks \
                   WHERE task_id = ?1";
        let found: (String, String, String, String, u32, u32) = plain(&world)
            .query_row(sql, [id.to_string()], |row| {
                Ok((
                    row.get(0)?,
                    row.get(1)?,
                    row.get(2)?,
                    row.get(3)?,
                    row.get::<_, i64>(4)? as u32,
                    row.get::<_, i64>(5)? as u32,
                ))
            })
            .unwrap();
        let key = rows.idempotency_key.to_string();
        let trace = format!("{:032x}", rows.trace_id);
        let times = (rows.created_ms as u32, rows.updated_ms as u32);
        assert_eq!(found, (rows.status.to_string(), key.clone(), trace, rows.namespace.to_string(), times.0, times.1));

        let sql =
            "SELECT status, result_ref, result_hash, result_hash_algo FROM idempotency WHERE idempotency_key = ?1";
        let found: (String, Text, Text, String) = plain(&world)
            .query_row(sql, [key], |row| Ok((row.get(0)?, row.get(1)?, row.get(2)?, row.get(3)?)))
            .unwrap();
        let reference = rows.result_hash.map(|_| id.to_string());
        let hash = rows.result_hash.map(|hash| hash.to_string());
        assert_eq!(found, (rows.status.to_string(), reference, hash, "sha256".to_owned()));
    }
}

#[test]
fn steps_read_as_they_are_shown() {
    let mut world = World::new();
    let task = world.author.submit(&Graph::single());
    let (owner, worker) = (world.author.node(), WORKERS[0]);
    let held = world.author.try_claim(task, 0, owner, worker).unwrap();
    world.commit();
    let read = |world: &World| -> (String, String, String, i64, Text, Text, Option<i64>, i64) {
        let sql = "SELECT task_id, agent_id, status, attempt, lease_owner, lease_token, next_retry_at_ms, \
                   lease_epoch FROM steps \
                   WHERE step_id = ?1";
        let id = StepId { task, index: 0 }.to_string();
        let row = |row: &rusqlite::Row<'_>| {
            let (task, agent, status, attempt) = (row.get(0)?, row.get(1)?, row.get(2)?, row.get(3)?);
            Ok((task, agent, status, attempt, row.get(4)?, row.get(5)?, row.get(6)?, row.get(7)?))
        };
        plain(world).query_row(sql, [id], row).unwrap()
    };
    let agent = world.author.step(task, 0).spec.agent.to_string();
    let (owner, token) = (Some(owner.to_string()), Some(held.token.to_string()));
    assert_eq!(read(&world), (task.to_string(), agent.clone(), "RUNNING".to_owned(), 1, owner, token, None, 1));

    world.author.fail(task, held, true).unwrap();
    world.commit();
    let due = world.author.step(task, 0).due_ms as i64;
    assert_eq!(read(&world), (task.to_string(), agent, "RETRYING".to_owned(), 1, None, None, Some(due), 1));
}

#[test]
fn keys_of_all_kinds_read_as_they_are_shown() {
    use relaymesh_core::{hash::Hash, task::spec::IdempotencyKey};
    let mut world = World::new();
    let keys = [IdempotencyKey::Request(Hash::sha256(b"x")), IdempotencyKey::Given("my-own.key".parse().unwrap())];
    for key in keys {
        world.author.submit(&Graph::single().key(key.clone()));
        world.commit();
        let sql = "SELECT count(*) FROM idempotency WHERE idempotency_key = ?1";
        let found: i64 = plain(&world).query_row(sql, [key.to_string()], |row| row.get(0)).unwrap();
        assert_eq!(found, 1, "{key}");
    }
}

proptest! {
    #[test]
    fn sql_spells_every_ulid_as_we_do(bytes: [u8; 16]) {
        let connection = Connection::open_in_memory().unwrap();
        let sql = format!("SELECT 'tsk_' || {}", ulid("?1"));
        let found: String = connection.query_row(&sql, [&bytes[..]], |row| row.get(0)).unwrap();
        prop_assert_eq!(found, TaskId::from_bytes(bytes).to_string());
    }
}

#[test]
fn r17_an_ended_task_keeps_its_key_in_the_view_when_its_time_is_over() {
    let mut world = World::new();
    let task = world.finish_one();
    let rows = world.reader().task(task).unwrap().unwrap().task;
    let mut batch = world.author.take();
    batch.keys.push(KeyPut::Removed(IdempotencyRow::of(&rows)));
    world.store().commit(&batch).unwrap();
    let sql = "SELECT (SELECT count(*) FROM idempotency), idempotency_key FROM tasks WHERE task_id = ?1";
    let found: (i64, Text) =
        plain(&world).query_row(sql, [task.to_string()], |row| Ok((row.get(0)?, row.get(1)?))).unwrap();
    assert_eq!(found, (0, Some(rows.idempotency_key.to_string())));
}
