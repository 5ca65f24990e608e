//! The reader: a read-only connection with its own cached statements.
//!
//! A reader takes no lock of the root, so `relaymesh task list` works while another process does the work, and on a store
//! that has lost its memory. Answers made of two statements are read in one transaction, so they are of one moment.

use crate::{
    Root, blobs, check, columns, connect, failure, head, life, rows, scopes, sidecar::Sidecar, spends, traffic,
};
use relaymesh_core::{
    hash::Hash,
    id::{MessageId, NodeId, RequestId, StepId, TaskId, ThreadId, WorkerId},
    kernel::Rows,
    lanes::Priority,
    message::State,
    name::Name,
    namespace::DEFAULT,
    op::Scope,
    task::{Status, Task, TaskRows, spec::IdempotencyKey},
};
use relaymesh_store::{
    Content, ContentKey, Day, Due, Error, Head, IdempotencyRow, LeaseConflict, Life, Queue, Reader, Spend, StepKey,
    StoredOp, TaskFilter, traffic::Kept,
};
use rusqlite::{Connection, OptionalExtension, Row};
use std::path::Path;

/// Steps of a queue with the same time as the last one seen, then later ones. Time 0 is that of everything that is ready:
/// only the key as part of the search keeps a page of a long queue from reading all pages before it.
pub(crate) const DUE_AT: &str = "SELECT due_ms, step_key FROM step_rows INDEXED BY idx_steps_status_next_retry \
     WHERE queue = ?1 AND due_ms = ?2 AND step_key > ?3 ORDER BY step_key LIMIT ?4";
pub(crate) const DUE_AFTER: &str = "SELECT due_ms, step_key FROM step_rows INDEXED BY idx_steps_status_next_retry \
     WHERE queue = ?1 AND due_ms > ?2 AND due_ms <= ?3 ORDER BY due_ms, step_key LIMIT ?4";
pub(crate) const NEXT_DUE: &str = "SELECT min(due_ms) FROM step_rows INDEXED BY idx_steps_status_next_retry \
     WHERE queue = ?1 AND due_ms > ?2";
pub(crate) const NAMESPACE_OF: &str = "SELECT namespace FROM task_rows WHERE task_key = ?1";
pub(crate) const LEASED: &str = "SELECT step_key FROM step_rows INDEXED BY idx_steps_lease_owner_updated \
     WHERE lease_owner = ?1 AND step_key > ?2 ORDER BY step_key LIMIT ?3";
pub(crate) const WAITING: &str = "SELECT step_key FROM step_rows INDEXED BY idx_steps_waiting \
     WHERE status = 1 AND step_key > ?1 ORDER BY step_key LIMIT ?2";

/// Request ids are the keys that begin with 1; the primary key begins with the key, so this is one step down the tree.
pub(crate) const NEWEST_REQUEST: &str = "SELECT max(key) FROM idempotency_rows WHERE key >= x'01' AND key < x'02'";

/// A read-only connection to a store. Opened by path, or by the store itself.
#[derive(Debug)]
pub struct SqliteReader {
    connection: Connection,
    pub(crate) root: Root,
}

impl SqliteReader {
    /// Opens the store in the folder `root` for reading. Takes no lock, and does not ask whether the store has forgotten
    /// something, see [`SqliteReader::remembers`].
    pub fn open(root: &Path) -> Result<Self, Error> {
        let root = Root::new(root);
        Ok(Self { connection: connect::reader(&root)?, root })
    }

    /// Whether anything names this blob.
    pub(crate) fn names_blob(&mut self, hash: &Hash) -> Result<bool, Error> {
        let failed = |error| failure::sqlite("cannot read whether a blob is named", &error);
        life::is_named(&self.connection, hash).map_err(failed)
    }

