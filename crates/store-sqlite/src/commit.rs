//! Writing a batch inside a transaction: THE hot path.
//!
//! Each statement is prepared once in the life of the connection and bound by position; sections are written one after
//! the other, so that each tree is walked along its right edge. New rows are INSERTed and old ones UPDATEd by key, never
//! "or replaced": a row that is there when it should not be, or the other way round, is a conflict and undoes it all.

use crate::{columns, head, life, scopes, spends, traffic};
use relaymesh_core::{hash::Hash, row::RowSum};
use relaymesh_store::{Batch, Content, Error, IdempotencyRow, KeyPut, StepPut, TaskPut};
use rusqlite::{CachedStatement, Connection};

/// Why a batch cannot be written. The transaction is still open, or SQLite has undone it.
#[derive(Debug)]
pub(crate) enum Failure {
    /// The rows that are there do not fit.
    Conflict(String),
    /// SQLite said no.
    Sqlite(rusqlite::Error),
}

impl From<rusqlite::Error> for Failure {
    fn from(error: rusqlite::Error) -> Self {
        Self::Sqlite(error)
    }
}

/// Writes everything; the caller commits or undoes. Gives the blobs that some content does not name any more.
pub(crate) fn write(connection: &Connection, batch: &Batch) -> Result<Vec<Hash>, Failure> {
    ops(connection, batch)?;
    tasks(connection, &batch.tasks)?;
    steps(connection, &batch.steps)?;
    keys(connection, &batch.keys)?;
    life::purge(connection, &batch.purged)?;
    scopes::write(connection, &batch.scopes)?;
    content(connection, batch)?;
    let loose = life::write(connection, batch)?;
    journals(connection, batch)?;
    if !head::update(connection, &batch.head)? {
        return Err(Failure::Conflict("the head row of the log is missing".to_owned()));
    }
    Ok(loose)
}

fn ops(connection: &Connection, batch: &Batch) -> Result<(), Failure> {
    if batch.ops.is_empty() {
        return Ok(());
    }
    let mut insert = connection.prepare_cached("INSERT INTO op_log (pos, bytes, hash) VALUES (?1, ?2, ?3)")?;
    for op in &batch.ops {
        insert.execute((columns::int(op.pos)?, &op.bytes[..], &op.hash.0[..]))?;
    }
    Ok(())
}

fn tasks(connection: &Connection, tasks: &[TaskPut]) -> Result<(), Failure> {
    if tasks.is_empty() {
        return Ok(());
    }
    let mut insert = connection.prepare_cached(
        "INSERT INTO task_rows (task_key, task_id, namespace, status, trace_id, created_at_ms, updated_at_ms, \
         result_hash, sum, row) VALUES (?1, ?2, ?3, ?4, ?5, ?6, ?7, ?8, ?9, ?10)",
    )?;
    let mut update = connection.prepare_cached(
        "UPDATE task_rows SET status = ?2, updated_at_ms = ?3, result_hash = ?4, sum = ?5, row = ?6 WHERE task_key = ?1",
    )?;
    for task in tasks {
        let key = columns::int(task.key)?;
        let (status, updated_ms) = (task.status as u8, columns::time(task.updated_ms));
        let result_hash = task.result_hash.as_ref().map(|hash| &hash.0[..]);
        if task.created {
            insert.execute((
                key,
                &task.id.to_bytes()[..],
                task.namespace.as_str(),
                status,
                &task.trace_id.to_be_bytes()[..],
                columns::time(task.created_ms),
                updated_ms,
                result_hash,
                &sum(task.sum)[..],
                &task.bytes[..],
            ))?;
        } else {
            let changed =
                update.execute((key, status, updated_ms, result_hash, &sum(task.sum)[..], &task.bytes[..]))?;
            must_be_there(changed, || format!("there is no task row {} ({}) to change", task.key, task.id))?;
        }
    }
    Ok(())
}

