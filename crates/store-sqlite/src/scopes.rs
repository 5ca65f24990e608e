//! Rows of scopes other than tasks: one table, by scope and part.

use crate::{columns, commit::Failure, failure};
use relaymesh_core::{
    id::{MessageId, ThreadId},
    kernel::Rows,
    lanes::Priority,
    message::State,
    name::Name,
    op::Scope,
    row::RowSum,
};
use relaymesh_store::{
    Error, Queue, ScopePut,
    scope::{Change, ScopeRow, StoredRow, assemble, scope_bytes, scope_of},
};
use rusqlite::{Connection, Row};

/// What falls due next among them.
pub(crate) const NEXT_DUE: &str =
    "SELECT min(due_ms) FROM scope_rows INDEXED BY idx_scopes_due WHERE due_ms IS NOT NULL AND due_ms > ?1";
pub(crate) const DUE: &str = "SELECT due_ms, scope FROM scope_rows INDEXED BY idx_scopes_due \
     WHERE due_ms IS NOT NULL AND due_ms <= ?1 ORDER BY due_ms, scope LIMIT ?2";

pub(crate) const INBOX: &str = "SELECT scope, part FROM scope_rows INDEXED BY idx_messages_inbox \
     WHERE queued_ms IS NOT NULL AND to_agent = ?1 AND lane = ?2 AND queued_ms <= ?3 AND namespace = ?4 \
     ORDER BY queued_ms, scope, part LIMIT ?5";

/// Writes the rows in their order.
pub(crate) fn write(connection: &Connection, puts: &[ScopePut]) -> Result<(), Failure> {
    for put in puts {
        let (scope, part) = (scope_bytes(put.scope), part_bytes(put.part.as_ref()));
        let changed = match &put.change {
            Change::Created(row) => {
                let sql = "INSERT INTO scope_rows (scope, part, namespace, name, due_ms, sum, row, from_agent, to_agent, \
                           state, lane, sent_at_ms, queued_ms, task_id, content_pos, rested_ms) \
                           VALUES (?1, ?2, ?3, ?4, ?5, ?6, ?7, ?8, ?9, ?10, ?11, ?12, ?13, ?14, ?15, ?16)";
                execute(connection, sql, &scope, part, row)?
            }
            Change::Changed(row) => {
                let sql = "UPDATE scope_rows SET namespace = ?3, name = ?4, due_ms = ?5, sum = ?6, row = ?7, \
                           from_agent = ?8, to_agent = ?9, state = ?10, lane = ?11, sent_at_ms = ?12, queued_ms = ?13, \
                           task_id = ?14, content_pos = ?15, rested_ms = ?16 WHERE scope = ?1 AND part = ?2";
                execute(connection, sql, &scope, part, row)?
            }
            Change::Removed => {
                if matches!(put.scope, Scope::Thread(_)) {
                    connection.prepare_cached("DELETE FROM message_files WHERE msg_id = ?1")?.execute([part])?;
                }
                connection
                    .prepare_cached("DELETE FROM scope_rows WHERE scope = ?1 AND part = ?2")?
                    .execute((&scope[..], part))?
            }
        };
        if changed != 1 {
            return Err(Failure::Conflict(format!("the row {:?} of {} is not there", put.part, put.scope)));
        }
    }
    Ok(())
}

fn execute(connection: &Connection, sql: &str, scope: &[u8], part: &[u8], row: &ScopeRow) -> rusqlite::Result<usize> {
    let message = row.message.as_ref();
    let number = |priority: Priority| Queue::Ready(priority).number();
    connection.prepare_cached(sql)?.execute((
        scope,
        part,
        row.namespace.as_str(),
        &row.name,
        row.due_ms.map(columns::time),
        &row.sum.0.to_be_bytes()[..],
        &row.bytes[..],
        message.map(|message| message.from.as_str()),
        message.map(|message| message.to.as_str()),
        message.map(|message| message.state as u8),
        message.map(|message| number(message.priority)),
        message.map(|message| columns::time(message.sent_ms)),
        message.and_then(|message| message.queued_ms).map(columns::time),
        message.and_then(|message| message.task).map(|task| task.to_bytes().to_vec()),
        columns::int(message.map_or(0, |message| message.content_pos))?,
        row.rested_ms.map(columns::time),
    ))
}

/// The rows of a scope.
pub(crate) fn scope(connection: &Connection, scope: Scope) -> Result<Option<Rows>, Error> {
    rows_in(connection, "scope_rows", "content_pos", scope)
}

/// The rows of a scope in a table; `content_pos` is the column or number that says where content lies.
pub(crate) fn rows_in(
    connection: &Connection,
    table: &str,
    content_pos: &str,
    scope: Scope,
) -> Result<Option<Rows>, Error> {
    let ask = || {
        let sql = format!("SELECT part, row, sum, {content_pos} FROM {table} WHERE scope = ?1 ORDER BY part");
        let mut statement = connection.prepare_cached(&sql)?;
        let rows = statement.query_map([&scope_bytes(scope)[..]], stored)?;
        rows.collect::<rusqlite::Result<Vec<_>>>()
    };
    assemble(scope, ask().map_err(|error| failure::sqlite("cannot read the rows of a scope", &error))?)
}

