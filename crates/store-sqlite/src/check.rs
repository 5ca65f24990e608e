//! The start check: does the store still know what it has acknowledged, and does what it knows hold together?
//!
//! In order: the sidecar against the head (amnesia), the head against the newest op, the tail of the chain. A log that is
//! short enough is checked whole, with every row and the hash over all of them; a longer one by `relaymesh log verify`.

use crate::{Root, failure, life, rows, schema, scopes, sidecar::Mark};
use relaymesh_core::{
    hash::Hash,
    op::{Break, Chain, DecodeError, Op},
    row::StateHash,
};
use relaymesh_store::{Error, Head, IdempotencyRow, StoredOp, verify::may_be_swept};
use rusqlite::{Connection, OptionalExtension};

const SCOPES_PAGE: usize = 256;

/// `Io` if nothing of the root is there: then its disk is gone, or was never mounted, and nothing is known to be damaged.
pub(crate) fn is_there(root: &Root) -> Result<(), Error> {
    let path = root.database();
    if path.try_exists().map_err(|error| failure::io("cannot look at", &path, &error))? {
        return Ok(());
    }
    let detail = match root.folder().exists() {
        true => format!("{} is missing, and so is the rest of the root: is its disk mounted?", path.display()),
        false => format!("the root {} is missing: is its disk mounted?", root.folder().display()),
    };
    Err(Error::Io { detail })
}

/// There is no sidecar that can be read.
pub(crate) fn no_sidecar(root: &Root) -> Error {
    Error::Damaged {
        detail: format!(
            "the sidecar {} is missing or unreadable, so it is unknown whether the database is \
             the newest one. `relaymesh log recover` accepts it as it is and starts a new origin epoch",
            root.head().display()
        ),
    }
}

/// Amnesia if the sidecar remembers ops and the database is gone.
pub(crate) fn database_is_there(root: &Root, mark: Mark) -> Result<(), Error> {
    let path = root.database();
    let exists = path.try_exists().map_err(|error| failure::io("cannot look at", &path, &error))?;
    if exists || mark.pos == 0 {
        return Ok(());
    }
    Err(Error::Amnesia {
        detail: format!(
            "the sidecar records {} ops, but {} is missing. Put the database back; to give up those ops, move the whole \
             root away and make a new one",
            mark.pos,
            path.display()
        ),
    })
}

/// Amnesia if the store knows less than the sidecar, or something else.
pub(crate) fn remembers(connection: &Connection, head: &Head, mark: Mark) -> Result<(), Error> {
    let chain = &head.chain;
    if chain.origin != mark.origin {
        return Err(failure::damaged(format!(
            "the database belongs to {}, but the sidecar to {}",
            chain.origin, mark.origin
        )));
    }
    let found = hash_at(connection, mark.pos)?;
    let what = if head.pos < mark.pos {
        format!("the log ends at op {}, but {} were acknowledged", head.pos, mark.pos)
    } else if chain.origin_epoch < mark.origin_epoch {
        format!("the log has origin epoch {}, but epoch {} was started", chain.origin_epoch, mark.origin_epoch)
    } else if mark.pos > 0 && found != Some(mark.hash) && !may_be_gone(connection, found, mark)? {
        let found = found.map_or("missing".to_owned(), |hash| format!("another one ({hash})"));
        format!(
            "op {} was acknowledged with hash {}, but is {found}; the log ends at op {}",
            mark.pos, mark.hash, head.pos
        )
    } else {
        return Ok(());
    };
    Err(Error::Amnesia {
        detail: format!(
            "{what}: the write-ahead log was damaged, or an older copy was put back. The store is opened read-only; \
             `relaymesh log recover` accepts the loss and starts a new origin epoch"
        ),
    })
}

/// Whether the op that the sidecar remembers was let go of since. The sidecar is a moment behind after a power cut.
fn may_be_gone(connection: &Connection, found: Option<Hash>, mark: Mark) -> Result<bool, Error> {
    let is_current = schema::is_current(connection)?; // an older one lets go of nothing
    Ok(found.is_none() && is_current && mark.pos <= life::life(connection)?.horizon)
}

