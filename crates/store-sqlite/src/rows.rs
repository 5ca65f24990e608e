//! Rows out of the tables, each checked against its sum and against the columns beside it.
//!
//! The blob is the row; the columns are there to find it by. If a column says something else than the row, then an index
//! has led us astray or somebody has edited the file, and the answer is `Damaged`, not one of the two.

use crate::{columns, failure};
use relaymesh_core::{
    hash::Hash,
    id::{LeaseToken, NodeId, TaskId},
    name::Name,
    row::{self, RowKey, RowSum},
    task::{Step, Task, TaskRows, spec::IdempotencyKey},
};
use relaymesh_store::{Blob, Content, ContentKey, Error, IdempotencyRow, Queue, StepKey, StoredOp};
use rusqlite::{Connection, OptionalExtension, Row};

/// What a task's row is read from; see [`task_row`].
pub(crate) const TASK_COLUMNS: &str =
    "task_key, task_id, namespace, status, trace_id, created_at_ms, updated_at_ms, sum, row, result_hash";

/// The rows of the task with this key. The caller sees to it that both reads are of one moment.
pub(crate) fn task_at(connection: &Connection, key: u64) -> Result<Option<TaskRows>, Error> {
    let sql = "SELECT task_key, task_id, namespace, status, trace_id, created_at_ms, updated_at_ms, sum, row, result_hash \
               FROM task_rows WHERE task_key = ?1";
    let Ok(key) = i64::try_from(key) else { return Ok(None) };
    find(connection, sql, key)
}

/// The rows of the task with this id.
pub(crate) fn task(connection: &Connection, id: TaskId) -> Result<Option<TaskRows>, Error> {
    let sql = "SELECT task_key, task_id, namespace, status, trace_id, created_at_ms, updated_at_ms, sum, row, result_hash \
               FROM task_rows WHERE task_id = ?1";
    find(connection, sql, &id.to_bytes()[..])
}

fn find(connection: &Connection, sql: &str, key: impl rusqlite::ToSql) -> Result<Option<TaskRows>, Error> {
    let failed = |error| failure::sqlite("cannot read a task", &error);
    let mut statement = connection.prepare_cached(sql).map_err(failed)?;
    let mut found = statement.query([key]).map_err(failed)?;
    let Some(row) = found.next().map_err(failed)? else { return Ok(None) };
    let task = task_row(row)?;
    let steps = steps(connection, &task)?;
    Ok(Some(TaskRows { task, steps }))
}

/// The task in a row of [`TASK_COLUMNS`].
pub(crate) fn task_row(row: &Row<'_>) -> Result<Task, Error> {
    let failed = |error| failure::sqlite("cannot read a task row", &error);
    let read = || {
        let (key, id) = (columns::unsigned(row, 0)?, TaskId::from_bytes(row.get(1)?));
        Ok((key, id, RowSum(u128::from_be_bytes(row.get(7)?)), row.get_ref(8)?.as_blob()?))
    };
    let (key, id, sum, bytes) = read().map_err(failed)?;
    let decoded = row::decode(RowKey::Task(id), bytes, sum);
    let mut task: Task = decoded.map_err(|error| Error::row(id, "task", &error))?;
    task.key = key;
    let agrees = || {
        Ok(task.id == id
            && row.get_ref(2)?.as_str()? == task.namespace.as_str()
            && columns::status(row, 3)? == task.status
            && row.get::<_, [u8; 16]>(4)? == task.trace_id.to_be_bytes()
            && row.get::<_, i64>(5)? == columns::time(task.created_ms)
            && row.get::<_, i64>(6)? == columns::time(task.updated_ms)
            && row.get::<_, Option<[u8; 32]>>(9)? == task.result_hash.map(|hash| hash.0))
    };
    if agrees().map_err(failed)? { Ok(task) } else { Err(disagrees("task", key, id)) }
}

const STEPS: &str = "SELECT step_key, agent, status, attempt, queue, due_ms, lease_owner, lease_token, result_pos, \
     updated_at_ms, sum, row, artifact_pos, lease_epoch FROM step_rows WHERE step_key >= ?1 AND step_key < ?2 ORDER BY step_key";

fn steps(connection: &Connection, task: &Task) -> Result<Vec<Step>, Error> {
    let mut rows = [TaskRows { task: task.clone(), steps: Vec::new() }];
    fill(connection, &mut rows)?;
    let [TaskRows { steps, .. }] = rows;
    Ok(steps)
}

