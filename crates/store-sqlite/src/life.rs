//! What is over: rows that are purged, ops that go, and what stands in for them.
//!
//! Old ops go in runs, each by one range of their keys, with the content under the same numbers; so letting go of many is
//! cheap, and beside live work it is done a little at a time.

use crate::{columns, commit::Failure, failure, scopes};
use relaymesh_core::{hash::Hash, id::ThreadId, kernel::Rows, op::Scope};
use relaymesh_store::{Batch, ContentKey, Error, Life, Run, StepKey, scope::scope_bytes};
use rusqlite::{Connection, OptionalExtension, Row};

pub(crate) const ENDED: &str = "SELECT updated_at_ms, task_key FROM task_rows INDEXED BY idx_idempotency_processed_at \
     WHERE status >= 4 AND (updated_at_ms, task_key) > (?1, ?2) AND updated_at_ms <= ?3 \
     ORDER BY updated_at_ms, task_key LIMIT ?4";
pub(crate) const RESTED: &str = "SELECT rested_ms, scope FROM scope_rows INDEXED BY idx_threads_rested \
     WHERE rested_ms IS NOT NULL AND rested_ms <= ?1 ORDER BY rested_ms, scope LIMIT ?2";
/// The scopes that [`relaymesh_store::life::in_snapshot`] names: those whose bytes begin with a 2 or a 4.
const SNAPSHOT: &str = "INSERT INTO snapshot_rows SELECT scope, part, sum, row FROM scope_rows \
     WHERE scope >= x'02' AND scope < x'03' OR scope >= x'04' AND scope < x'05'";

/// The rows of tasks that were purged.
pub(crate) fn purge(connection: &Connection, keys: &[u64]) -> Result<(), Failure> {
    for key in keys {
        let mut task = connection.prepare_cached("DELETE FROM task_rows WHERE task_key = ?1")?;
        if task.execute([columns::int(*key)?])? != 1 {
            return Err(Failure::Conflict(format!("there is no task row {key} to purge")));
        }
        let bound = |key| columns::int(StepKey::new(key, 0).raw());
        let mut steps = connection.prepare_cached("DELETE FROM step_rows WHERE step_key >= ?1 AND step_key < ?2")?;
        steps.execute([bound(*key)?, bound(*key + 1)?])?;
    }
    Ok(())
}

/// What goes, and how far. Gives the blobs that one piece of content less names.
pub(crate) fn write(connection: &Connection, batch: &Batch) -> Result<Vec<Hash>, Failure> {
    let mut loose = Vec::new();
    if !batch.runs.is_empty() {
        let horizon = batch.horizon.map_or_else(|| read(connection).map(|life| life.horizon), Ok)?;
        for run in &batch.runs {
            drop_run(connection, run, horizon, &mut loose)?;
        }
    }
    if let Some(horizon) = batch.horizon {
        connection.execute("UPDATE log_life SET horizon = ?1", [columns::int(horizon)?])?;
        connection.execute("DELETE FROM snapshot_rows", [])?;
        connection.execute(SNAPSHOT, [])?;
    }
    if let Some(swept_ms) = batch.swept_ms {
        connection.execute("UPDATE log_life SET swept_at_ms = max(swept_at_ms, ?1)", [columns::time(swept_ms)])?;
    }
    Ok(loose)
}

fn drop_run(connection: &Connection, run: &Run, horizon: u64, loose: &mut Vec<Hash>) -> Result<(), Failure> {
    let (first, last) = (run.first, run.stub.pos);
    if last > horizon || first > last {
        return Err(Failure::Conflict(format!("ops {first} to {last} are not below {horizon}")));
    }
    let content = [ContentKey::new(first, 0), ContentKey::new(last + 1, 0)].map(|key| columns::int(key.raw()));
    let [from, to] = content;
    let range = [from?, to?];
    let sql = "SELECT blob_hash FROM content WHERE content_key >= ?1 AND content_key < ?2 AND blob_hash IS NOT NULL";
    for hash in connection.prepare_cached(sql)?.query_map(range, |row| row.get(0).map(Hash))? {
        loose.push(hash?);
    }
    connection.prepare_cached("DELETE FROM content WHERE content_key >= ?1 AND content_key < ?2")?.execute(range)?;
    let ops = [columns::int(first)?, columns::int(last)?];
    connection.prepare_cached("DELETE FROM op_log WHERE pos >= ?1 AND pos <= ?2")?.execute(ops)?;
    let mut insert = connection.prepare_cached("INSERT INTO op_log (pos, bytes, hash) VALUES (?1, ?2, ?3)")?;
    insert.execute((ops[1], &run.stub.bytes[..], &run.stub.hash.0[..]))?;
    Ok(())
}

