//! Renew: the holder keeps its lock longer. The fence stays.
//!
//! A renewal after the deadline counts as long as nobody took the lock over or swept it away: then nothing happened
//! under it meanwhile.

use super::{
    apply::{At, Effect, Refusal, check_ttl},
    held::held_lock,
    state::RepositoryRows,
};
use crate::op::HeldLock;

pub(super) fn renew(
    rows: &mut RepositoryRows,
    held: &HeldLock,
    ttl_ms: u64,
    at: At,
    effects: &mut Vec<Effect>,
) -> Result<(), Refusal> {
    let lock = held_lock(rows, held)?;
    check_ttl(ttl_ms)?;
    lock.deadline_ms = at.now_ms.saturating_add(ttl_ms);
    lock.rev += 1;
    effects.push(Effect::Wake { token: lock.token, at_ms: lock.deadline_ms });
    Ok(())
}