/// Every scope that has rows, in order.
pub(crate) fn scopes(connection: &Connection, after: Option<Scope>, limit: usize) -> Result<Vec<Scope>, Error> {
    listed(connection, "scope_rows", after, limit)
}

/// Every scope that has rows in a table, in order.
pub(crate) fn listed(
    connection: &Connection,
    table: &str,
    after: Option<Scope>,
    limit: usize,
) -> Result<Vec<Scope>, Error> {
    let ask = || {
        let sql = format!("SELECT DISTINCT scope FROM {table} WHERE scope > ?1 ORDER BY scope LIMIT ?2");
        let after = after.map_or(Vec::new(), |after| scope_bytes(after).to_vec());
        let mut statement = connection.prepare_cached(&sql)?;
        let rows = statement.query_map((after, crate::rows::count(limit)), |row| row.get::<_, Vec<u8>>(0))?;
        rows.collect::<rusqlite::Result<Vec<_>>>()
    };
    let found = ask().map_err(|error| failure::sqlite("cannot list the scopes", &error))?;
    found.iter().map(|bytes| known(bytes)).collect()
}

pub(crate) const THREADS: &str = "SELECT DISTINCT scope FROM scope_rows INDEXED BY idx_messages_state_priority_created \
     WHERE state = ?1 AND scope > ?2 ORDER BY scope LIMIT ?3";

/// Threads with a message in this state, in order.
pub(crate) fn threads(
    connection: &Connection,
    state: State,
    after: Option<ThreadId>,
    limit: usize,
) -> Result<Vec<ThreadId>, Error> {
    let ask = || {
        let mut statement = connection.prepare_cached(THREADS)?;
        let after = after.map_or(Vec::new(), |after| scope_bytes(Scope::Thread(after)).to_vec());
        let values = (state as u8, after, crate::rows::count(limit));
        let rows = statement.query_map(values, |row| row.get::<_, Vec<u8>>(0))?;
        rows.collect::<rusqlite::Result<Vec<_>>>()
    };
    let found = ask().map_err(|error| failure::sqlite("cannot list the threads", &error))?;
    let thread = |bytes: &Vec<u8>| {
        let scope = known(bytes)?;
        let Scope::Thread(thread) = scope else { return Err(failure::damaged(format!("{scope} has a message"))) };
        Ok(thread)
    };
    found.iter().map(thread).collect()
}

/// What is due, longest due first.
pub(crate) fn due(connection: &Connection, now_ms: u64, limit: usize) -> Result<Vec<(u64, Scope)>, Error> {
    let ask = || {
        let mut statement = connection.prepare_cached(DUE)?;
        let now = columns::time(now_ms);
        let read = |row: &Row<'_>| Ok((columns::unsigned(row, 0)?, row.get::<_, Vec<u8>>(1)?));
        let rows = statement.query_map((now, crate::rows::count(limit)), read)?;
        rows.collect::<rusqlite::Result<Vec<_>>>()
    };
    let found = ask().map_err(|error| failure::sqlite("cannot read what is due", &error))?;
    found.into_iter().map(|(due_ms, bytes)| Ok((due_ms, known(&bytes)?))).collect()
}

/// Messages that wait for an agent, longest waiting first.
pub(crate) fn inbox(
    connection: &Connection,
    (namespace, agent, priority): (&Name, &Name, Priority),
    now_ms: u64,
    limit: usize,
) -> Result<Vec<(ThreadId, MessageId)>, Error> {
    let ask = || {
        let mut statement = connection.prepare_cached(INBOX)?;
        let lane = Queue::Ready(priority).number();
        let values = (agent.as_str(), lane, columns::time(now_ms), namespace.as_str(), crate::rows::count(limit));
        let rows = statement.query_map(values, |row| Ok((row.get::<_, Vec<u8>>(0)?, row.get::<_, [u8; 16]>(1)?)))?;
        rows.collect::<rusqlite::Result<Vec<_>>>()
    };
    let found = ask().map_err(|error| failure::sqlite("cannot read an inbox", &error))?;
    let message = |(scope, part): (Vec<u8>, [u8; 16])| match known(&scope)? {
        Scope::Thread(thread) => Ok((thread, MessageId::from_bytes(part))),
        Scope::Task(_)
        | Scope::Repository(_)
        | Scope::Namespace(_)
        | Scope::Plan(_)
        | Scope::Register(_)
        | Scope::Log => Err(failure::damaged("a message lies in no thread")),
    };
    found.into_iter().map(message).collect()
}

pub(crate) fn known(bytes: &[u8]) -> Result<Scope, Error> {
    scope_of(bytes).ok_or_else(|| failure::damaged("a row belongs to a scope of a sort that is not known"))
}

fn part_bytes(part: Option<&[u8; 16]>) -> &[u8] {
    part.map_or(&[], |part| &part[..])
}

fn stored(row: &Row<'_>) -> rusqlite::Result<StoredRow> {
    let part: Vec<u8> = row.get(0)?;
    // Anything but nothing or 16 bytes is no part that was ever written; the sum of the row will say so.
    let part = (!part.is_empty()).then(|| part.try_into().unwrap_or([0; 16]));
    Ok((part, row.get(1)?, RowSum(u128::from_be_bytes(row.get(2)?)), columns::unsigned(row, 3)?))
}
