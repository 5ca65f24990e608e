//! ASKED: a step of an agent with an inbox is asked once for each of its claims, over crashes too; only the answer to that very
//! question completes it, in the next op; an answer that comes too late changes no step; and a step that timed out was asked before.

use super::{Invariant, Verdict, ensure};
use crate::{call::call_of, ledger::OpSeen, share::ASKED};
use relaymesh_core::{
    id::{StepId, TaskId, ThreadId},
    kernel::Rows,
    op::{Body, Hold, Scope},
    task::{self, Status, Step, TaskRows},
};
use std::collections::{BTreeMap, BTreeSet};

/// A claim of a step.
type Claim = (TaskId, u16, u32);

#[derive(Debug, Default)]
pub(crate) struct Asked {
    /// Claims of the node for steps that are asked. A worker may claim such a step, too, and then it is not asked.
    claims: BTreeSet<Claim>,
    /// Claims that were asked for, and whether the question is still there.
    questions: BTreeMap<Claim, bool>,
    /// The answer that the last op was, with what asked.
    answered: Option<Answered>,
}

#[derive(Debug, Clone, Copy)]
struct Answered {
    asks: Hold,
    /// Whether the step still waited.
    in_time: bool,
    call: Option<u64>,
}

impl Invariant for Asked {
    fn name(&self) -> &'static str {
        "ASKED"
    }

    fn op(&mut self, seen: &OpSeen<'_>) -> Verdict {
        let last = self.answered.take();
        match (seen.op.header.scope, seen.before) {
            (Scope::Thread(thread), before) => self.thread(thread, before, seen),
            (Scope::Task(task), Some(Rows::Task(before))) => self.task(task, before, last, seen),
            _ => Ok(()),
        }?;
        let late = last.filter(|answered| !answered.in_time && answered.call.is_some());
        let changes = late.is_some_and(|answered| answered.call == call_of(seen.op));
        ensure(!changes, || format!("op {} follows from an answer that came too late: {late:?}", seen.op.pos))
    }
}

impl Asked {
    fn thread(&mut self, thread: ThreadId, before: Option<&Rows>, seen: &OpSeen<'_>) -> Verdict {
        let Some(after) = seen.thread() else {
            // It was purged, and a question that is gone may be asked again.
            let of_thread = |(task, ..): &Claim| task.to_bytes() == thread.to_bytes();
            self.questions.iter_mut().filter(|(claim, _)| of_thread(claim)).for_each(|(_, is_there)| *is_there = false);
            return Ok(());
        };
        let before = before.and_then(Rows::thread);
        for (id, message) in &after.messages {
            let old = before.and_then(|rows| rows.messages.get(id));
            let Some(asks) = message.draft.asks else { continue };
            if old.is_none() && call_of(seen.op).is_none() {
                let is_there = self.questions.insert((asks.step.task, asks.step.index, asks.epoch), true);
                ensure(is_there != Some(true), || format!("{asks:?} is asked again by op {}", seen.op.pos))?;
            }
            if message.answered_by.is_some() && old.is_some_and(|old| old.answered_by.is_none()) {
                let rows = seen.ledger.tasks.get(&asks.step.task).map(|seen| &seen.rows);
                let step = rows.and_then(|rows| rows.steps.get(usize::from(asks.step.index)));
                let in_time = step.is_some_and(|step| waits(step, &asks));
                self.answered = Some(Answered { asks, in_time, call: call_of(seen.op) });
            }
        }
        Ok(())
    }

    fn task(&mut self, about: TaskId, before: &TaskRows, last: Option<Answered>, seen: &OpSeen<'_>) -> Verdict {
        let Some(after) = seen.task() else { return Ok(()) };
        let Body::Task(body) = &seen.op.body else { return Ok(()) };
        let claims = matches!(body, task::Body::ClaimWork { .. }) && call_of(seen.op).is_none();
        for (index, (old, new)) in (0u16..).zip(before.steps.iter().zip(&after.steps)) {
            if claims && new.epoch > old.epoch && is_asked(old) {
                self.claims.insert((about, index, new.epoch));
            }
            let ends = old.status == Status::Running && (new.status != Status::Running || new.epoch != old.epoch);
            if !ends || !self.claims.contains(&(about, index, old.epoch)) {
                continue;
            }
            let step = StepId { task: about, index };
            match body {
                task::Body::CompleteJob { .. } => {
                    let answers =
                        last.is_some_and(|last| last.in_time && last.asks.step == step && waits(old, &last.asks));
                    ensure(answers, || format!("{step} is done by op {} without an answer", seen.op.pos))?;
                }
                task::Body::TimeoutWork { .. } => {
                    let was_asked = self.questions.contains_key(&(about, index, old.epoch));
                    ensure(was_asked, || format!("{step} epoch {} timed out and was never asked", old.epoch))?;
                }
                // The wait goes on over a restart, for up to thirty days.
                task::Body::ExpireWork { .. } => {
                    return Err(format!("{step} epoch {} expired while it waited", old.epoch));
                }
                task::Body::ScheduleJob { .. }
                | task::Body::ClaimWork { .. }
                | task::Body::FailJob { .. }
                | task::Body::YieldWork { .. }
                | task::Body::PassWork { .. }
                | task::Body::SkipWork { .. }
                | task::Body::FanOut { .. }
                | task::Body::CancelTask { .. }
                | task::Body::RedriveTask { .. }
                | task::Body::ApproveStep { .. }
                | task::Body::DenyStep { .. }
                | task::Body::RecordArtifact { .. } => {}
            }
        }
        Ok(())
    }
}

/// Whether the step is done by asking for it.
fn is_asked(step: &Step) -> bool {
    !step.is_inward() && ASKED.contains(&step.spec.agent.as_str())
}

/// Whether the step is held by the attempt that asked.
fn waits(step: &Step, asks: &Hold) -> bool {
    step.status == Status::Running
        && step.epoch == asks.epoch
        && step.lease.as_ref().is_some_and(|lease| lease.token == asks.token)
}
