//! Connections: what kind there are, and what each one must pass before it is used.

use crate::{Options, Root, failure, pragma, schema};
use relaymesh_store::Error;
use rusqlite::{Connection, OpenFlags, config::DbConfig};

/// Before this one, a WAL reset could lose frames and corrupt the file.
const SQLITE_MIN: i32 = 3_051_003;
const STATEMENTS_MAX: usize = 64;

/// The writer. Refuses a file that is not ours or newer than we are, before anything in it is changed.
pub(crate) fn writer(root: &Root, options: &Options) -> Result<Connection, Error> {
    let connection = open(root, OpenFlags::SQLITE_OPEN_READ_WRITE)?;
    schema::refuse_unknown(&connection)?;
    pragma::apply(&connection, &pragma::writer(options))?;
    Ok(connection)
}

/// The connection that checkpoints beside the writer.
pub(crate) fn checkpointer(root: &Root, options: &Options) -> Result<Connection, Error> {
    let connection = open(root, OpenFlags::SQLITE_OPEN_READ_WRITE)?;
    pragma::apply(&connection, &pragma::checkpointer(options))?;
    Ok(connection)
}

/// A reader.
pub(crate) fn reader(root: &Root) -> Result<Connection, Error> {
    let connection = open(root, OpenFlags::SQLITE_OPEN_READ_ONLY)?;
    schema::refuse_unknown(&connection)?;
    schema::refuse_outdated(&connection)?;
    pragma::apply(&connection, &pragma::reader())?;
    Ok(connection)
}

fn open(root: &Root, access: OpenFlags) -> Result<Connection, Error> {
    refuse_old(rusqlite::version_number())?;
    let path = root.database();
    if !path.try_exists().map_err(|error| failure::io("cannot look at", &path, &error))? {
        return Err(Error::Io {
            detail: format!("there is no store in {}: create one first", root.folder().display()),
        });
    }
    let what = format!("cannot open {}", path.display());
    let connection = Connection::open_with_flags(&path, access | OpenFlags::SQLITE_OPEN_NO_MUTEX)
        .map_err(|error| failure::sqlite(&what, &error))?;
    connection.set_prepared_statement_cache_capacity(STATEMENTS_MAX);
    // The last one to leave would copy the write-ahead log and delete it: after amnesia it is the only evidence.
    connection
        .set_db_config(DbConfig::SQLITE_DBCONFIG_NO_CKPT_ON_CLOSE, true)
        .map_err(|error| failure::sqlite(&what, &error))?;
    Ok(connection)
}

/// The version of SQLite that is built in.
pub(crate) fn version() -> &'static str {
    rusqlite::version()
}

fn refuse_old(found: i32) -> Result<(), Error> {
    if found >= SQLITE_MIN {
        return Ok(());
    }
    let text = |number: i32| format!("{}.{}.{}", number / 1_000_000, number / 1000 % 1000, number % 1000);
    Err(Error::Unusable {
        detail: format!(
            "SQLite {} is too old, {} is needed: before it a reset of the WAL could corrupt the file. Build with the \
             bundled one",
            text(found),
            text(SQLITE_MIN)
        ),
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn an_old_sqlite_is_refused_by_number() {
        assert_eq!(refuse_old(rusqlite::version_number()), Ok(()));
        let Err(Error::Unusable { detail }) = refuse_old(3_051_002) else { panic!("too old") };
        assert!(detail.contains("SQLite 3.51.2 is too old, 3.51.3 is needed"), "{detail}");
    }
}