    /// Whether the store in `root` knows all that it has acknowledged: `Amnesia` or `Damaged` when not. What is read is
    /// then older than what somebody was told. The sidecar is asked first: it is written after each commit, so beside a
    /// running writer the store is never behind what it said a moment ago.
    pub fn remembers(&mut self, root: &Path) -> Result<(), Error> {
        let root = Root::new(root);
        let mark = match Sidecar::peek(&root)? {
            Some(mark) => mark,
            None => return Err(check::is_there(&root).err().unwrap_or_else(|| check::no_sidecar(&root))),
        };
        self.at_one_moment(|connection| check::remembers(connection, &head::load(connection)?, mark))
    }

    /// Whatever it reads from now on is of this moment, whoever writes meanwhile. The write-ahead log keeps what it needs for that, so
    /// this is for a look that ends, and not for a reader that stays.
    pub fn hold_still(&mut self) -> Result<(), Error> {
        let failed = |error| failure::sqlite("cannot begin to read", &error);
        self.connection.execute_batch("BEGIN").map_err(failed)?;
        // The moment is that of the first look.
        head::load(&self.connection).map(drop)
    }

    /// Runs `ask` in one transaction.
    pub(crate) fn at_one_moment<T>(&mut self, ask: impl FnOnce(&Connection) -> Result<T, Error>) -> Result<T, Error> {
        if !self.connection.is_autocommit() {
            return ask(&self.connection);
        }
        let failed = |error| failure::sqlite("cannot begin to read", &error);
        let transaction = self.connection.transaction().map_err(failed)?;
        let answer = ask(&transaction)?;
        transaction.finish().map_err(failed)?;
        Ok(answer)
    }
}

impl Reader for SqliteReader {
    fn head(&mut self) -> Result<Head, Error> {
        head::load(&self.connection)
    }

    fn task(&mut self, id: TaskId) -> Result<Option<TaskRows>, Error> {
        self.at_one_moment(|connection| rows::task(connection, id))
    }

    fn task_at(&mut self, key: u64) -> Result<Option<TaskRows>, Error> {
        self.at_one_moment(|connection| rows::task_at(connection, key))
    }

    fn tasks_by_key(&mut self, after: Option<u64>, limit: usize) -> Result<Vec<TaskRows>, Error> {
        self.at_one_moment(|connection| rows::tasks_by_key(connection, after, limit))
    }

    fn scope(&mut self, scope: Scope) -> Result<Option<Rows>, Error> {
        scopes::scope(&self.connection, scope)
    }

    fn scopes(&mut self, after: Option<Scope>, limit: usize) -> Result<Vec<Scope>, Error> {
        scopes::scopes(&self.connection, after, limit)
    }

    fn due_scopes(&mut self, now_ms: u64, limit: usize) -> Result<Vec<(u64, Scope)>, Error> {
        scopes::due(&self.connection, now_ms, limit)
    }

    fn inbox(
        &mut self,
        namespace: &Name,
        agent: &Name,
        priority: Priority,
        now_ms: u64,
        limit: usize,
    ) -> Result<Vec<(ThreadId, MessageId)>, Error> {
        scopes::inbox(&self.connection, (namespace, agent, priority), now_ms, limit)
    }

    fn tasks(&mut self, filter: &TaskFilter, before: Option<u64>, limit: usize) -> Result<Vec<Task>, Error> {
        let sql = tasks_sql(filter);
        let failed = |error| failure::sqlite("cannot list tasks", &error);
        let mut statement = self.connection.prepare_cached(&sql).map_err(failed)?;
        let before = before.map_or(i64::MAX, columns::time);
        let namespace = filter.namespace.as_ref().map(Name::as_str);
        let status = filter.status.map(|status| status as u8);
        let mut found = statement.query((before, rows::count(limit), namespace, status)).map_err(failed)?;
        let mut tasks = Vec::new();
        while let Some(row) = found.next().map_err(failed)? {
            tasks.push(rows::task_row(row)?);
        }
        Ok(tasks)
    }

    fn idempotency(&mut self, namespace: &Name, key: &IdempotencyKey) -> Result<Option<IdempotencyRow>, Error> {
        rows::idempotency(&self.connection, namespace, key)
    }

