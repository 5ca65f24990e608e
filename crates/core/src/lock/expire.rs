//! Expire: a lock's time ran out. Any node may say so, judged by the HLC; the sweep of V1 says it for all it finds.

use super::{
    acquire::freed,
    apply::{At, Effect, Refusal},
    held::held_lock,
    state::RepositoryRows,
};
use crate::op::HeldLock;

pub(super) fn expire(
    rows: &mut RepositoryRows,
    held: &HeldLock,
    at: At,
    effects: &mut Vec<Effect>,
) -> Result<(), Refusal> {
    let lock = held_lock(rows, held)?;
    if !lock.is_expired(at.now_ms) {
        return Err(Refusal::Runs { key: lock.key.clone(), deadline_ms: lock.deadline_ms, now_ms: at.now_ms });
    }
    effects.push(freed(lock));
    rows.locks.remove(&held.token);
    Ok(())
}
