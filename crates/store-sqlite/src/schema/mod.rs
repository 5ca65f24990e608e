//! The schema: numbered migrations for the tables, and views that follow the program.
//!
//! A migration is text that never changes once it was released; its checksum is kept beside its number and compared at
//! each open. Views hold no data, and their text follows from names in the code, so they are no migration: they are
//! made anew whenever their text differs.
//!
//! One transaction per migration, with `user_version` in it: there is no half-migrated file. A file with a higher number
//! than this program knows is refused before anything is touched.

mod tables;
mod views;

use crate::{failure, pragma::APPLICATION_ID};
use relaymesh_core::hash::Hash;
use relaymesh_store::Error;
use rusqlite::{Connection, OptionalExtension, Transaction, TransactionBehavior, params};

#[cfg(test)]
pub(crate) use views::ulid;

/// One numbered change of the tables.
#[derive(Debug)]
pub(crate) struct Migration {
    /// From 1, without gaps.
    pub(crate) version: i64,
    /// For people.
    pub(crate) description: &'static str,
    /// What it does.
    pub(crate) sql: &'static str,
}

/// Every migration there is, in order.
pub(crate) const MIGRATIONS: &[Migration] = &[
    Migration { version: 1, description: "log, rows, content, journals", sql: tables::V1 },
    Migration { version: 2, description: "blobs, and scopes other than tasks", sql: tables::V2 },
    Migration { version: 3, description: "what was used", sql: tables::V3 },
    Migration { version: 4, description: "traffic with other nodes", sql: tables::V4 },
    Migration { version: 5, description: "indexes for lists", sql: tables::V5 },
    Migration {
        version: 6,
        description: "for the views: epochs of leases, keys given up, files of messages",
        sql: tables::V6,
    },
];

/// The newest schema that this program knows.
pub const SCHEMA_VERSION: i64 = MIGRATIONS.len() as i64;

const MIGRATIONS_TABLE: &str = "
CREATE TABLE IF NOT EXISTS schema_migrations (
    version       INTEGER PRIMARY KEY,
    description   TEXT    NOT NULL,
    checksum      TEXT    NOT NULL,
    applied_at_ms INTEGER NOT NULL,
    success       INTEGER NOT NULL
) STRICT";

/// Refuses a file that is not ours, or newer than this program. Changes nothing.
pub(crate) fn refuse_unknown(connection: &Connection) -> Result<(), Error> {
    let application = number(connection, "PRAGMA application_id")?;
    if application != APPLICATION_ID {
        let detail = format!(
            "the database has application id {application:#x}, wanted {APPLICATION_ID:#x}: it is not a relaymesh store"
        );
        return Err(Error::Unusable { detail });
    }
    let found = number(connection, "PRAGMA user_version")?;
    if found > SCHEMA_VERSION {
        let detail = format!(
            "the store has schema {found} and this program knows up to {SCHEMA_VERSION}: use the newer relaymesh that \
             wrote it. Nothing was changed"
        );
        return Err(Error::Unusable { detail });
    }
    Ok(())
}

/// Refuses a file that an older program left. Readers change nothing; the writer will.
pub(crate) fn refuse_outdated(connection: &Connection) -> Result<(), Error> {
    if is_current(connection)? {
        return Ok(());
    }
    let found = number(connection, "PRAGMA user_version")?;
    let detail = format!(
        "the store has schema {found}, of an older relaymesh, and this program reads schema {SCHEMA_VERSION}: \
         `relaymesh init` brings it up to date"
    );
    Err(Error::Unusable { detail })
}

/// Whether the tables are those of this program.
pub(crate) fn is_current(connection: &Connection) -> Result<bool, Error> {
    Ok(number(connection, "PRAGMA user_version")? == SCHEMA_VERSION)
}

/// Brings the tables and views up to what this program knows.
pub(crate) fn migrate(connection: &mut Connection, migrations: &[Migration], now_ms: u64) -> Result<(), Error> {
    let failed = |error| failure::sqlite("cannot bring the schema up to date", &error);
    let current = number(connection, "PRAGMA user_version")?;
    compare_applied(connection, migrations, current)?;
    for migration in migrations.iter().filter(|migration| migration.version > current) {
        apply(connection, migration, now_ms).map_err(failed)?;
    }
    if views_differ(connection).map_err(failed)? {
        replace_views(connection).map_err(failed)?;
    }
    Ok(())
}

fn apply(connection: &mut Connection, migration: &Migration, now_ms: u64) -> rusqlite::Result<()> {
    let transaction = Transaction::new(connection, TransactionBehavior::Immediate)?;
    transaction.execute_batch(MIGRATIONS_TABLE)?;
    transaction.execute_batch(migration.sql)?;
    let now_ms = i64::try_from(now_ms).unwrap_or(i64::MAX);
    transaction.execute(
        "INSERT INTO schema_migrations (version, description, checksum, applied_at_ms, success) VALUES (?1, ?2, ?3, ?4, 1)",
        params![migration.version, migration.description, checksum(migration), now_ms],
    )?;
    transaction.execute_batch(&format!("PRAGMA user_version = {}", migration.version))?;
    transaction.commit()
}

/// What was applied must be what this program would have applied.
fn compare_applied(connection: &Connection, migrations: &[Migration], current: i64) -> Result<(), Error> {
    for migration in migrations.iter().filter(|migration| migration.version <= current) {
        let row = connection
            .query_row(
                "SELECT checksum, success FROM schema_migrations WHERE version = ?1",
                [migration.version],
                |row| Ok((row.get::<_, String>(0)?, row.get::<_, bool>(1)?)),
            )
            .optional()
            .map_err(|error| failure::sqlite("cannot read which migrations were applied", &error))?;
        let (version, wanted) = (migration.version, checksum(migration));
        let found = match row {
            Some((found, true)) if found == wanted => continue,
            Some((found, true)) => format!("has checksum {found}, wanted {wanted}"),
            Some((_, false)) => "did not finish".to_owned(),
            None => "is not recorded".to_owned(),
        };
        return Err(Error::Unusable {
            detail: format!(
                "migration {version} {found}: the file was made or changed by another program. Nothing was changed"
            ),
        });
    }
    Ok(())
}

fn checksum(migration: &Migration) -> String {
    Hash::sha3(&[migration.sql.as_bytes()]).to_string()
}

fn views_differ(connection: &Connection) -> rusqlite::Result<bool> {
    let mut statement = connection.prepare("SELECT sql FROM sqlite_schema WHERE type = 'view' AND name = ?1")?;
    for (name, sql) in views::all() {
        let found: Option<String> = statement.query_row([name], |row| row.get(0)).optional()?;
        if found.as_deref() != Some(&sql) {
            return Ok(true);
        }
    }
    Ok(false)
}

fn replace_views(connection: &mut Connection) -> rusqlite::Result<()> {
    let transaction = Transaction::new(connection, TransactionBehavior::Immediate)?;
    for (name, sql) in views::all() {
        transaction.execute_batch(&format!("DROP VIEW IF EXISTS {name}; {sql};"))?;
    }
    transaction.commit()
}

fn number(connection: &Connection, sql: &str) -> Result<i64, Error> {
    connection.query_row(sql, [], |row| row.get(0)).map_err(|error| failure::sqlite(sql, &error))
}
