//! What identifies a row is never NULL: to SQLite two NULLs differ, and a key with one in it is no key.

use crate::schema::{self, MIGRATIONS};
use rusqlite::Connection;

/// The columns of every primary key and unique index, as `table.column`, that may hold NULL.
fn open_to_null(connection: &Connection) -> (usize, Vec<String>) {
    // A column may be NULL unless it says otherwise; an integer that is the whole primary key is the row's number, and a table without
    // one of its own has NOT NULL in its primary key by itself.
    let sql = "
        SELECT t.name || '.' || c.name,
               c.\"notnull\" = 0
               AND NOT (c.pk = 1 AND c.type = 'INTEGER'
                        AND (SELECT count(*) FROM pragma_table_xinfo(t.name) WHERE pk > 0) = 1)
               AND NOT (c.pk > 0 AND t.wr = 1)
        FROM pragma_table_list AS t JOIN pragma_table_xinfo(t.name) AS c
        WHERE t.type = 'table' AND t.schema = 'main' AND t.name NOT LIKE 'sqlite\\_%' ESCAPE '\\'
          AND (c.pk > 0 OR EXISTS (
                SELECT 1 FROM pragma_index_list(t.name) AS i JOIN pragma_index_info(i.name) AS k
                WHERE i.\"unique\" = 1 AND k.name = c.name))";
    let mut statement = connection.prepare(sql).unwrap();
    let rows = statement.query_map([], |row| Ok((row.get::<_, String>(0)?, row.get::<_, bool>(1)?))).unwrap();
    let columns: Vec<(String, bool)> = rows.collect::<Result<_, _>>().unwrap();
    let count = columns.len();
    (count, columns.into_iter().filter(|(_, is_open)| *is_open).map(|(column, _)| column).collect())
}

#[test]
fn d28_no_column_of_a_key_may_be_null() {
    let mut connection = Connection::open_in_memory().unwrap();
    schema::migrate(&mut connection, MIGRATIONS, 0).unwrap();
    let (keys, open) = open_to_null(&connection);
    assert_eq!(open, Vec::<String>::new());
    assert!(keys > 20, "{keys} columns: this looks in the wrong place");
}

#[test]
fn a_key_that_may_be_null_is_found() {
    let connection = Connection::open_in_memory().unwrap();
    connection
        .execute_batch(
            "CREATE TABLE a (id INTEGER PRIMARY KEY, x TEXT, y TEXT NOT NULL, UNIQUE (x, y)) STRICT;
             CREATE TABLE b (x TEXT, y TEXT, PRIMARY KEY (x, y));
             CREATE TABLE c (x TEXT, y TEXT, PRIMARY KEY (x, y)) WITHOUT ROWID;",
        )
        .unwrap();
    let (keys, mut open) = open_to_null(&connection);
    open.sort_unstable();
    assert_eq!((keys, open), (7, ["a.x", "b.x", "b.y"].map(str::to_owned).to_vec()));
}
