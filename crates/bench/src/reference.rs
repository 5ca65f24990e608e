//! The bar: what plain SQLite does with the same bytes and no logic.
//!
//! The driver is measured against this, on the same machine and in the same minute, so that a slow disk or a busy
//! neighbour slows both. Nothing is held back here: statements are prepared once, keys are integers that only grow, the
//! bytes are made before the clock starts where they can be, and the checkpoint is SQLite's own. Only the chain of hashes
//! is inside, because each op's hash needs the one before it.
//!
//! ```text
//! per task           commit 1 of a batch                              commit 2
//! ops (160 bytes)    2                                                1
//! rows               task, step, idempotency inserted                 all three updated
//! content (40 bytes) the input                                        the result
//! ```

use relaymesh_api::error::{Code, Error};
use relaymesh_core::{hash::Hash, op::link_hash};
use rusqlite::{Connection, Statement};
use std::{
    path::Path,
    time::{Duration, Instant},
};

const OP_BYTES: usize = 160;
const CONTENT_BYTES: usize = 40;
const ROW_BYTES: usize = 160;

const TABLES: &str = "
CREATE TABLE ops (pos INTEGER PRIMARY KEY, bytes BLOB, hash BLOB);
CREATE TABLE tasks (key INTEGER PRIMARY KEY, status INTEGER, updated INTEGER, row BLOB);
CREATE TABLE steps (key INTEGER PRIMARY KEY, status INTEGER, queue INTEGER, due INTEGER, owner BLOB, updated INTEGER, row BLOB);
CREATE INDEX steps_queue ON steps (queue, due) WHERE queue IS NOT NULL;
CREATE INDEX steps_owner ON steps (owner, updated) WHERE owner IS NOT NULL;
CREATE TABLE idempotency (key BLOB PRIMARY KEY, task INTEGER, status INTEGER, hash BLOB, processed INTEGER) WITHOUT ROWID;
CREATE TABLE content (key INTEGER PRIMARY KEY, bytes BLOB);
";

/// How fast it went.
#[derive(Debug, Clone, Copy, PartialEq)]
pub(crate) struct Rate {
    /// Tasks a second, from submit to done.
    pub(crate) tasks_per_s: f64,
    /// Commits a second; two for each batch.
    pub(crate) commits_per_s: f64,
    /// How long it took.
    pub(crate) elapsed: Duration,
}

/// Runs `tasks` tasks in batches of `batch` in a new database in `dir`, FULL sync, two commits per batch.
pub(crate) fn run(dir: &Path, batch: usize, tasks: usize) -> Result<Rate, Error> {
    let connection = database(dir, "reference.db")?;
    let batch = batch.max(1);
    let failed = |error| failed("the reference cannot write", &error);
    let begun = Instant::now();
    let mut world = World::new(&connection).map_err(failed)?;
    let mut done = 0;
    let mut commits = 0;
    while done < tasks {
        let count = batch.min(tasks - done);
        world.submit(count).map_err(failed)?;
        world.complete(count).map_err(failed)?;
        done += count;
        commits += 2;
    }
    let elapsed = begun.elapsed();
    let seconds = elapsed.as_secs_f64().max(f64::EPSILON);
    Ok(Rate { tasks_per_s: done as f64 / seconds, commits_per_s: f64::from(commits) / seconds, elapsed })
}

/// Commits before the first that is timed. The log of a new database grows with each commit, and a sync of a file that grows writes its length,
/// too: twice as slow. After the first checkpoint, at a thousand pages, the log is written over. That is the state a store is in.
const WARM_UP: usize = 1_500;

/// How long each of `n` commits of one row takes, FULL sync, in the steady state.
pub(crate) fn one_row_commit(dir: &Path, n: usize) -> Result<Vec<Duration>, Error> {
    let connection = database(dir, "one-row.db")?;
    let failed = |error| failed("the reference cannot write", &error);
    let mut insert = connection.prepare("INSERT INTO content VALUES (?1, ?2)").map_err(failed)?;
    let mut took = Vec::with_capacity(n);
    for key in 0..WARM_UP + n {
        let begun = Instant::now();
        insert.execute((key as i64, &[7u8; CONTENT_BYTES][..])).map_err(failed)?;
        if key >= WARM_UP {
            took.push(begun.elapsed());
        }
    }
    Ok(took)
}

fn database(dir: &Path, name: &str) -> Result<Connection, Error> {
    let failed = |error| failed("the reference cannot be set up", &error);
    let connection = Connection::open(dir.join(name)).map_err(failed)?;
    connection
        .execute_batch(
            "PRAGMA page_size = 4096; PRAGMA journal_mode = WAL; PRAGMA synchronous = FULL; PRAGMA cache_size = -16384; \
             PRAGMA temp_store = MEMORY;",
        )
        .map_err(failed)?;
    connection.execute_batch(TABLES).map_err(failed)?;
    Ok(connection)
}

