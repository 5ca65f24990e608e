//! What an operator watches about a store. Each is one search of an index that is there anyway, and costs as much as there is waiting; nothing
//! is kept up for it while work is done.

use crate::{Root, SqliteReader, columns, failure};
use relaymesh_core::lanes::Priority;
use relaymesh_store::{Error, Queue};
use rusqlite::{Connection, OptionalExtension as _};
use std::collections::{BTreeMap, BTreeSet};

/// How a store stands.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct Gauges {
    /// One for each lane, high first.
    pub lanes: [Lane; 3],
    /// Steps that wait for a decision with a deadline.
    pub approvals: u64,
    /// Steps that somebody holds a lease on.
    pub leased_steps: u64,
    /// Tasks that have such a step.
    pub active_tasks: u64,
    /// Messages that nobody has taken yet.
    pub messages_waiting: u64,
    /// Contents in files, and their bytes; one that is named twice counts twice.
    pub blobs: (u64, u64),
    /// Writes that the fence rejected, since the root was made.
    pub fenced: u64,
    /// Length of the database.
    pub database_bytes: u64,
    /// Length of the write-ahead log.
    pub wal_bytes: u64,
}

/// What waits in one lane.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub struct Lane {
    /// Steps that could run now.
    pub ready: u64,
    /// Steps that are tried again later.
    pub later: u64,
    /// When the oldest task with a ready step was submitted.
    pub oldest_ms: Option<u64>,
}

const READY: &str =
    "SELECT count(*) FROM step_rows INDEXED BY idx_steps_status_next_retry WHERE queue = ?1 AND due_ms <= ?2";
const LATER: &str =
    "SELECT count(*) FROM step_rows INDEXED BY idx_steps_status_next_retry WHERE queue = ?1 AND due_ms > ?2";
/// Whatever is ready is due at 0, and among those the smallest key is the oldest.
const OLDEST: &str = "SELECT step_key FROM step_rows INDEXED BY idx_steps_status_next_retry \
     WHERE queue = ?1 AND due_ms = 0 ORDER BY step_key LIMIT 1";
const SUBMITTED: &str = "SELECT created_at_ms FROM task_rows WHERE task_key = ?1";
const LEASED: &str =
    "SELECT step_key FROM step_rows INDEXED BY idx_steps_lease_owner_updated WHERE lease_owner IS NOT NULL";
const BY_AGENT: &str = "SELECT agent, count(*) FROM step_rows INDEXED BY idx_steps_lease_owner_updated \
     WHERE lease_owner IS NOT NULL GROUP BY agent";
const MESSAGES: &str = "SELECT count(*) FROM scope_rows INDEXED BY idx_messages_inbox WHERE queued_ms IS NOT NULL";
const BLOBS: &str = "SELECT count(*), coalesce(sum(blob_bytes), 0) FROM content INDEXED BY idx_content_blob WHERE blob_hash IS NOT NULL";

/// Rows of the journal are numbered from 1 and never removed.
const FENCED: &str = "SELECT coalesce(max(conflict_key), 0) FROM lease_conflicts";

impl SqliteReader {
    /// How the store stands now.
    pub fn gauges(&mut self, now_ms: u64) -> Result<Gauges, Error> {
        let root = self.root.clone();
        self.at_one_moment(|connection| {
            read(connection, now_ms, &root).map_err(|error| failure::sqlite("cannot read how much waits", &error))
        })
    }
}

impl SqliteReader {
    /// How many steps somebody holds, by agent.
    pub fn running_by_agent(&mut self) -> Result<BTreeMap<String, u64>, Error> {
        self.at_one_moment(|connection| {
            let read = || {
                let mut statement = connection.prepare_cached(BY_AGENT)?;
                let rows = statement.query_map([], |row| Ok((row.get(0)?, columns::unsigned(row, 1)?)))?;
                rows.collect::<rusqlite::Result<_>>()
            };
            read().map_err(|error| failure::sqlite("cannot read who works", &error))
        })
    }
}

fn read(connection: &Connection, now_ms: u64, root: &Root) -> rusqlite::Result<Gauges> {
    let count = |sql: &str, queue: Queue| {
        let values = (queue.number(), columns::time(now_ms));
        connection.prepare_cached(sql)?.query_row(values, |row| columns::unsigned(row, 0))
    };
    let mut gauges =
        Gauges { approvals: count(READY, Queue::Approval)? + count(LATER, Queue::Approval)?, ..Gauges::default() };
    for (lane, priority) in gauges.lanes.iter_mut().zip(Priority::ALL) {
        let queue = Queue::Ready(priority);
        let oldest = connection.prepare_cached(OLDEST)?.query_row([queue.number()], |row| columns::unsigned(row, 0));
        let oldest = oldest.optional()?.map(|key| relaymesh_store::StepKey::from_raw(key).task());
        let submitted = |task: u64| {
            let mut statement = connection.prepare_cached(SUBMITTED)?;
            statement.query_row([columns::time(task)], |row| columns::unsigned(row, 0)).optional()
        };
        *lane = Lane {
            ready: count(READY, queue)?,
            later: count(LATER, queue)?,
            oldest_ms: oldest.map(submitted).transpose()?.flatten(),
        };
    }
    let mut tasks = BTreeSet::new();
    let mut statement = connection.prepare_cached(LEASED)?;
    for key in statement.query_map([], |row| columns::unsigned(row, 0))? {
        gauges.leased_steps += 1;
        tasks.insert(relaymesh_store::StepKey::from_raw(key?).task());
    }
    gauges.active_tasks = tasks.len() as u64;
    gauges.messages_waiting = connection.prepare_cached(MESSAGES)?.query_row([], |row| columns::unsigned(row, 0))?;
    let pair = |row: &rusqlite::Row<'_>| Ok((columns::unsigned(row, 0)?, columns::unsigned(row, 1)?));
    gauges.blobs = connection.prepare_cached(BLOBS)?.query_row([], pair)?;
    gauges.fenced = connection.prepare_cached(FENCED)?.query_row([], |row| columns::unsigned(row, 0))?;
    let length = |path: &std::path::Path| std::fs::metadata(path).map_or(0, |found| found.len());
    (gauges.database_bytes, gauges.wal_bytes) = (length(&root.database()), length(&root.wal()));
    Ok(gauges)
}

#[cfg(test)]
mod tests {
    use crate::tests::World;
    use relaymesh_store::{Blobs as _, Content, Store as _, contract::graph::Graph};

    #[test]
    fn what_waits_and_what_is_held_is_counted() {
        let mut world = World::new();
        let blob = world.store().blobs().put(&[7; 9000]).unwrap();
        world.author.submit(&Graph::single().content(0, Content::Blob(blob)));
        let tasks = world.author.submit_all(3, &Graph::single());
        world.commit();
        world.author.claim(tasks[0], 0);
        world.commit();
        let gauges = world.reader().gauges(0).unwrap();
        let normal = gauges.lanes[1];
        assert_eq!((normal.ready, normal.later, gauges.lanes[0].ready, gauges.lanes[2].ready), (3, 0, 0, 0));
        assert!(normal.oldest_ms.is_some() && gauges.lanes[0].oldest_ms.is_none());
        assert_eq!((gauges.leased_steps, gauges.active_tasks, gauges.blobs), (1, 1, (1, 9000)));
        assert!(gauges.database_bytes > 0);
        let running: Vec<u64> = world.reader().running_by_agent().unwrap().into_values().collect();
        assert_eq!(running, [1]);
    }
}
