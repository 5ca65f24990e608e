//! Steps: no lease ends early. A full term of the monotonic clock passes since the claim, the last heartbeat or the start
//! of the process, whatever the wall clock does; after a jump of the wall clock the process has said so first (R10, D6).

use super::{
    super::{Look, Verdict, ensure},
    clock::Clock,
};
use crate::{
    call::Call,
    ledger::OpSeen,
    time::{MS, Ns},
};
use relaymesh_core::{
    id::{LeaseToken, StepId, TaskId, WorkerId},
    op::{Body, CancelMode, ExpireReason, Hold, Scope},
    task::{self, Refusal},
};
use relaymesh_runtime::driver::{Answer, Command, Error, MessageCommand};
use relaymesh_store::Reader as _;
use std::collections::BTreeMap;

#[derive(Debug, Default)]
pub(super) struct Steps {
    steps: BTreeMap<StepId, Model>,
}

/// What the ops say of a step.
#[derive(Debug, Default, Clone, Copy)]
struct Model {
    epoch: u32,
    holder: Option<LeaseToken>,
    /// The greatest epoch that a worker was told.
    told: u32,
    lease_ms: u64,
    worker: Option<WorkerId>,
    /// The last sign of life, or earlier.
    heard: Ns,
}

impl Steps {
    pub(super) fn op(&mut self, task: TaskId, seen: &OpSeen<'_>, clock: &Clock) -> Verdict {
        let Body::Task(body) = &seen.op.body else { return Ok(()) };
        match body {
            task::Body::ClaimWork { step, token, lease_ms, worker, .. } => {
                let step = StepId { task, index: *step };
                let model = self.steps.entry(step).or_default();
                if model.holder == Some(*token) {
                    return Ok(()); // a renewal
                }
                ensure(model.holder.is_none(), || {
                    format!("{step} was claimed while it was held (op {})", seen.op.pos)
                })?;
                let (lease_ms, worker) = (*lease_ms, Some(*worker));
                let (epoch, holder) = (model.epoch + 1, Some(*token));
                *model = Model { epoch, holder, lease_ms, worker, heard: seen.decided.1, told: model.told };
                let found = seen.task().map_or(0, |rows| rows.steps[usize::from(step.index)].epoch);
                ensure(found == model.epoch, || format!("{step} has epoch {found} after {} claims", model.epoch))
            }
            task::Body::CompleteJob { held, .. }
            | task::Body::FailJob { held, .. }
            | task::Body::YieldWork { held, .. }
            | task::Body::PassWork { held }
            | task::Body::SkipWork { held, .. }
            | task::Body::FanOut { held, .. } => self.spoken(StepId { task, index: held.step }, held, seen.op.pos),
            task::Body::ExpireWork { step, epoch, .. } | task::Body::TimeoutWork { step, epoch, .. } => {
                let step = StepId { task, index: *step };
                if let task::Body::ExpireWork { reason: ExpireReason::DeadlinePassed, .. } = body {
                    self.in_time(step, seen.decided, clock)?;
                }
                let model = self.steps.entry(step).or_default();
                let holds = model.holder.take().is_some() && model.epoch == *epoch;
                ensure(holds, || format!("op {} ends epoch {epoch} of {step}; {model:?}", seen.op.pos))
            }
            task::Body::CancelTask { mode: CancelMode::Hard, .. } => {
                for (_, model) in self.steps.iter_mut().filter(|(step, _)| step.task == task) {
                    model.holder = None;
                }
                Ok(())
            }
            task::Body::ScheduleJob { .. }
            | task::Body::CancelTask { mode: CancelMode::Soft, .. }
            | task::Body::RedriveTask { .. }
            | task::Body::ApproveStep { .. }
            | task::Body::DenyStep { .. }
            | task::Body::RecordArtifact { .. } => Ok(()),
        }
    }

    pub(super) fn answer(&mut self, call: &Call, result: &Result<Answer, Error>, look: &mut Look<'_>) -> Verdict {
        match (&call.command, result) {
            (Command::Heartbeat { worker, .. }, Ok(_)) => {
                for model in self.steps.values_mut().filter(|model| model.worker == Some(*worker)) {
                    model.heard = model.heard.max(call.sent);
                }
                Ok(())
            }
            (_, Ok(Answer::Claimed(hold))) => {
                let model = self.steps.entry(hold.step).or_default();
                let before = std::mem::replace(&mut model.told, hold.epoch);
                let grows = hold.epoch > before;
                ensure(grows, || format!("{} was given out with epoch {} after {before}", hold.step, hold.epoch))
            }
            (
                Command::Finish { hold, .. } | Command::Yield { hold, .. },
                Err(Error::Refused(Refusal::Fenced { .. })),
            ) => journalled(hold.step, hold.epoch, look),
            // The answer stands as a message; its word on the step is fenced like any other.
            (
                Command::Message(MessageCommand::Reply { thread, held, .. }),
                Ok(Answer::Replied { completed: Some((step, false)), .. }),
            ) => {
                let asks = look.ledger.message(*thread, held.message).and_then(|row| row.draft.asks);
                journalled(*step, asks.map_or(0, |asks| asks.epoch), look)
            }
            _ => Ok(()),
        }
    }

    /// A lease ran out: not before its time.
    fn in_time(&self, step: StepId, (since, by): (Ns, Ns), clock: &Clock) -> Verdict {
        clock.noticed(since, &step.to_string())?;
        let Some(model) = self.steps.get(&step) else { return Ok(()) };
        let heard = model.heard.max(clock.started());
        let passed_ms = by.saturating_sub(heard) / MS;
        ensure(passed_ms >= model.lease_ms, || {
            format!("{step} expired {passed_ms} ms after its worker was heard of; its lease is {} ms", model.lease_ms)
        })
    }

    /// The holder's word ends its attempt.
    fn spoken(&mut self, step: StepId, held: &Hold<u16>, pos: u64) -> Verdict {
        let model = self.steps.entry(step).or_default();
        let holds = model.holder == Some(held.token) && model.epoch == held.epoch;
        ensure(holds, || format!("op {pos} on {step} shows epoch {} and another token; {model:?}", held.epoch))?;
        model.holder = None;
        Ok(())
    }
}

/// A word that was fenced off is in the journal (D7).
fn journalled(step: StepId, epoch: u32, look: &mut Look<'_>) -> Verdict {
    if look.ledger.purged.contains_key(&Scope::Task(step.task)) {
        return Ok(()); // there is nothing left to fence off
    }
    let newest = look.reader.conflicts(256).map_err(|error| error.to_string())?;
    let there = newest.iter().any(|conflict| conflict.step == step && conflict.given == epoch);
    ensure(there, || format!("a fenced word on {step} epoch {epoch} is not in the journal"))
}