/// Reads the steps of tasks that follow each other by key.
fn fill(connection: &Connection, tasks: &mut [TaskRows]) -> Result<(), Error> {
    let failed = |error| failure::sqlite("cannot read the steps of tasks", &error);
    let (Some(first), Some(last)) = (tasks.first(), tasks.last()) else { return Ok(()) };
    let bound = |key| columns::int(StepKey::new(key, 0).raw()).map_err(failed);
    let (from, to) = (bound(first.task.key)?, bound(last.task.key + 1)?);
    let mut statement = connection.prepare_cached(STEPS).map_err(failed)?;
    let mut found = statement.query([from, to]).map_err(failed)?;
    let mut tasks = tasks.iter_mut().peekable();
    while let Some(row) = found.next().map_err(failed)? {
        let key = StepKey::from_raw(columns::unsigned(row, 0).map_err(failed)?);
        while tasks.peek().is_some_and(|rows| rows.task.key < key.task()) {
            tasks.next();
        }
        // A step without a task is no task's step; the counts will tell.
        let Some(rows) = tasks.peek_mut().filter(|rows| rows.task.key == key.task()) else { continue };
        let place = u16::try_from(rows.steps.len()).unwrap_or(u16::MAX);
        if key.place() != place {
            return Err(failure::damaged(format!("step {place} of {} is missing", rows.task.id)));
        }
        let step = step_row(row, &rows.task, place)?;
        rows.steps.push(step);
    }
    Ok(())
}

/// The rows of tasks by key, those after the given one. The caller sees to it that both reads are of one moment.
pub(crate) fn tasks_by_key(connection: &Connection, after: Option<u64>, limit: usize) -> Result<Vec<TaskRows>, Error> {
    let failed = |error| failure::sqlite("cannot read tasks", &error);
    let sql = format!("SELECT {TASK_COLUMNS} FROM task_rows WHERE task_key > ?1 ORDER BY task_key LIMIT ?2");
    let mut statement = connection.prepare_cached(&sql).map_err(failed)?;
    let mut found = statement.query((after.map_or(-1, columns::time), count(limit))).map_err(failed)?;
    let mut tasks = Vec::new();
    while let Some(row) = found.next().map_err(failed)? {
        tasks.push(TaskRows { task: task_row(row)?, steps: Vec::new() });
    }
    fill(connection, &mut tasks)?;
    Ok(tasks)
}

fn step_row(row: &Row<'_>, task: &Task, place: u16) -> Result<Step, Error> {
    let failed = |error| failure::sqlite("cannot read a step row", &error);
    let read = || {
        let sum = RowSum(u128::from_be_bytes(row.get(10)?));
        Ok((sum, row.get_ref(11)?.as_blob()?, columns::unsigned(row, 8)?))
    };
    let (sum, bytes, result_pos) = read().map_err(failed)?;
    let decoded = row::decode(RowKey::Step(task.id, place), bytes, sum);
    let mut step: Step = decoded.map_err(|error| Error::row(task.id, &format!("step {place}"), &error))?;
    step.result_pos = result_pos;
    let positions: Option<Vec<u8>> = row.get(12).map_err(failed)?;
    let positions = positions.unwrap_or_default();
    if positions.len() != 8 * step.output_artifacts.len() {
        return Err(disagrees("step", StepKey::new(task.key, place).raw(), task.id));
    }
    for (artifact, pos) in step.output_artifacts.iter_mut().zip(positions.chunks_exact(8)) {
        artifact.pos = pos.try_into().map_or(0, u64::from_be_bytes);
    }
    let agrees = || {
        let (queue, due_ms) = columns::queue(Queue::of(&step));
        let lease = step.lease.as_ref();
        let owner = row.get::<_, Option<[u8; 16]>>(6)?.map(NodeId::from_bytes);
        let token = row.get::<_, Option<[u8; 16]>>(7)?.map(LeaseToken::from_bytes);
        Ok(row.get_ref(1)?.as_str()? == step.spec.agent.as_str()
            && columns::status(row, 2)? == step.status
            && row.get::<_, u32>(3)? == step.attempt
            && row.get::<_, Option<u8>>(4)? == queue
            && row.get::<_, Option<i64>>(5)? == due_ms
            && owner == lease.map(|lease| lease.owner)
            && token == lease.map(|lease| lease.token)
            && row.get::<_, i64>(9)? == columns::time(step.updated_ms)
            // A row of an older schema that has not changed since has none.
            && row.get::<_, Option<u32>>(13)?.is_none_or(|epoch| epoch == step.epoch))
    };
    if agrees().map_err(failed)? {
        Ok(step)
    } else {
        Err(disagrees("step", StepKey::new(task.key, place).raw(), task.id))
    }
}

