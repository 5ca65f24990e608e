//! Deliver and renew: the recipient takes a message, or holds on to it.
//!
//! As with steps there is no renewal op: the same worker takes it again with the same token. Epoch and count grow with a
//! delivery, not with a renewal.

use super::{
    apply::{At, Effect, Refusal},
    held::message_for,
    state::ThreadRows,
    table::{State, Verb},
};
use crate::{
    hlc::Hlc,
    id::{LeaseToken, MessageId, NodeId, WorkerId},
    name::Name,
    task::{Lease, lease::deadline},
};

/// What the recipient asks for.
#[derive(Debug, Clone, Copy)]
pub(super) struct Asked<'a> {
    pub(super) recipient: &'a Name,
    pub(super) owner: NodeId,
    pub(super) worker: WorkerId,
    pub(super) token: LeaseToken,
    pub(super) lease_ms: u64,
    pub(super) seen: Hlc,
}

pub(super) fn deliver(
    rows: &mut ThreadRows,
    message: MessageId,
    asked: Asked<'_>,
    at: At,
    effects: &mut Vec<Effect>,
) -> Result<(), Refusal> {
    if asked.seen >= at.hlc {
        return Err(Refusal::BackDated { dated: at.hlc, seen: asked.seen });
    }
    let now_ms = at.now_ms;
    let deadline_ms = deadline(now_ms, asked.lease_ms);
    let holds = rows.messages.get(&message).is_some_and(|row| row.state == State::Processing);
    let row = message_for(rows, message, if holds { Verb::Renew } else { Verb::Deliver })?;
    if row.draft.to != *asked.recipient {
        let (to, found) = (row.draft.to.clone(), asked.recipient.clone());
        return Err(Refusal::NotRecipient { message, to, found });
    }
    if let Some(lease) = row.lease.as_mut() {
        if (lease.worker, lease.token) != (asked.worker, asked.token) {
            let (worker, deadline_ms) = (lease.worker, lease.deadline_ms);
            return Err(Refusal::Held { message, worker, epoch: row.epoch, deadline_ms });
        }
        lease.deadline_ms = deadline_ms;
        row.go(Verb::Renew, State::Processing, now_ms);
        return Ok(());
    }
    if row.is_too_old(now_ms) {
        return Err(Refusal::TooOld { message, expires_ms: row.expires_ms, now_ms });
    }
    if !row.is_deliverable(now_ms) {
        return Err(Refusal::NotDue { message, due_ms: row.due_ms, now_ms });
    }
    row.go(Verb::Deliver, State::Processing, now_ms);
    row.deliveries += 1;
    row.epoch += 1;
    row.lease =
        Some(Lease { owner: asked.owner, worker: asked.worker, token: asked.token, claimed_ms: now_ms, deadline_ms });
    effects.push(Effect::Hand { message, epoch: row.epoch });
    Ok(())
}
