//! ONCE: equal request ids are one task, and a step has one result until a redrive takes it back.

use super::{Invariant, Look, Verdict, ensure};
use crate::{call::Call, ledger::OpSeen};
use relaymesh_core::{
    id::{StepId, TaskId},
    op::Body,
    task::{Status, spec::IdempotencyKey},
};
use relaymesh_runtime::driver::{Answer, Error};
use std::collections::{BTreeMap, BTreeSet};

#[derive(Debug, Default)]
pub(crate) struct Once {
    keys: BTreeMap<IdempotencyKey, TaskId>,
    /// Steps that have their result.
    done: BTreeSet<StepId>,
    /// What clients were told of their keys.
    told: BTreeMap<IdempotencyKey, TaskId>,
}

impl Invariant for Once {
    fn name(&self) -> &'static str {
        "ONCE"
    }

    fn op(&mut self, seen: &OpSeen<'_>) -> Verdict {
        let task = crate::task_of(seen.op);
        match &seen.op.body {
            Body::ScheduleJob { schedule } => {
                let other = self.keys.insert(schedule.key.clone(), task);
                ensure(other.is_none(), || format!("the key {} made {task} and {other:?}", schedule.key))
            }
            Body::CompleteJob { held, .. } => {
                let step = StepId { task, index: held.step };
                ensure(self.done.insert(step), || format!("{step} was completed twice (op {})", seen.op.pos))
            }
            Body::RedriveTask { .. } => {
                let kept = seen.after.map_or(&[][..], |rows| &rows.steps);
                for (index, _) in (0u16..).zip(kept).filter(|(_, step)| step.status != Status::Success) {
                    self.done.remove(&StepId { task, index });
                }
                Ok(())
            }
            Body::ClaimWork { .. }
            | Body::FailJob { .. }
            | Body::YieldWork { .. }
            | Body::ExpireWork { .. }
            | Body::TimeoutWork { .. }
            | Body::CancelTask { .. }
            | Body::ApproveStep { .. }
            | Body::DenyStep { .. }
            | crate::absent_bodies!() => Ok(()),
        }
    }

    fn answer(&mut self, call: &Call, result: &Result<Answer, Error>, _look: &mut Look<'_>) -> Verdict {
        let (Some(key), Ok(Answer::Accepted { task, .. } | Answer::Ended { task, .. })) = (call.key(), result) else {
            return Ok(());
        };
        let told = *self.told.entry(key.clone()).or_insert(*task);
        ensure(told == *task, || format!("the key {key} was acknowledged as {told} and as {task}"))
    }
}
