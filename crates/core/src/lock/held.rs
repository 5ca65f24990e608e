//! What every word about a lock that is held shows first.

use super::{
    apply::{Refusal, fenced},
    state::{Lock, RepositoryRows},
};
use crate::op::HeldLock;

/// The lock that `held` names, if token and fence are the ones in force.
pub(super) fn held_lock<'a>(rows: &'a mut RepositoryRows, held: &HeldLock) -> Result<&'a mut Lock, Refusal> {
    let refusal = fenced(rows, held);
    rows.locks.get_mut(&held.token).filter(|lock| lock.fence == held.fence).ok_or(refusal)
}