    fn newest_request(&mut self) -> Result<Option<RequestId>, Error> {
        let ask = || self.connection.query_row(NEWEST_REQUEST, [], |row| row.get::<_, Option<Vec<u8>>>(0));
        let key = ask().map_err(|error| failure::sqlite("cannot read the newest request", &error))?;
        match key.map(|bytes| IdempotencyKey::from_bytes(&bytes)) {
            None => Ok(None),
            Some(Some(IdempotencyKey::RequestId(id))) => Ok(Some(id)),
            Some(_) => Err(failure::damaged("the newest request key is not a request id".to_owned())),
        }
    }

    fn content(&mut self, key: ContentKey) -> Result<Option<Content>, Error> {
        rows::content(&self.connection, key)
    }

    fn contents(&mut self, first: u64, last: u64) -> Result<Vec<(ContentKey, Content)>, Error> {
        rows::contents(&self.connection, first, last)
    }

    fn blob(&mut self, hash: &Hash) -> Result<Option<Vec<u8>>, Error> {
        let found = blobs::read(&self.root, hash)?;
        if found.is_none() {
            // Without its disk every blob is missing, and none of them is damaged.
            check::is_there(&self.root)?;
        }
        Ok(found)
    }

    fn ops(&mut self, after: u64, limit: usize) -> Result<Vec<StoredOp>, Error> {
        rows::ops(&self.connection, after, limit)
    }

    fn due(
        &mut self,
        queue: Queue,
        now_ms: u64,
        after: Option<(u64, StepKey)>,
        limit: usize,
    ) -> Result<Vec<(u64, StepKey)>, Error> {
        // The last column value stands for all times beyond it, which are never due.
        let now = columns::time(now_ms).min(i64::MAX - 1);
        self.at_one_moment(|connection| due(connection, queue, now, after, limit))
    }

    fn due_in(
        &mut self,
        namespace: &Name,
        queue: Queue,
        now_ms: u64,
        after: Option<Due>,
        limit: usize,
    ) -> Result<(Vec<Due>, Option<Due>), Error> {
        let now = columns::time(now_ms).min(i64::MAX - 1);
        self.at_one_moment(|connection| {
            let mut page = due(connection, queue, now, after, limit)?;
            let last = page.last().copied().filter(|_| page.len() == limit);
            let mut statement = connection
                .prepare_cached(NAMESPACE_OF)
                .map_err(|error| failure::sqlite("cannot read a queue", &error))?;
            let mut is_of = |key: StepKey| {
                let task = columns::time(key.task());
                statement.query_row([task], |row| Ok(row.get_ref(0)?.as_str()? == namespace.as_str())).optional()
            };
            let mut failed = None;
            page.retain(|(_, key)| match is_of(*key) {
                Ok(is_of) => is_of == Some(true),
                Err(error) => {
                    failed.get_or_insert(error);
                    false
                }
            });
            match failed {
                Some(error) => Err(failure::sqlite("cannot read a queue", &error)),
                None => Ok((page, last)),
            }
        })
    }

    fn ended(&mut self, until_ms: u64, after: Option<(u64, u64)>, limit: usize) -> Result<Vec<(u64, u64)>, Error> {
        life::ended(&self.connection, until_ms, after, limit)
    }

    fn rested(&mut self, until_ms: u64, limit: usize) -> Result<Vec<(u64, ThreadId)>, Error> {
        life::rested(&self.connection, until_ms, limit)
    }

    fn life(&mut self) -> Result<Life, Error> {
        life::life(&self.connection)
    }

    fn is_live(&mut self, scope: Scope) -> Result<bool, Error> {
        life::is_live(&self.connection, scope)
    }

    fn snapshot(&mut self, after: Option<Scope>, limit: usize) -> Result<Vec<(Scope, Rows)>, Error> {
        self.at_one_moment(|connection| life::snapshot(connection, after, limit))
    }