fn steps(connection: &Connection, steps: &[StepPut]) -> Result<(), Failure> {
    if steps.is_empty() {
        return Ok(());
    }
    let mut insert = connection.prepare_cached(
        "INSERT INTO step_rows (step_key, status, attempt, queue, due_ms, lease_owner, lease_token, result_pos, \
         updated_at_ms, sum, row, artifact_pos, lease_epoch, agent) \
         VALUES (?1, ?2, ?3, ?4, ?5, ?6, ?7, ?8, ?9, ?10, ?11, ?12, ?13, ?14)",
    )?;
    let mut update = connection.prepare_cached(
        "UPDATE step_rows SET status = ?2, attempt = ?3, queue = ?4, due_ms = ?5, lease_owner = ?6, lease_token = ?7, \
         result_pos = ?8, updated_at_ms = ?9, sum = ?10, row = ?11, artifact_pos = ?12, lease_epoch = ?13 \
         WHERE step_key = ?1",
    )?;
    for step in steps {
        if step.created {
            bind_step(&mut insert, step)?;
            insert.raw_bind_parameter(14, step.agent.as_str())?;
            insert.raw_execute()?;
        } else {
            bind_step(&mut update, step)?;
            let changed = update.raw_execute()?;
            let (task, place) = (step.key.task(), step.key.place());
            must_be_there(changed, || format!("there is no step row {task}/{place} to change"))?;
        }
    }
    Ok(())
}

/// The thirteen values that both statements for steps begin with.
fn bind_step(statement: &mut CachedStatement<'_>, step: &StepPut) -> rusqlite::Result<()> {
    let (queue, due_ms) = columns::queue(step.queue);
    let lease = step.lease.map(|(owner, token)| (owner.to_bytes(), token.to_bytes()));
    statement.raw_bind_parameter(1, columns::int(step.key.raw())?)?;
    statement.raw_bind_parameter(2, step.status as u8)?;
    statement.raw_bind_parameter(3, step.attempt)?;
    statement.raw_bind_parameter(4, queue)?;
    statement.raw_bind_parameter(5, due_ms)?;
    statement.raw_bind_parameter(6, lease.as_ref().map(|(owner, _)| &owner[..]))?;
    statement.raw_bind_parameter(7, lease.as_ref().map(|(_, token)| &token[..]))?;
    statement.raw_bind_parameter(8, columns::int(step.result_pos)?)?;
    statement.raw_bind_parameter(9, columns::time(step.updated_ms))?;
    statement.raw_bind_parameter(10, &sum(step.sum)[..])?;
    statement.raw_bind_parameter(11, &step.bytes[..])?;
    statement.raw_bind_parameter(12, columns::positions(&step.artifact_pos))?;
    statement.raw_bind_parameter(13, step.epoch)
}

fn keys(connection: &Connection, keys: &[KeyPut]) -> Result<(), Failure> {
    if keys.is_empty() {
        return Ok(());
    }
    let mut insert = connection.prepare_cached(
        "INSERT INTO idempotency_rows (key, namespace, task_key, task_id, fingerprint) VALUES (?1, ?2, ?3, ?4, ?5)",
    )?;
    for put in keys {
        match put {
            KeyPut::Added(row) => insert_key(&mut insert, row)?,
            KeyPut::Moved(row) => {
                // For people: its owner before keeps it in the view.
                let sql = "UPDATE task_rows SET given_up_key = ?1 WHERE task_key = \
                           (SELECT task_key FROM idempotency_rows WHERE key = ?1 AND namespace = ?2)";
                connection.prepare_cached(sql)?.execute((&row.key.to_bytes()[..], row.namespace.as_str()))?;
                let sql = "DELETE FROM idempotency_rows WHERE key = ?1 AND namespace = ?2";
                connection.prepare_cached(sql)?.execute((&row.key.to_bytes()[..], row.namespace.as_str()))?;
                insert_key(&mut insert, row)?;
            }
            KeyPut::Removed(row) => {
                let sql = "DELETE FROM idempotency_rows WHERE key = ?1 AND namespace = ?2 AND task_key = ?3";
                let values = (&row.key.to_bytes()[..], row.namespace.as_str(), columns::int(row.task_key)?);
                if connection.prepare_cached(sql)?.execute(values)? > 0 {
                    let sql = "UPDATE task_rows SET given_up_key = ?1 WHERE task_key = ?2";
                    connection.prepare_cached(sql)?.execute((values.0, values.2))?;
                }
            }
        }
    }
    Ok(())
}

