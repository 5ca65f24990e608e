//! Traffic with other nodes as rows: written inside of the writer's transaction, read once at a start.
//!
//! What does not fit the rows that are there is a conflict and undoes the whole batch: the conditions stand in the statements
//! themselves. Rows whose damage would let something old in again, or send what nobody wrote, have a sum that is checked when
//! they are read: marks, numbers, and what waits. A bent nonce needs none, because the mark behind it still refuses.

use crate::{
    columns,
    commit::{Failure, must_be_there},
    failure,
};
use relaymesh_core::hash::Hash;
use relaymesh_store::{
    Error,
    traffic::{Admitted, Changes, Fingerprint, Item, Kept, Mark, Nonce, OutboxId, OutboxPut, Sender},
};
use rusqlite::{Connection, Row};

/// Writes what was decided.
pub(crate) fn write(connection: &Connection, changes: &Changes) -> Result<(), Failure> {
    for admitted in &changes.inbound {
        admit(connection, admitted)?;
    }
    if let Some(sender) = changes.sender {
        put_sender(connection, sender)?;
    }
    for put in &changes.outbox {
        put_item(connection, put)?;
    }
    Ok(())
}

fn admit(connection: &Connection, admitted: &Admitted) -> Result<(), Failure> {
    let Admitted { peer, mark, nonce, number, forgotten } = admitted;
    let mut add = connection.prepare_cached("INSERT INTO mesh_nonces (number, peer, nonce) VALUES (?1, ?2, ?3)")?;
    add.execute((columns::int(*number)?, &peer.0[..], &nonce.0[..]))?;
    let mut grow = connection.prepare_cached(
        "INSERT INTO mesh_marks (peer, epoch, sequence, sum) VALUES (?1, ?2, ?3, ?4) ON CONFLICT (peer) DO UPDATE \
         SET epoch = ?2, sequence = ?3, sum = ?4 WHERE (epoch, sequence) < (?2, ?3)",
    )?;
    let (epoch, sequence) = (columns::int(mark.epoch)?, columns::int(mark.sequence)?);
    let grown = grow.execute((&peer.0[..], epoch, sequence, &mark_sum(peer, *mark)[..]))?;
    must_be_there(grown, || format!("the mark of {peer} would not grow to {mark:?}"))?;
    for number in forgotten {
        let mut forget = connection.prepare_cached("DELETE FROM mesh_nonces WHERE number = ?1")?;
        let forgotten = forget.execute([columns::int(*number)?])?;
        must_be_there(forgotten, || format!("there is no nonce of admission {number} to forget"))?;
    }
    Ok(())
}

fn put_sender(connection: &Connection, sender: Sender) -> Result<(), Failure> {
    let mut put = connection.prepare_cached(
        "UPDATE mesh_own SET epoch = ?1, reserved = ?2, sum = ?3 WHERE id = 1 AND (epoch, reserved) < (?1, ?2)",
    )?;
    let (epoch, reserved) = (columns::int(sender.epoch)?, columns::int(sender.reserved)?);
    let changed = put.execute((epoch, reserved, &sender_sum(sender)[..]))?;
    must_be_there(changed, || format!("{sender:?} does not go on from the numbers that are there"))
}

fn put_item(connection: &Connection, put: &OutboxPut) -> Result<(), Failure> {
    let nothing = |id: &OutboxId| format!("nothing waits under the id {} of the outbox", id.0);
    match put {
        OutboxPut::Added(id, item) => {
            let key = columns::int(id.0)?;
            let mut last =
                connection.prepare_cached("UPDATE mesh_own SET outbox_last = ?1 WHERE id = 1 AND outbox_last < ?1")?;
            let is_new = last.execute([key])?;
            must_be_there(is_new, || format!("the id {} of the outbox was given already", id.0))?;
            let mut add = connection.prepare_cached(
                "INSERT INTO mesh_outbox (outbox_id, peer, message, not_before_ms, expires_ms, attempts, reason, sum) \
                 VALUES (?1, ?2, ?3, ?4, ?5, ?6, ?7, ?8)",
            )?;
            add.execute((
                key,
                &item.peer_fp.0[..],
                &item.message[..],
                columns::time(item.not_before_ms),
                columns::time(item.expires_ms),
                item.attempts,
                item.reason.as_deref(),
                &item_sum(*id, item)[..],
            ))?;
            Ok(())
        }
        OutboxPut::Changed { id, not_before_ms, attempts, reason } => {
            let mut change = connection.prepare_cached(
                "UPDATE mesh_outbox SET not_before_ms = ?2, attempts = ?3, reason = ?4 WHERE outbox_id = ?1",
            )?;
            let values = (columns::int(id.0)?, columns::time(*not_before_ms), attempts, reason.as_deref());
            must_be_there(change.execute(values)?, || nothing(id))
        }
        OutboxPut::Removed(id) => {
            let mut remove = connection.prepare_cached("DELETE FROM mesh_outbox WHERE outbox_id = ?1")?;
            must_be_there(remove.execute([columns::int(id.0)?])?, || nothing(id))
        }
    }
}