    fn next_due(&mut self, now_ms: u64) -> Result<Option<u64>, Error> {
        let first = |connection: &Connection| {
            let mut statement = connection.prepare_cached(NEXT_DUE)?;
            let mut first = None;
            for queue in Queue::ALL {
                let found = statement.query_row((queue.number(), columns::time(now_ms)), |row| row.get(0));
                let found: Option<i64> = found?;
                first = first.into_iter().chain(found).min();
            }
            let mut statement = connection.prepare_cached(scopes::NEXT_DUE)?;
            let found: Option<i64> = statement.query_row([columns::time(now_ms)], |row| row.get(0))?;
            Ok(first.into_iter().chain(found).min())
        };
        let first: Option<i64> = self.at_one_moment(|connection| {
            first(connection).map_err(|error| failure::sqlite("cannot read the queues", &error))
        })?;
        Ok(first.map(|ms| if ms == i64::MAX { u64::MAX } else { u64::try_from(ms).unwrap_or(0) }))
    }

    fn leased(&mut self, owner: NodeId, after: Option<StepKey>, limit: usize) -> Result<Vec<StepKey>, Error> {
        let ask = || {
            let after = after.map_or(-1, |key| columns::time(key.raw()));
            let mut statement = self.connection.prepare_cached(LEASED)?;
            let key = |row: &Row<'_>| columns::unsigned(row, 0).map(StepKey::from_raw);
            statement
                .query_map((&owner.to_bytes()[..], after, rows::count(limit)), key)?
                .collect::<rusqlite::Result<_>>()
        };
        ask().map_err(|error| failure::sqlite("cannot read leases", &error))
    }

    fn waiting(&mut self, after: Option<StepKey>, limit: usize) -> Result<Vec<StepKey>, Error> {
        let ask = || {
            let after = after.map_or(-1, |key| columns::time(key.raw()));
            let mut statement = self.connection.prepare_cached(WAITING)?;
            let key = |row: &Row<'_>| columns::unsigned(row, 0).map(StepKey::from_raw);
            statement.query_map((after, rows::count(limit)), key)?.collect::<rusqlite::Result<_>>()
        };
        ask().map_err(|error| failure::sqlite("cannot read which steps wait for an approval", &error))
    }

    fn threads(&mut self, state: State, after: Option<ThreadId>, limit: usize) -> Result<Vec<ThreadId>, Error> {
        scopes::threads(&self.connection, state, after, limit)
    }

    fn conflicts(&mut self, limit: usize) -> Result<Vec<LeaseConflict>, Error> {
        let ask = || {
            let mut statement = self.connection.prepare_cached(
                "SELECT at_ms, task_id, place, verb, found, epoch, given FROM lease_conflicts \
                 ORDER BY conflict_key DESC LIMIT ?1",
            )?;
            statement.query_map([rows::count(limit)], conflict)?.collect::<rusqlite::Result<_>>()
        };
        ask().map_err(|error| failure::sqlite("cannot read lease conflicts", &error))
    }

    fn heartbeat(&mut self, worker: WorkerId) -> Result<Option<u64>, Error> {
        let ask = || {
            let mut statement =
                self.connection.prepare_cached("SELECT at_ms FROM worker_heartbeats WHERE worker = ?1")?;
            statement.query_row([&worker.to_bytes()[..]], |row| columns::unsigned(row, 0)).optional()
        };
        ask().map_err(|error| failure::sqlite("cannot read a heartbeat", &error))
    }

    fn spends(&mut self, since: Day) -> Result<Vec<Spend>, Error> {
        spends::since(&self.connection, since)
    }

    fn spends_for(&mut self, task: TaskId) -> Result<Vec<Spend>, Error> {
        spends::of_task(&self.connection, task)
    }

    fn traffic(&mut self) -> Result<Kept, Error> {
        self.at_one_moment(traffic::load)
    }

