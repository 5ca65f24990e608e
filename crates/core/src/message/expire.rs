//! Expire: a delivery's lease ended without its holder's word, or a message became too old.
//!
//! Any node may say that a deadline passed, judged by the HLC; that a process is gone only its own node can know (D6).
//! A message that is too old dies also while somebody works on it: nobody waits for it any more.

use super::{
    apply::{At, Effect, Refusal},
    fail::{Failure, lose},
    held,
    state::{DeadReason, ThreadRows},
    table::{State, Verb},
};
use crate::{id::MessageId, op::ExpireReason};

pub(super) fn delivery(
    rows: &mut ThreadRows,
    message: MessageId,
    epoch: u32,
    reason: ExpireReason,
    jitter_ms: u32,
    at: At,
    effects: &mut Vec<Effect>,
) -> Result<(), Refusal> {
    let row = held::delivery(rows, message, epoch)?;
    let (found, now_ms) = (row.state, at.now_ms);
    let fenced = Refusal::Fenced { message, found, epoch: row.epoch, given: epoch };
    let lease = row.lease.as_ref().ok_or(fenced)?;
    let error = match reason {
        ExpireReason::DeadlinePassed if now_ms <= lease.deadline_ms => {
            return Err(Refusal::LeaseRuns { message, deadline_ms: lease.deadline_ms, now_ms });
        }
        ExpireReason::OwnerGone if at.origin != lease.owner => {
            return Err(Refusal::NotOwner { message, owner: lease.owner, author: at.origin });
        }
        ExpireReason::DeadlinePassed => "abandoned: the lease ran out without a renewal",
        ExpireReason::OwnerGone => "abandoned: the process that worked on it is gone",
    };
    effects.push(Effect::Stop { message, epoch });
    lose(row, Verb::ExpireDelivery, Failure { retryable: true, jitter_ms, error }, at, effects);
    Ok(())
}

pub(super) fn message(
    rows: &mut ThreadRows,
    message: MessageId,
    at: At,
    effects: &mut Vec<Effect>,
) -> Result<(), Refusal> {
    let row = held::message_for(rows, message, Verb::Expire)?;
    if !row.is_too_old(at.now_ms) {
        let (found, expires_ms) = (row.state, row.expires_ms);
        return Err(Refusal::NotTooOld { message, found, expires_ms, now_ms: at.now_ms });
    }
    if row.state == State::Processing {
        effects.push(Effect::Stop { message, epoch: row.epoch });
    }
    row.go(Verb::Expire, State::Dead, at.now_ms);
    row.dead = Some(DeadReason::Expired);
    row.error = Some("expired".to_owned());
    effects.push(Effect::End { message, state: State::Dead });
    Ok(())
}
