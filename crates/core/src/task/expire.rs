//! Expire: a lease ended without its holder's word; the attempt is ABANDONED.
//!
//! Any node may say that a deadline passed, judged by the HLC (L3); several may say it at once, and the first counts.
//! That the process is gone only its own node can know (D6).

use super::{
    apply::{At, Effect, Refusal},
    fail::{Failure, lose},
    lease::attempt,
    state::{Outcome, TaskRows},
    table::Verb,
};
use crate::op::ExpireReason;

pub(super) fn expire(
    rows: &mut TaskRows,
    index: u16,
    epoch: u32,
    reason: ExpireReason,
    jitter_ms: u32,
    at: At,
    effects: &mut Vec<Effect>,
) -> Result<(), Refusal> {
    let step = attempt(rows, index, epoch)?;
    let name = || step.spec.name.clone();
    let Some(lease) = step.lease.as_ref() else {
        return Err(Refusal::NotReady { name: name() });
    };
    let error = match reason {
        ExpireReason::DeadlinePassed if at.now_ms <= lease.deadline_ms => {
            return Err(Refusal::LeaseRuns { name: name(), deadline_ms: lease.deadline_ms, now_ms: at.now_ms });
        }
        ExpireReason::OwnerGone if at.origin != lease.owner => {
            return Err(Refusal::NotOwner { name: name(), owner: lease.owner, author: at.origin });
        }
        ExpireReason::DeadlinePassed => "abandoned: the lease ran out without a renewal",
        ExpireReason::OwnerGone => "abandoned: the process that worked on it is gone",
    };
    effects.push(Effect::Stop { step: index, epoch });
    lose(rows, index, Verb::Expire, Outcome::Abandoned, Failure { retryable: true, jitter_ms, error }, at, effects);
    Ok(())
}
