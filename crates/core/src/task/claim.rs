//! Claim and renew: a worker takes a step, or holds on to it.
//!
//! There is no renewal op: the current claimer claims again with the same token, and the new deadline is the new op's
//! time plus its duration (L3, D21). Epoch and attempt grow with a claim, not with a renewal.

use super::{
    apply::{At, Effect, Refusal},
    lease::{deadline, step_for},
    state::{Lease, TaskRows},
    table::{Status, Verb},
};
use crate::{
    hlc::Hlc,
    id::{LeaseToken, NodeId, WorkerId},
};

/// What the claimer asks for.
#[derive(Debug, Clone, Copy)]
pub(super) struct Asked {
    pub(super) owner: NodeId,
    pub(super) worker: WorkerId,
    pub(super) token: LeaseToken,
    pub(super) lease_ms: u64,
    pub(super) seen: Hlc,
}

pub(super) fn claim(
    rows: &mut TaskRows,
    index: u16,
    asked: Asked,
    at: At,
    effects: &mut Vec<Effect>,
) -> Result<(), Refusal> {
    if asked.seen >= at.hlc {
        return Err(Refusal::BackDated { dated: at.hlc, seen: asked.seen });
    }
    if rows.steps.get(usize::from(index)).is_some_and(|step| step.status == Status::Running) {
        return renew(rows, index, asked, at);
    }
    let step = step_for(rows, index, Verb::Claim)?;
    let name = || step.spec.name.clone();
    if !step.ready {
        return Err(Refusal::NotReady { name: name() });
    }
    if !step.is_claimable(at.now_ms) {
        return Err(Refusal::NotDue { name: name(), due_ms: step.due_ms, now_ms: at.now_ms });
    }
    step.go(Verb::Claim, Status::Running, at.now_ms);
    step.epoch += 1;
    step.attempt += 1;
    step.due_ms = 0;
    step.lease = Some(Lease {
        owner: asked.owner,
        worker: asked.worker,
        token: asked.token,
        claimed_ms: at.now_ms,
        deadline_ms: deadline(at.now_ms, asked.lease_ms),
    });
    effects.push(Effect::Start { step: index, epoch: step.epoch });
    rows.task.status = Status::Running;
    Ok(())
}

fn renew(rows: &mut TaskRows, index: u16, asked: Asked, at: At) -> Result<(), Refusal> {
    let step = step_for(rows, index, Verb::Renew)?;
    let name = step.spec.name.clone();
    let epoch = step.epoch;
    let Some(lease) = step.lease.as_mut() else {
        return Err(Refusal::NotReady { name });
    };
    if (lease.worker, lease.token) != (asked.worker, asked.token) {
        return Err(Refusal::Held { name, worker: lease.worker, epoch, deadline_ms: lease.deadline_ms });
    }
    lease.deadline_ms = deadline(at.now_ms, asked.lease_ms);
    step.go(Verb::Renew, Status::Running, at.now_ms);
    Ok(())
}