/// The tail of the chain, and everything if the log is not longer than `ops_max`.
pub(crate) fn start(connection: &Connection, head: &Head, ops_max: u64) -> Result<(), Error> {
    newest_hash(connection, head)?;
    tail(connection, head, ops_max)?;
    if head.pos > ops_max {
        return Ok(());
    }
    pages(connection)?;
    all_rows(connection, head)
}

/// The hash of the op that the head stands at; of the empty chain when there is none.
pub(crate) fn newest_hash(connection: &Connection, head: &Head) -> Result<Hash, Error> {
    let newest: Option<i64> = connection
        .query_row("SELECT max(pos) FROM op_log", [], |row| row.get(0))
        .map_err(|error| failure::sqlite("cannot find the newest op", &error))?;
    if newest.unwrap_or(0) != i64::try_from(head.pos).unwrap_or(-1) {
        let newest = newest.unwrap_or(0);
        return Err(failure::damaged(format!("the newest op is {newest}, but the head is at {}", head.pos)));
    }
    match hash_at(connection, head.pos)? {
        Some(hash) => Ok(hash),
        None => Ok(head.chain.head),
    }
}

fn hash_at(connection: &Connection, pos: u64) -> Result<Option<Hash>, Error> {
    let ask = || {
        let pos = crate::columns::int(pos)?;
        connection.query_row("SELECT hash FROM op_log WHERE pos = ?1", [pos], |row| row.get(0).map(Hash)).optional()
    };
    ask().map_err(|error| failure::sqlite("cannot read the hash of an op", &error))
}

/// Follows the chain over the newest ops and compares its end with the head.
pub(crate) fn tail(connection: &Connection, head: &Head, ops_max: u64) -> Result<(), Error> {
    const PAGE: usize = 256;
    let mut pos = head.pos.saturating_sub(ops_max);
    let mut chain = None;
    let horizon = life::life(connection)?.horizon;
    if pos > 0 {
        let before = rows::ops(connection, pos - 1, 1)?.pop().ok_or_else(|| missing(pos))?;
        chain = Some(standing_at(&before)?);
        pos = before.pos;
    }
    while pos < head.pos {
        let page = rows::ops(connection, pos, PAGE)?;
        if page.is_empty() {
            return Err(missing(pos + 1));
        }
        for op in page {
            follow(&mut chain, &op, pos, horizon)?;
            pos = op.pos;
        }
    }
    let Some(chain) = chain else { return Ok(()) };
    let is_same = chain == head.chain;
    let is_new_epoch = head.chain.seq == 0 && head.chain.origin_epoch > chain.origin_epoch;
    match is_same || is_new_epoch {
        true => Ok(()),
        false => Err(failure::damaged(format!(
            "the head says sequence {} with hash {}, and the newest op {} has {} with {}",
            head.chain.seq, head.chain.head, head.pos, chain.seq, chain.head
        ))),
    }
}

/// Steps over the next op; one of a later epoch begins a chain. A stub stands for all ops up to itself.
fn follow(chain: &mut Option<Chain>, op: &StoredOp, before: u64, horizon: u64) -> Result<(), Error> {
    let StoredOp { pos, bytes, hash } = op;
    let (pos, hash) = (*pos, *hash);
    if let Some(stood) = op.stub() {
        if pos > horizon || chain.as_ref().is_some_and(|chain| !stood.follows(chain, pos - before)) {
            return Err(failure::damaged(format!("the stub at op {pos} does not fit; the horizon is {horizon}")));
        }
        *chain = Some(stood);
        return Ok(());
    }
    let broken = match chain {
        Some(chain) => match chain.verify(pos, bytes, hash) {
            Ok(_) => return Ok(()),
            Err(broken) => Some(broken),
        },
        None => None,
    };
    let op =
        Op::decode(pos, bytes).map_err(|error| unreadable(&broken.clone().unwrap_or(Break::Decode { pos, error })))?;
    let (origin, epoch) = (op.header.origin, op.header.origin_epoch);
    if let (Some(chain), Some(broken)) = (&*chain, &broken)
        && (chain.origin != origin || chain.origin_epoch >= epoch)
    {
        return Err(unreadable(broken));
    }
    let mut next = Chain::new(origin, epoch);
    next.verify(pos, bytes, hash).map_err(|broken| unreadable(&broken))?;
    *chain = Some(next);
    Ok(())
}

