//! What went wrong below us, in the words of the seam.

use relaymesh_store::Error;
use rusqlite::ErrorCode;
use std::{fmt::Display, io, path::Path};

/// A failed read, open or set-up: nothing was going to change, so nothing is unknown.
pub(crate) fn sqlite(what: &str, error: &rusqlite::Error) -> Error {
    let detail = format!("{what}: {error}");
    match kind(error) {
        Kind::Full => Error::Full { detail },
        Kind::Damaged => Error::Damaged {
            detail: format!("{detail}. Copy the root, then check the whole store with `relaymesh log verify`"),
        },
        Kind::Busy => Error::InUse {
            detail: format!("{detail}. Another program has the database open for writing; close it and try again"),
        },
        Kind::Constraint => Error::Conflict { detail },
        Kind::Io | Kind::Other => Error::Io { detail },
    }
}

/// A failed call to the file system.
pub(crate) fn io(what: &str, path: &Path, error: &io::Error) -> Error {
    let detail = format!("{what} {}: {error}", path.display());
    match error.kind() == io::ErrorKind::StorageFull {
        true => Error::Full { detail },
        false => Error::Io { detail },
    }
}

/// Something read that was never written like this.
pub(crate) fn damaged(detail: impl Display) -> Error {
    Error::Damaged {
        detail: format!("{detail}. Copy the root, then check the whole store with `relaymesh log verify`"),
    }
}

/// SQLite's errors by what they mean for a transaction.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Kind {
    /// No room; the transaction is undone.
    Full,
    /// A read, write or sync failed: nobody knows what is on the disk.
    Io,
    /// The file does not hold what was put there.
    Damaged,
    /// Somebody else holds the write lock.
    Busy,
    /// The rows do not fit those that are there.
    Constraint,
    /// A bug, or no memory.
    Other,
}

/// What this error means.
pub(crate) fn kind(error: &rusqlite::Error) -> Kind {
    match error.sqlite_error_code() {
        Some(ErrorCode::DiskFull) => Kind::Full,
        Some(ErrorCode::SystemIoFailure) => Kind::Io,
        Some(ErrorCode::DatabaseCorrupt | ErrorCode::NotADatabase) => Kind::Damaged,
        Some(ErrorCode::DatabaseBusy | ErrorCode::DatabaseLocked) => Kind::Busy,
        Some(ErrorCode::ConstraintViolation) => Kind::Constraint,
        // Our statements fit our schema; one that does not even parse met another schema.
        Some(_) if matches!(error, rusqlite::Error::SqlInputError { .. }) => Kind::Damaged,
        Some(_) => Kind::Other,
        None if is_value(error) => Kind::Damaged,
        None if matches!(error, rusqlite::Error::ToSqlConversionFailure(_)) => Kind::Constraint,
        None => Kind::Other,
    }
}

/// Whether a column held something else than the schema says.
fn is_value(error: &rusqlite::Error) -> bool {
    matches!(
        error,
        rusqlite::Error::FromSqlConversionFailure(..)
            | rusqlite::Error::IntegralValueOutOfRange(..)
            | rusqlite::Error::InvalidColumnType(..)
            | rusqlite::Error::Utf8Error(..)
    )
}
