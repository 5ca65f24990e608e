//! Values between rows and columns. SQLite's integers are signed 64-bit; ours are not.

use relaymesh_core::task::Status;
use relaymesh_store::Queue;
use rusqlite::Row;

/// A key or position as a column. One beyond 2^63 does not fit and is a mistake of the caller.
pub(crate) fn int(number: u64) -> rusqlite::Result<i64> {
    i64::try_from(number).map_err(|error| rusqlite::Error::ToSqlConversionFailure(Box::new(error)))
}

/// A time as a column. One beyond 2^63 ms, which no clock reaches, is told as the last one that fits; the row itself
/// keeps the exact one.
pub(crate) fn time(ms: u64) -> i64 {
    i64::try_from(ms).unwrap_or(i64::MAX)
}

/// An unsigned number out of a column.
pub(crate) fn unsigned(row: &Row<'_>, column: usize) -> rusqlite::Result<u64> {
    let found: i64 = row.get(column)?;
    u64::try_from(found).map_err(|_| rusqlite::Error::IntegralValueOutOfRange(column, found))
}

/// A status out of a column.
pub(crate) fn status(row: &Row<'_>, column: usize) -> rusqlite::Result<Status> {
    let found: i64 = row.get(column)?;
    let known = usize::try_from(found).ok().and_then(|number| Status::ALL.get(number).copied());
    known.ok_or(rusqlite::Error::IntegralValueOutOfRange(column, found))
}

/// A queue's number and time as columns.
pub(crate) fn queue(queue: Option<(Queue, u64)>) -> (Option<u8>, Option<i64>) {
    (queue.map(|(queue, _)| queue.number()), queue.map(|(_, due_ms)| time(due_ms)))
}

/// Positions as one column, eight bytes each; none at all is NULL.
pub(crate) fn positions(positions: &[u64]) -> Option<Vec<u8>> {
    (!positions.is_empty()).then(|| positions.iter().flat_map(|pos| pos.to_be_bytes()).collect())
}

/// The words that can come too late (D7).
const VERBS: [&str; 9] = ["complete", "fail", "yield", "record", "renew", "claim", "heartbeat", "expire", "timeout"];

/// The verb with this text.
pub(crate) fn verb(text: &str) -> Option<&'static str> {
    VERBS.into_iter().find(|verb| *verb == text)
}
