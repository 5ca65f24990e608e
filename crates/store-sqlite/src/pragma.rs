//! PRAGMAs: set, read back and compared on every connection (R11).
//!
//! SQLite ignores a PRAGMA that it does not know, cannot apply right now or was built without, and says nothing. A store
//! that believes it syncs and does not is worse than one that will not start. So each setting is read back, and a
//! mismatch stops the open with the setting, what was wanted and what was found.

use crate::{Options, failure};
use relaymesh_store::Error;
use rusqlite::{Connection, types::Value};

/// One setting: what to set, if it can be set on this connection, and what must be read back.
#[derive(Debug, Clone, PartialEq)]
pub(crate) struct Pragma {
    name: &'static str,
    /// `None` when it belongs to the file and is only read.
    set: Option<&'static str>,
    wanted: Value,
}

const BUSY_TIMEOUT_MS: i64 = 5000;
/// What `PRAGMA application_id` says, so that `file` and we can tell whose file it is: "RMsh".
pub(crate) const APPLICATION_ID: i64 = 0x524d_7368;

fn number(name: &'static str, set: &'static str, wanted: i64) -> Pragma {
    Pragma { name, set: Some(set), wanted: Value::Integer(wanted) }
}

fn given(name: &'static str, wanted: Value) -> Pragma {
    Pragma { name, set: None, wanted }
}

/// For every connection: waiting, references, and mistrust of what lies in the file.
fn common() -> Vec<Pragma> {
    vec![
        given("application_id", Value::Integer(APPLICATION_ID)),
        number("busy_timeout", "5000", BUSY_TIMEOUT_MS),
        number("foreign_keys", "ON", 1),
        number("cell_size_check", "ON", 1),
        number("trusted_schema", "OFF", 0),
        number("temp_store", "MEMORY", 2),
        number("mmap_size", "0", 0),
    ]
}

/// The journal that every store has, from before it has its name.
pub(crate) fn wal() -> Pragma {
    Pragma { name: "journal_mode", set: Some("WAL"), wanted: Value::Text("wal".to_owned()) }
}

/// For the writer. Its checkpoints are run by the thread beside it.
pub(crate) fn writer(options: &Options) -> Vec<Pragma> {
    let level = match options.sync {
        crate::Sync::Full => "FULL",
        crate::Sync::Normal => "NORMAL",
        crate::Sync::Off => "OFF",
    };
    let mut all = common();
    all.push(wal());
    all.push(number("synchronous", level, options.sync.number()));
    all.push(number("wal_autocheckpoint", "0", 0));
    all.push(number("cache_size", "-16384", -16384));
    all
}

/// For the thread that checkpoints: it syncs the database before frames of the write-ahead log may be overwritten.
pub(crate) fn checkpointer(options: &Options) -> Vec<Pragma> {
    let mut all = writer(options);
    all.retain(|pragma| pragma.name != "cache_size");
    all.push(number("cache_size", "-256", -256));
    all
}

/// For readers: they change nothing, and find the journal as the writer left it.
pub(crate) fn reader() -> Vec<Pragma> {
    let mut all = common();
    all.push(given("journal_mode", Value::Text("wal".to_owned())));
    all.push(number("query_only", "ON", 1));
    all.push(number("cache_size", "-4096", -4096));
    all
}

/// Sets each one, reads it back and compares.
pub(crate) fn apply(connection: &Connection, pragmas: &[Pragma]) -> Result<(), Error> {
    for pragma in pragmas {
        if let Some(value) = pragma.set {
            run(connection, &format!("PRAGMA {} = {value}", pragma.name))?;
        }
        let found = run(connection, &format!("PRAGMA {}", pragma.name))?;
        if found.as_ref() != Some(&pragma.wanted) {
            return Err(mismatch(pragma, found));
        }
    }
    Ok(())
}

/// What each setting is on this connection, by name, as it is read back.
pub(crate) fn found(connection: &Connection, pragmas: &[Pragma]) -> Result<Vec<(&'static str, String)>, Error> {
    let ask = |pragma: &Pragma| {
        let found = run(connection, &format!("PRAGMA {}", pragma.name))?;
        Ok((pragma.name, found.as_ref().map_or("nothing".to_owned(), text)))
    };
    pragmas.iter().map(ask).collect()
}

/// Runs a PRAGMA and gives the first value that it answers, if it answers at all.
fn run(connection: &Connection, sql: &str) -> Result<Option<Value>, Error> {
    let ask = || {
        let mut statement = connection.prepare(sql)?;
        let mut rows = statement.query([])?;
        let found = rows.next()?.map(|row| row.get(0)).transpose()?;
        while rows.next()?.is_some() {}
        Ok(found)
    };
    ask().map_err(|error| failure::sqlite(sql, &error))
}

fn text(value: &Value) -> String {
    match value {
        Value::Null => "nothing".to_owned(),
        Value::Integer(number) => number.to_string(),
        Value::Real(number) => number.to_string(),
        Value::Text(text) => text.clone(),
        Value::Blob(bytes) => format!("{} bytes", bytes.len()),
    }
}

fn mismatch(pragma: &Pragma, found: Option<Value>) -> Error {
    let (name, wanted) = (pragma.name, text(&pragma.wanted));
    let found = found.as_ref().map_or("nothing".to_owned(), text);
    Error::Unusable {
        detail: format!(
            "PRAGMA {name} is {found} instead of {wanted}: this SQLite, this file or this file system cannot be trusted \
             with the store. Put the root on a local disk, and check that no other program changes the file"
        ),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_mismatch_names_pragma_wanted_and_found() {
        let connection = Connection::open_in_memory().unwrap();
        let wanted = [Pragma { name: "journal_mode", set: Some("WAL"), wanted: Value::Text("wal".to_owned()) }];
        let Err(Error::Unusable { detail }) = apply(&connection, &wanted) else { panic!("memory has no WAL") };
        assert!(detail.contains("journal_mode is memory instead of wal"), "{detail}");
    }

    #[test]
    fn a_pragma_that_is_not_known_is_a_mismatch() {
        let connection = Connection::open_in_memory().unwrap();
        let Err(Error::Unusable { detail }) = apply(&connection, &[number("synchronus", "2", 2)]) else {
            panic!("there is no such setting")
        };
        assert!(detail.contains("synchronus is nothing instead of 2"), "{detail}");
    }

    #[test]
    fn what_is_set_is_what_is_read() {
        let connection = Connection::open_in_memory().unwrap();
        let settable: Vec<Pragma> = common().into_iter().filter(|pragma| pragma.set.is_some()).collect();
        // A database in memory has no map to switch off.
        let settable: Vec<Pragma> = settable.into_iter().filter(|pragma| pragma.name != "mmap_size").collect();
        assert_eq!(apply(&connection, &settable), Ok(()));
    }

    #[test]
    fn each_level_of_sync_is_asked_for_by_its_number() {
        for (sync, wanted) in [(crate::Sync::Full, 2), (crate::Sync::Normal, 1), (crate::Sync::Off, 0)] {
            let all = writer(&Options { sync, ..Options::default() });
            let pragma = all.iter().find(|pragma| pragma.name == "synchronous").unwrap();
            assert_eq!(pragma.wanted, Value::Integer(wanted));
        }
    }
}