fn insert_key(insert: &mut CachedStatement<'_>, row: &IdempotencyRow) -> rusqlite::Result<()> {
    insert.execute((
        &row.key.to_bytes()[..],
        row.namespace.as_str(),
        columns::int(row.task_key)?,
        &row.task.to_bytes()[..],
        &row.fingerprint.0[..],
    ))?;
    Ok(())
}

fn content(connection: &Connection, batch: &Batch) -> Result<(), Failure> {
    if batch.content.is_empty() {
        return Ok(());
    }
    let mut insert = connection.prepare_cached("INSERT INTO content (content_key, bytes) VALUES (?1, ?2)")?;
    for put in &batch.content {
        let key = columns::int(put.key.raw())?;
        match &put.content {
            Content::Inline(bytes) => drop(insert.execute((key, &bytes[..]))?),
            Content::Blob(blob) => {
                let sql = "INSERT INTO content (content_key, bytes, blob_hash, blob_bytes) VALUES (?1, x'', ?2, ?3)";
                connection.prepare_cached(sql)?.execute((key, &blob.hash.0[..], blob.len))?;
            }
        }
    }
    Ok(())
}

fn journals(connection: &Connection, batch: &Batch) -> Result<(), Failure> {
    for conflict in &batch.conflicts {
        let mut insert = connection.prepare_cached(
            "INSERT INTO lease_conflicts (at_ms, task_id, place, verb, found, epoch, given) \
             VALUES (?1, ?2, ?3, ?4, ?5, ?6, ?7)",
        )?;
        insert.execute((
            columns::time(conflict.at_ms),
            &conflict.step.task.to_bytes()[..],
            conflict.step.index,
            columns::verb(conflict.verb).ok_or_else(|| Failure::Conflict(unknown_verb(conflict.verb)))?,
            conflict.found as u8,
            conflict.epoch,
            conflict.given,
        ))?;
    }
    for beat in &batch.heartbeats {
        let mut put =
            connection.prepare_cached("INSERT OR REPLACE INTO worker_heartbeats (worker, at_ms) VALUES (?1, ?2)")?;
        put.execute((&beat.worker.to_bytes()[..], columns::time(beat.at_ms)))?;
    }
    for files in &batch.files {
        let sql = "INSERT OR REPLACE INTO message_files (msg_id, meta_path, payload_path) VALUES (?1, ?2, ?3)";
        connection.prepare_cached(sql)?.execute((
            &files.message.to_bytes()[..],
            files.meta_path.as_str(),
            files.payload_path.as_str(),
        ))?;
    }
    spends::write(connection, &batch.spends)?;
    traffic::write(connection, &batch.traffic)
}

/// What SQLite's refusal of a row means to the caller.
pub(crate) fn conflict(error: &rusqlite::Error) -> Error {
    Error::Conflict { detail: format!("the batch does not fit the rows that are there: {error}") }
}

fn unknown_verb(verb: &str) -> String {
    format!("`{verb}` is no verb that a lease conflict can be about")
}

pub(crate) fn must_be_there(changed: usize, otherwise: impl FnOnce() -> String) -> Result<(), Failure> {
    if changed == 1 { Ok(()) } else { Err(Failure::Conflict(otherwise())) }
}

fn sum(sum: RowSum) -> [u8; 16] {
    sum.0.to_be_bytes()
}