/// The statements, and where the log and the rows stand.
struct World<'a> {
    connection: &'a Connection,
    op: Statement<'a>,
    task: Statement<'a>,
    task_done: Statement<'a>,
    step: Statement<'a>,
    step_done: Statement<'a>,
    key: Statement<'a>,
    key_done: Statement<'a>,
    content: Statement<'a>,
    head: Hash,
    pos: i64,
    /// The first task of the batch that is open.
    first: i64,
    next: i64,
}

impl<'a> World<'a> {
    fn new(connection: &'a Connection) -> rusqlite::Result<Self> {
        let prepare = |sql| connection.prepare(sql);
        Ok(Self {
            connection,
            op: prepare("INSERT INTO ops VALUES (?1, ?2, ?3)")?,
            task: prepare("INSERT INTO tasks VALUES (?1, 0, ?1, ?2)")?,
            task_done: prepare("UPDATE tasks SET status = 4, updated = ?1, row = ?2 WHERE key = ?1")?,
            step: prepare("INSERT INTO steps VALUES (?1, 2, NULL, NULL, ?2, ?1, ?3)")?,
            step_done: prepare("UPDATE steps SET status = 4, owner = NULL, updated = ?1, row = ?2 WHERE key = ?1")?,
            key: prepare("INSERT INTO idempotency VALUES (?1, ?2, 0, NULL, NULL)")?,
            key_done: prepare("UPDATE idempotency SET status = 4, hash = ?2, processed = ?3 WHERE key = ?1")?,
            content: prepare("INSERT INTO content VALUES (?1, ?2)")?,
            head: Hash::default(),
            pos: 0,
            first: 0,
            next: 0,
        })
    }

    fn submit(&mut self, count: usize) -> rusqlite::Result<()> {
        self.connection.execute_batch("BEGIN IMMEDIATE")?;
        self.first = self.next;
        for _ in 0..count {
            let key = self.next;
            self.next += 1;
            self.append()?;
            self.append()?;
            self.task.execute((key, &[1u8; ROW_BYTES][..]))?;
            self.step.execute((key, &[2u8; 16][..], &[2u8; ROW_BYTES][..]))?;
            self.key.execute((&time_ordered(key)[..], key))?;
            self.content.execute((key * 2, &[3u8; CONTENT_BYTES][..]))?;
        }
        self.connection.execute_batch("COMMIT")
    }

    fn complete(&mut self, count: usize) -> rusqlite::Result<()> {
        self.connection.execute_batch("BEGIN IMMEDIATE")?;
        for key in self.first..self.first + count as i64 {
            self.append()?;
            self.task_done.execute((key, &[4u8; ROW_BYTES][..]))?;
            self.step_done.execute((key, &[5u8; ROW_BYTES][..]))?;
            self.key_done.execute((&time_ordered(key)[..], &[6u8; 32][..], key))?;
            self.content.execute((key * 2 + 1, &[7u8; CONTENT_BYTES][..]))?;
        }
        self.connection.execute_batch("COMMIT")
    }

    fn append(&mut self) -> rusqlite::Result<()> {
        self.pos += 1;
        let mut bytes = [8; OP_BYTES];
        bytes[..8].copy_from_slice(&self.pos.to_be_bytes());
        self.head = link_hash(&self.head, &bytes);
        self.op.execute((self.pos, &bytes[..], &self.head.0[..])).map(drop)
    }
}

/// A key as a ULID would be: 16 bytes that grow.
fn time_ordered(key: i64) -> [u8; 16] {
    let mut bytes = [0x5a; 16];
    bytes[..8].copy_from_slice(&key.to_be_bytes());
    bytes
}

fn failed(what: &str, error: &rusqlite::Error) -> Error {
    Error::new(Code::StoreIo, format!("{what}: {error}"))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_reference_does_what_it_says() {
        let dir = tempfile::tempdir().unwrap();
        let rate = run(dir.path(), 4, 10).unwrap();
        assert!(rate.tasks_per_s > 0.0);
        let connection = Connection::open(dir.path().join("reference.db")).unwrap();
        let count = |sql: &str| connection.query_row(sql, [], |row| row.get::<_, i64>(0)).unwrap();
        assert_eq!(count("SELECT count(*) FROM ops"), 30);
        assert_eq!(count("SELECT count(*) FROM tasks WHERE status = 4"), 10);
        assert_eq!(count("SELECT count(*) FROM steps WHERE owner IS NULL"), 10);
        assert_eq!(count("SELECT count(*) FROM idempotency WHERE processed IS NOT NULL"), 10);
        assert_eq!(count("SELECT count(*) FROM content"), 20);
        assert_eq!(one_row_commit(dir.path(), 3).unwrap().len(), 3);
    }
}