    fn counts(&mut self) -> Result<(u64, u64), Error> {
        rows::counts(&self.connection)
    }
}

/// Steps of tasks that have not ended: one at least of each is ready, or held, or waits for an approval. There are as many as there is work
/// to do, however many tasks have ended.
const OPEN: &str = "SELECT step_key >> 12 FROM step_rows INDEXED BY idx_steps_status_next_retry WHERE queue IS NOT NULL \
     UNION SELECT step_key >> 12 FROM step_rows INDEXED BY idx_steps_lease_owner_updated WHERE lease_owner IS NOT NULL \
     UNION SELECT step_key >> 12 FROM step_rows INDEXED BY idx_steps_waiting WHERE status = 1";

/// A few texts in all, so that each is prepared once. The table is walked from its newest end where what is wanted is common, and read
/// by an index where it may be rare.
pub(crate) fn tasks_sql(filter: &TaskFilter) -> String {
    let (index, rare) = match (&filter.namespace, filter.status) {
        (_, Some(status)) if !status.is_terminal() => ("", format!(" AND task_key IN ({OPEN})")),
        (Some(_), Some(status)) if status != Status::Success => {
            (" INDEXED BY idx_tasks_unsuccessful", " AND status > 4".to_owned())
        }
        (Some(namespace), _) if namespace.as_str() != DEFAULT => {
            (" INDEXED BY idx_tasks_namespace", format!(" AND namespace <> '{DEFAULT}'"))
        }
        _ => ("", String::new()),
    };
    let namespace = if filter.namespace.is_some() { " AND namespace = ?3" } else { " AND ?3 IS NULL" };
    // With `IS`, the planner takes the value for the index and not the range that makes it fit.
    let status = if filter.status.is_some() { " AND status IS ?4" } else { " AND ?4 IS NULL" };
    let columns = rows::TASK_COLUMNS;
    format!(
        "SELECT {columns} FROM task_rows{index} WHERE task_key < ?1{namespace}{status}{rare} ORDER BY task_key DESC LIMIT ?2"
    )
}

fn due(
    connection: &Connection,
    queue: Queue,
    now: i64,
    after: Option<(u64, StepKey)>,
    limit: usize,
) -> Result<Vec<(u64, StepKey)>, Error> {
    let ask = || {
        let entry = |row: &Row<'_>| Ok((columns::unsigned(row, 0)?, StepKey::from_raw(columns::unsigned(row, 1)?)));
        let mut found: Vec<(u64, StepKey)> = Vec::new();
        let mut from = -1;
        if let Some((due_ms, key)) = after {
            from = columns::time(due_ms);
            if from <= now {
                let seen = columns::time(key.raw());
                let mut statement = connection.prepare_cached(DUE_AT)?;
                let rows = statement.query_map((queue.number(), from, seen, rows::count(limit)), entry)?;
                found = rows.collect::<rusqlite::Result<_>>()?;
            }
        }
        let room = rows::count(limit - found.len());
        let mut statement = connection.prepare_cached(DUE_AFTER)?;
        for entry in statement.query_map((queue.number(), from, now, room), entry)? {
            found.push(entry?);
        }
        Ok(found)
    };
    ask().map_err(|error| failure::sqlite("cannot read a queue", &error))
}

fn conflict(row: &Row<'_>) -> rusqlite::Result<LeaseConflict> {
    let text = row.get_ref(3)?.as_str()?;
    let verb = columns::verb(text).ok_or_else(|| {
        let unknown = format!("`{text}` is no verb that a lease conflict can be about");
        rusqlite::Error::FromSqlConversionFailure(3, rusqlite::types::Type::Text, unknown.into())
    })?;
    Ok(LeaseConflict {
        at_ms: columns::unsigned(row, 0)?,
        step: StepId { task: TaskId::from_bytes(row.get(1)?), index: row.get(2)? },
        verb,
        found: columns::status(row, 4)?,
        epoch: row.get(5)?,
        given: row.get(6)?,
    })
}
