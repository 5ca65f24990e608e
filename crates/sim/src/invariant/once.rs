//! ONCE: equal request ids are one task, and a step has one result until a redrive takes it back. Equal message ids are
//! one message, it is dealt with once, and whoever answers a step that waits for it completes it with the same breath.

use super::{Invariant, Look, Verdict, ensure};
use crate::{call::Call, ledger::OpSeen};
use relaymesh_core::{
    id::{MessageId, StepId, TaskId, ThreadId},
    message,
    op::{Body, Hold, Op, Scope},
    task::{self, Status, spec::IdempotencyKey},
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
    sent: BTreeSet<(ThreadId, MessageId)>,
    /// Messages that are acknowledged or answered.
    dealt_with: BTreeSet<(ThreadId, MessageId)>,
    /// A step that was answered and is to be completed by the very next op.
    owed: Option<Hold>,
}

impl Invariant for Once {
    fn name(&self) -> &'static str {
        "ONCE"
    }

    fn op(&mut self, seen: &OpSeen<'_>) -> Verdict {
        if let Some(asks) = self.owed.take() {
            let StepId { task, index: step } = asks.step;
            ensure(completes(seen.op, &asks), || format!("step {step} of {task} was answered and not completed"))?;
        }
        match seen.op.header.scope {
            Scope::Task(task) => self.task(task, seen),
            Scope::Thread(thread) => self.thread(thread, seen),
            Scope::Repository(_) | Scope::Namespace(_) | Scope::Plan(_) | Scope::Register(_) | Scope::Log => Ok(()),
        }
    }

    fn answer(&mut self, call: &Call, result: &Result<Answer, Error>, look: &mut Look<'_>) -> Verdict {
        let (Some(key), Ok(Answer::Accepted { task, .. } | Answer::Ended { task, .. })) = (call.key(), result) else {
            return Ok(());
        };
        let told = self.told.insert(key.clone(), *task).unwrap_or(*task);
        // A task that lost its key and is taken up again may get it back from one that came later.
        let is_free = [told, *task].into_iter().any(|task| look.ledger.may_have_lost_its_key(task));
        ensure(told == *task || is_free, || format!("the key {key} was acknowledged as {told} and as {task}"))
    }
}

impl Once {
    fn task(&mut self, task: TaskId, seen: &OpSeen<'_>) -> Verdict {
        let Body::Task(body) = &seen.op.body else { return Ok(()) };
        match body {
            task::Body::ScheduleJob { schedule } => {
                let other = self.keys.insert(schedule.key.clone(), task);
                let other = other.filter(|other| !seen.ledger.may_have_lost_its_key(*other));
                ensure(other.is_none(), || format!("the key {} made {task} and {other:?}", schedule.key))
            }
            task::Body::CompleteJob { held, .. } => {
                let step = StepId { task, index: held.step };
                ensure(self.done.insert(step), || format!("{step} was completed twice (op {})", seen.op.pos))
            }
            task::Body::RedriveTask { .. } => {
                let kept = seen.task().map_or(&[][..], |rows| &rows.steps);
                for (index, _) in (0u16..).zip(kept).filter(|(_, step)| step.status != Status::Success) {
                    self.done.remove(&StepId { task, index });
                }
                Ok(())
            }
            task::Body::ClaimWork { .. }
            | task::Body::FailJob { .. }
            | task::Body::YieldWork { .. }
            | task::Body::PassWork { .. }
            | task::Body::SkipWork { .. }
            | task::Body::FanOut { .. }
            | task::Body::ExpireWork { .. }
            | task::Body::TimeoutWork { .. }
            | task::Body::CancelTask { .. }
            | task::Body::ApproveStep { .. }
            | task::Body::DenyStep { .. }
            | task::Body::RecordArtifact { .. } => Ok(()),
        }
    }

    fn thread(&mut self, thread: ThreadId, seen: &OpSeen<'_>) -> Verdict {
        let body = match &seen.op.body {
            Body::Message(body) => body,
            // Its name may be used again.
            Body::PurgeScope {} => {
                self.sent.retain(|(of, _)| *of != thread);
                self.dealt_with.retain(|(of, _)| *of != thread);
                return Ok(());
            }
            Body::Task(_) | Body::Lock(_) | Body::Namespace(_) | Body::Plan(_) | Body::Register(_) | Body::Log(_) => {
                return Ok(());
            }
        };
        match body {
            message::Body::SendMessage { draft } => self.sent(thread, draft.id),
            message::Body::AcknowledgeMessage { held } => self.dealt_with(thread, held.message),
            message::Body::ReplyMessage { held, answer, .. } => {
                self.dealt_with(thread, held.message)?;
                let question = seen.ledger.message(thread, held.message);
                self.owed = question.and_then(|row| row.draft.asks).filter(|asks| waits(asks, seen));
                self.sent(thread, *answer)
            }
            message::Body::DeliverMessage { .. }
            | message::Body::FailMessage { .. }
            | message::Body::ReturnMessage { .. }
            | message::Body::ExpireDelivery { .. }
            | message::Body::ExpireMessage { .. }
            | message::Body::RedriveMessage { .. } => Ok(()),
        }
    }

    fn sent(&mut self, thread: ThreadId, message: MessageId) -> Verdict {
        ensure(self.sent.insert((thread, message)), || format!("{message} was sent twice"))
    }

    fn dealt_with(&mut self, thread: ThreadId, message: MessageId) -> Verdict {
        ensure(self.dealt_with.insert((thread, message)), || format!("{message} was dealt with twice"))
    }
}

/// Whether the step is still held by whoever asked.
fn waits(asks: &Hold, seen: &OpSeen<'_>) -> bool {
    let rows = seen.ledger.tasks.get(&asks.step.task).map(|seen| &seen.rows);
    let step = rows.and_then(|rows| rows.steps.get(usize::from(asks.step.index)));
    step.is_some_and(|step| {
        step.epoch == asks.epoch && step.lease.as_ref().is_some_and(|lease| lease.token == asks.token)
    })
}

fn completes(op: &Op, asks: &Hold) -> bool {
    let Body::Task(task::Body::CompleteJob { held, .. }) = &op.body else { return false };
    op.task() == Some(asks.step.task) && *held == asks.in_task()
}
