//! Figures about a store, for people. Each is counted when it is asked for: nothing on the hot path keeps them up.

use crate::{SqliteReader, failure};
use relaymesh_store::Error;
use rusqlite::Connection;
use std::path::Path;

/// How much there is of everything.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub struct Stats {
    /// Ops in the log, and their bytes.
    pub ops: (u64, u64),
    /// Ops up to here may be gone.
    pub horizon: u64,
    /// Tasks.
    pub tasks: u64,
    /// Steps.
    pub steps: u64,
    /// Idempotency keys.
    pub keys: u64,
    /// Pieces of content in the database, and their bytes.
    pub content: (u64, u64),
    /// Pieces of content in blobs, and their bytes; a blob that is named twice counts twice.
    pub blobs: (u64, u64),
    /// Length of the database.
    pub database_bytes: u64,
    /// How much of that is free for what comes next.
    pub free_bytes: u64,
    /// Length of the write-ahead log.
    pub wal_bytes: u64,
}

impl SqliteReader {
    /// Counts everything. Takes as long as reading the log.
    pub fn stats(&mut self) -> Result<Stats, Error> {
        let root = self.root.clone();
        self.at_one_moment(|connection| {
            let count = |sql: &str| pair(connection, sql);
            let page = count("SELECT page_size, 0 FROM pragma_page_size")?.0;
            Ok(Stats {
                ops: count("SELECT count(*), total(length(bytes)) FROM op_log WHERE substr(bytes, 1, 1) <> x'00'")?,
                horizon: crate::life::life(connection)?.horizon,
                tasks: count("SELECT count(*), 0 FROM task_rows")?.0,
                steps: count("SELECT count(*), 0 FROM step_rows")?.0,
                keys: count("SELECT count(*), 0 FROM idempotency_rows")?.0,
                content: count("SELECT count(*), total(length(bytes)) FROM content WHERE blob_hash IS NULL")?,
                blobs: count("SELECT count(*), total(blob_bytes) FROM content WHERE blob_hash IS NOT NULL")?,
                database_bytes: length(&root.database()),
                free_bytes: count("SELECT freelist_count, 0 FROM pragma_freelist_count")?.0 * page,
                wal_bytes: length(&root.wal()),
            })
        })
    }
}

/// Two numbers; the second may be a float, which is what SQLite's `total` gives.
fn pair(connection: &Connection, sql: &str) -> Result<(u64, u64), Error> {
    let read = |row: &rusqlite::Row<'_>| Ok((row.get::<_, i64>(0)?, row.get::<_, f64>(1)?));
    let (first, second) = connection.query_row(sql, [], read).map_err(|error| failure::sqlite(sql, &error))?;
    Ok((u64::try_from(first).unwrap_or(0), second as u64))
}

/// A file that is not there has no length.
fn length(path: &Path) -> u64 {
    std::fs::metadata(path).map_or(0, |found| found.len())
}