/// All that is kept. The caller sees to it that it is of one moment.
pub(crate) fn load(connection: &Connection) -> Result<Kept, Error> {
    let (sender, outbox_last) = own(connection)?;
    let marks = all(connection, "SELECT peer, epoch, sequence, sum FROM mesh_marks ORDER BY peer", |row| {
        let mark = Mark { epoch: columns::unsigned(row, 1)?, sequence: columns::unsigned(row, 2)? };
        let peer = Fingerprint(row.get(0)?);
        Ok(((peer, mark), row.get::<_, [u8; 16]>(3)? == mark_sum(&peer, mark), format!("the mark of {peer}")))
    })?;
    let nonces = all(connection, "SELECT number, peer, nonce FROM mesh_nonces ORDER BY number", |row| {
        let nonce = (columns::unsigned(row, 0)?, Fingerprint(row.get(1)?), Nonce(row.get(2)?));
        Ok((nonce, true, String::new()))
    })?;
    let outbox = all(
        connection,
        "SELECT outbox_id, peer, message, not_before_ms, expires_ms, attempts, reason, sum FROM mesh_outbox ORDER BY outbox_id",
        |row| {
            let (id, item) = item(row)?;
            let fits = row.get::<_, [u8; 16]>(7)? == item_sum(id, &item);
            Ok(((id, item), fits, format!("what waits in the outbox as {}", id.0)))
        },
    )?;
    Ok(Kept { marks, nonces, sender, outbox_last, outbox })
}

/// This node as a sender, and the last id of the outbox.
pub(crate) fn own(connection: &Connection) -> Result<(Sender, u64), Error> {
    let mut own = all(connection, "SELECT epoch, reserved, outbox_last, sum FROM mesh_own", |row| {
        let sender = Sender { epoch: columns::unsigned(row, 0)?, reserved: columns::unsigned(row, 1)? };
        let fits = match row.get::<_, Option<[u8; 16]>>(3)? {
            Some(sum) => sum == sender_sum(sender),
            None => sender == Sender::default(),
        };
        Ok(((sender, columns::unsigned(row, 2)?), fits, "the numbers of this node as a sender".to_owned()))
    })?;
    own.pop().ok_or_else(|| failure::damaged("the numbers of this node as a sender are missing"))
}

/// Begins a later life as a sender, at least with this number: whoever forgot how far it counted cannot go on (D17).
pub(crate) fn begin_epoch(connection: &Connection, epoch_min: u64) -> Result<(), Error> {
    let (sender, _) = own(connection)?;
    let next = sender.epoch.saturating_add(1).max(epoch_min);
    let sender = sender.begin(next).ok_or_else(|| failure::damaged("there is no sender epoch left"))?;
    put_sender(connection, sender).map_err(|failed| match failed {
        Failure::Conflict(detail) => Error::Conflict { detail },
        Failure::Sqlite(error) => failure::sqlite("cannot begin a new life as a sender", &error),
    })
}

fn item(row: &Row<'_>) -> rusqlite::Result<(OutboxId, Item)> {
    // A time that does not fit is the last one that does, and stands for all beyond it.
    let time = |column| columns::unsigned(row, column).map(|ms| if ms == i64::MAX as u64 { u64::MAX } else { ms });
    let item = Item {
        peer_fp: Fingerprint(row.get(1)?),
        message: row.get(2)?,
        not_before_ms: time(3)?,
        expires_ms: time(4)?,
        attempts: row.get(5)?,
        reason: row.get(6)?,
    };
    Ok((OutboxId(columns::unsigned(row, 0)?), item))
}

/// Every row, unless one does not fit its sum.
fn all<T>(
    connection: &Connection,
    sql: &str,
    read: impl Fn(&Row<'_>) -> rusqlite::Result<(T, bool, String)>,
) -> Result<Vec<T>, Error> {
    let failed = |error| failure::sqlite("cannot read the traffic with other nodes", &error);
    let mut statement = connection.prepare_cached(sql).map_err(failed)?;
    let rows = statement.query_map([], read).map_err(failed)?;
    let checked = rows.map(|row| match row.map_err(failed)? {
        (row, true, _) => Ok(row),
        (_, false, what) => Err(failure::damaged(format!("{what} does not fit its sum"))),
    });
    checked.collect()
}

fn mark_sum(peer: &Fingerprint, mark: Mark) -> [u8; 16] {
    sum(&[b"mark", &peer.0, &mark.epoch.to_be_bytes(), &mark.sequence.to_be_bytes()])
}

fn sender_sum(sender: Sender) -> [u8; 16] {
    sum(&[b"sender", &sender.epoch.to_be_bytes(), &sender.reserved.to_be_bytes()])
}

/// Over what never changes; how often it was tried and when it is due again is not worth writing the message again.
fn item_sum(id: OutboxId, item: &Item) -> [u8; 16] {
    sum(&[b"item", &id.0.to_be_bytes(), &item.peer_fp.0, &item.message])
}

fn sum(parts: &[&[u8]]) -> [u8; 16] {
    let mut sum = [0; 16];
    sum.copy_from_slice(&Hash::blake3(parts).0[..16]);
    sum
}