/// What lies at this key.
pub(crate) fn content(connection: &Connection, key: ContentKey) -> Result<Option<Content>, Error> {
    let failed = |error| failure::sqlite("cannot read content", &error);
    let sql = "SELECT bytes, blob_hash, blob_bytes FROM content WHERE content_key = ?1";
    let mut statement = connection.prepare_cached(sql).map_err(failed)?;
    statement.query_row([columns::time(key.raw())], content_row).optional().map_err(failed)
}

/// What lies at the keys of these ops.
pub(crate) fn contents(connection: &Connection, first: u64, last: u64) -> Result<Vec<(ContentKey, Content)>, Error> {
    let ask = || {
        let sql = "SELECT bytes, blob_hash, blob_bytes, content_key FROM content \
                   WHERE content_key >= ?1 AND content_key < ?2 ORDER BY content_key";
        let mut statement = connection.prepare_cached(sql)?;
        let range = [ContentKey::new(first, 0), ContentKey::new(last + 1, 0)].map(|key| columns::time(key.raw()));
        let read = |row: &Row<'_>| Ok((ContentKey::from_raw(columns::unsigned(row, 3)?), content_row(row)?));
        statement.query_map(range, read)?.collect::<rusqlite::Result<_>>()
    };
    ask().map_err(|error| failure::sqlite("cannot read content", &error))
}

fn content_row(row: &Row<'_>) -> rusqlite::Result<Content> {
    let hash: Option<[u8; 32]> = row.get(1)?;
    Ok(match hash {
        None => Content::Inline(row.get(0)?),
        Some(hash) => Content::Blob(Blob::new(Hash(hash), row.get(2)?, None)),
    })
}

/// Ops after `after`, in order; where there is a gap, a stub ends it.
pub(crate) fn ops(connection: &Connection, after: u64, limit: usize) -> Result<Vec<StoredOp>, Error> {
    let failed = |error| failure::sqlite("cannot read the log", &error);
    let mut statement = connection
        .prepare_cached("SELECT pos, bytes, hash FROM op_log WHERE pos > ?1 ORDER BY pos LIMIT ?2")
        .map_err(failed)?;
    let mut found = statement.query((columns::time(after), count(limit))).map_err(failed)?;
    let mut ops: Vec<StoredOp> = Vec::new();
    while let Some(row) = found.next().map_err(failed)? {
        let read = || Ok(StoredOp { pos: columns::unsigned(row, 0)?, bytes: row.get(1)?, hash: Hash(row.get(2)?) });
        let op = read().map_err(failed)?;
        let before = ops.last().map_or(after, |op| op.pos);
        if !op.continues(before) {
            let expected = before + 1;
            return Err(failure::damaged(format!("op {expected} is missing; the next one is {}", op.pos)));
        }
        ops.push(op);
    }
    Ok(ops)
}

/// The idempotency row of a key.
pub(crate) fn idempotency(
    connection: &Connection,
    namespace: &Name,
    key: &IdempotencyKey,
) -> Result<Option<IdempotencyRow>, Error> {
    let ask = || {
        let mut statement = connection.prepare_cached(
            "SELECT task_key, task_id, fingerprint FROM idempotency_rows WHERE key = ?1 AND namespace = ?2",
        )?;
        let read = |row: &Row<'_>| {
            Ok(IdempotencyRow {
                namespace: namespace.clone(),
                key: key.clone(),
                task_key: columns::unsigned(row, 0)?,
                task: TaskId::from_bytes(row.get(1)?),
                fingerprint: Hash(row.get(2)?),
            })
        };
        statement.query_row((&key.to_bytes()[..], namespace.as_str()), read).optional()
    };
    ask().map_err(|error| failure::sqlite("cannot read an idempotency row", &error))
}

/// How many tasks and steps there are.
pub(crate) fn counts(connection: &Connection) -> Result<(u64, u64), Error> {
    let sql = "SELECT (SELECT count(*) FROM task_rows), (SELECT count(*) FROM step_rows)";
    connection
        .query_row(sql, [], |row| Ok((columns::unsigned(row, 0)?, columns::unsigned(row, 1)?)))
        .map_err(|error| failure::sqlite("cannot count the rows", &error))
}

/// A limit as SQLite takes it; there, a negative one would be none.
pub(crate) fn count(limit: usize) -> i64 {
    i64::try_from(limit).unwrap_or(i64::MAX)
}

fn disagrees(what: &str, key: u64, task: TaskId) -> Error {
    failure::damaged(format!("the {what} row {key} of {task} and the columns beside it say different things"))
}