/// Whether some content names the blob.
pub(crate) fn is_named(connection: &Connection, hash: &Hash) -> rusqlite::Result<bool> {
    let sql = "SELECT 1 FROM content INDEXED BY idx_content_blob WHERE blob_hash = ?1 LIMIT 1";
    Ok(connection.prepare_cached(sql)?.query_row([&hash.0[..]], |_| Ok(())).optional()?.is_some())
}

/// How far the store has let go.
pub(crate) fn life(connection: &Connection) -> Result<Life, Error> {
    read(connection).map_err(|error| failure::sqlite("cannot read how far the log was let go of", &error))
}

fn read(connection: &Connection) -> rusqlite::Result<Life> {
    let mut statement = connection.prepare_cached("SELECT horizon, swept_at_ms FROM log_life WHERE id = 1")?;
    statement
        .query_row([], |row| Ok(Life { horizon: columns::unsigned(row, 0)?, swept_ms: columns::unsigned(row, 1)? }))
}

/// Tasks that have ended, by the time of their end.
pub(crate) fn ended(
    connection: &Connection,
    until_ms: u64,
    after: Option<(u64, u64)>,
    limit: usize,
) -> Result<Vec<(u64, u64)>, Error> {
    let (time, key) = after.map_or((-1, -1), |(ms, key)| (columns::time(ms), columns::time(key)));
    let values = (time, key, columns::time(until_ms), crate::rows::count(limit));
    let ask = || {
        let mut statement = connection.prepare_cached(ENDED)?;
        let entry = |row: &Row<'_>| Ok((columns::unsigned(row, 0)?, columns::unsigned(row, 1)?));
        statement.query_map(values, entry)?.collect::<rusqlite::Result<_>>()
    };
    ask().map_err(|error| failure::sqlite("cannot list ended tasks", &error))
}

/// Threads at rest, by the time since when.
pub(crate) fn rested(connection: &Connection, until_ms: u64, limit: usize) -> Result<Vec<(u64, ThreadId)>, Error> {
    let ask = || {
        let mut statement = connection.prepare_cached(RESTED)?;
        let entry = |row: &Row<'_>| Ok((columns::unsigned(row, 0)?, row.get::<_, Vec<u8>>(1)?));
        let values = (columns::time(until_ms), crate::rows::count(limit));
        statement.query_map(values, entry)?.collect::<rusqlite::Result<Vec<_>>>()
    };
    let found = ask().map_err(|error| failure::sqlite("cannot list threads at rest", &error))?;
    let thread = |(ms, bytes): (u64, Vec<u8>)| match scopes::known(&bytes)? {
        Scope::Thread(thread) => Ok((ms, thread)),
        Scope::Task(_)
        | Scope::Repository(_)
        | Scope::Namespace(_)
        | Scope::Plan(_)
        | Scope::Register(_)
        | Scope::Log => Err(failure::damaged("what rests is no thread")),
    };
    found.into_iter().map(thread).collect()
}

/// Whether there are rows of this scope.
pub(crate) fn is_live(connection: &Connection, scope: Scope) -> Result<bool, Error> {
    let ask = || match scope {
        Scope::Task(task) => {
            let mut statement = connection.prepare_cached("SELECT 1 FROM task_rows WHERE task_id = ?1")?;
            Ok(statement.query_row([&task.to_bytes()[..]], |_| Ok(())).optional()?.is_some())
        }
        Scope::Thread(_) | Scope::Repository(_) | Scope::Namespace(_) | Scope::Plan(_) | Scope::Register(_) => {
            let mut statement = connection.prepare_cached("SELECT 1 FROM scope_rows WHERE scope = ?1 LIMIT 1")?;
            Ok(statement.query_row([&scope_bytes(scope)[..]], |_| Ok(())).optional()?.is_some())
        }
        Scope::Log => Ok(true),
    };
    ask().map_err(|error: rusqlite::Error| failure::sqlite("cannot look a scope up", &error))
}

/// The repositories and namespaces as they were at the horizon.
pub(crate) fn snapshot(
    connection: &Connection,
    after: Option<Scope>,
    limit: usize,
) -> Result<Vec<(Scope, Rows)>, Error> {
    let found = scopes::listed(connection, "snapshot_rows", after, limit)?;
    let rows = |scope| Ok(scopes::rows_in(connection, "snapshot_rows", "0", scope)?.map(|rows| (scope, rows)));
    found.into_iter().map(rows).filter_map(Result::transpose).collect()
}
