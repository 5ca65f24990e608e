//! Release: the holder gives its lock back. The row goes; the counter stays (D22).

use super::{
    acquire::freed,
    apply::{Effect, Refusal},
    held::held_lock,
    state::RepositoryRows,
};
use crate::op::HeldLock;

pub(super) fn release(rows: &mut RepositoryRows, held: &HeldLock, effects: &mut Vec<Effect>) -> Result<(), Refusal> {
    let lock = held_lock(rows, held)?;
    effects.push(freed(lock));
    rows.locks.remove(&held.token);
    Ok(())
}
