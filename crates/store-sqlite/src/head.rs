//! The head row: where the log stands, one row, written once per commit.

use crate::{columns, failure};
use relaymesh_core::{hash::Hash, hlc::Hlc, id::NodeId, op::Chain, row::StateHash};
use relaymesh_store::{Error, Head};
use rusqlite::{Connection, OptionalExtension, Row};

const SELECT: &str = "SELECT pos, origin, origin_epoch, seq, hash, hlc_wall_ms, hlc_logical, hlc_node, state \
                      FROM log_head WHERE id = 1";
const INSERT: &str = "INSERT OR REPLACE INTO log_head \
                      (id, pos, origin, origin_epoch, seq, hash, hlc_wall_ms, hlc_logical, hlc_node, state) \
                      VALUES (1, ?1, ?2, ?3, ?4, ?5, ?6, ?7, ?8, ?9)";
const UPDATE: &str = "UPDATE log_head SET pos = ?1, origin = ?2, origin_epoch = ?3, seq = ?4, hash = ?5, \
                      hlc_wall_ms = ?6, hlc_logical = ?7, hlc_node = ?8, state = ?9 WHERE id = 1";

/// The head as it was committed.
pub(crate) fn load(connection: &Connection) -> Result<Head, Error> {
    let read = || connection.prepare_cached(SELECT)?.query_row([], from_row).optional();
    let found = read().map_err(|error| failure::sqlite("cannot read the head of the log", &error))?;
    found.ok_or_else(|| failure::damaged("the head row of the log is missing"))
}

/// Puts the first head.
pub(crate) fn insert(connection: &Connection, head: &Head) -> rusqlite::Result<()> {
    write(connection, head, INSERT).map(drop)
}

/// Moves the head. False when there is none.
pub(crate) fn update(connection: &Connection, head: &Head) -> rusqlite::Result<bool> {
    write(connection, head, UPDATE).map(|rows| rows == 1)
}

fn write(connection: &Connection, head: &Head, sql: &str) -> rusqlite::Result<usize> {
    let chain = &head.chain;
    connection.prepare_cached(sql)?.execute((
        columns::int(head.pos)?,
        chain.origin.to_bytes(),
        chain.origin_epoch,
        columns::int(chain.seq)?,
        chain.head.0,
        chain.hlc.map(|hlc| columns::int(hlc.wall_ms)).transpose()?,
        chain.hlc.map(|hlc| hlc.logical),
        chain.hlc.map(|hlc| hlc.node.to_bytes()),
        head.state.0.to_be_bytes(),
    ))
}

fn from_row(row: &Row<'_>) -> rusqlite::Result<Head> {
    let hlc = match (row.get::<_, Option<i64>>(5)?, row.get::<_, Option<u32>>(6)?, row.get::<_, Option<[u8; 16]>>(7)?) {
        (Some(_), Some(logical), Some(node)) => {
            Some(Hlc { wall_ms: columns::unsigned(row, 5)?, logical, node: NodeId::from_bytes(node) })
        }
        _ => None,
    };
    let chain = Chain {
        origin: NodeId::from_bytes(row.get(1)?),
        origin_epoch: row.get(2)?,
        seq: columns::unsigned(row, 3)?,
        head: Hash(row.get(4)?),
        hlc,
    };
    Ok(Head { pos: columns::unsigned(row, 0)?, chain, state: StateHash(u128::from_be_bytes(row.get(8)?)) })
}