fn standing_at(stored: &StoredOp) -> Result<Chain, Error> {
    if let Some(chain) = stored.stub() {
        return Ok(chain);
    }
    let pos = stored.pos;
    let op = Op::decode(pos, &stored.bytes).map_err(|error| unreadable(&Break::Decode { pos, error }))?;
    Ok(Chain::after(&op.header, stored.hash))
}

/// An op that only a newer program can read is no damage.
fn unreadable(broken: &Break) -> Error {
    match broken {
        Break::Decode { error: DecodeError::Format { .. } | DecodeError::Kind { .. }, .. } => {
            Error::Unusable { detail: broken.to_string() }
        }
        Break::Decode { error: DecodeError::Damaged { .. }, .. }
        | Break::Origin { .. }
        | Break::Sequence { .. }
        | Break::Time { .. }
        | Break::Hash { .. } => failure::damaged(broken),
    }
}

fn missing(pos: u64) -> Error {
    failure::damaged(format!("op {pos} is missing"))
}

fn pages(connection: &Connection) -> Result<(), Error> {
    let said: String = connection
        .query_row("PRAGMA quick_check(1)", [], |row| row.get(0))
        .map_err(|error| failure::sqlite("cannot check the pages", &error))?;
    if said == "ok" { Ok(()) } else { Err(failure::damaged(format!("quick_check says: {said}"))) }
}

/// Every row against its sum, all sums against the head, every task against its idempotency row.
fn all_rows(connection: &Connection, head: &Head) -> Result<(), Error> {
    let failed = |error| failure::sqlite("cannot read all rows", &error);
    let mut statement = connection.prepare("SELECT task_key FROM task_rows ORDER BY task_key").map_err(failed)?;
    let mut keys = statement.query([]).map_err(failed)?;
    let (mut state, mut tasks, mut steps) = (StateHash::default(), 0, 0);
    let life = life::life(connection)?;
    while let Some(row) = keys.next().map_err(failed)? {
        let key = crate::columns::unsigned(row, 0).map_err(failed)?;
        let found =
            rows::task_at(connection, key)?.ok_or_else(|| failure::damaged(format!("task row {key} is gone")))?;
        state.0 = state.0.wrapping_add(StateHash::of(&found).0);
        tasks += 1;
        steps += found.steps.len() as u64;
        let task = &found.task;
        let idempotency = rows::idempotency(connection, &task.namespace, &task.idempotency_key)?;
        let is_it = idempotency.as_ref() == Some(&IdempotencyRow::of(task));
        if !is_it && !may_be_swept(task, life, idempotency.as_ref()) {
            let what = if idempotency.is_some() { "does not fit" } else { "is missing" };
            return Err(failure::damaged(format!("the idempotency row of {} {what}", task.id)));
        }
    }
    let mut last = None;
    while let [.., newest] = scopes::scopes(connection, last, SCOPES_PAGE)?[..] {
        for scope in scopes::scopes(connection, last, SCOPES_PAGE)? {
            let found = scopes::scope(connection, scope)?;
            let found = found.ok_or_else(|| failure::damaged(format!("the rows of {scope} are gone")))?;
            state.0 = state.0.wrapping_add(StateHash::of_rows(&found).0);
        }
        last = Some(newest);
    }
    let counted = rows::counts(connection)?;
    if counted != (tasks, steps) {
        let detail = format!("there are {} step rows, and the {tasks} tasks have {steps}", counted.1);
        return Err(failure::damaged(detail));
    }
    if state != head.state {
        return Err(failure::damaged(format!("the rows at op {} do not add up to the state hash", head.pos)));
    }
    Ok(())
}
