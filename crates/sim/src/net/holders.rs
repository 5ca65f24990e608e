//! Who has what, by a model of its own: a step is one node's at a time, and of two claims or two tasks with one key the earlier counts.
//!
//! Nodes that agree with each other may all be wrong. A fold in which the later claim takes the step away from the earlier one is the
//! same on every node, has one result for each step, and passes whatever only compares nodes. So the ops are read once more in
//! the order of their times, those that took effect and those that were refused because somebody was faster.

use super::check::{Verdict, ensure};
use relaymesh_core::{
    id::{LeaseToken, TaskId},
    kernel,
    op::{Body, CancelMode, ExpireReason, Op, Scope},
    task,
};
use relaymesh_mesh::{
    fold::{Fold, NoEffect},
    rows::Refusal,
};
use std::collections::{BTreeMap, BTreeSet};

/// Every op of a node, and whether it took effect.
pub(super) fn holders<'a>(number: usize, fold: &Fold, ops: impl Iterator<Item = &'a Op>) -> Verdict {
    let mut ops: Vec<&Op> = ops.collect();
    ops.sort_by_key(|op| op.header.hlc);
    let mut model = Model::default();
    for op in ops {
        let Scope::Task(task) = op.header.scope else { continue };
        let found = match fold.no_effect(op.header.scope, op.header.op_id) {
            None => model.took_effect(task, op),
            Some(NoEffect::Refused(Refusal::Node(kernel::Refusal::Task(task::Refusal::Held { .. })))) => {
                model.was_held(task, op)
            }
            Some(NoEffect::Superseded { by } | NoEffect::KeyTaken { by }) => model.was_later(*by),
            Some(_) => Ok(()),
        };
        let told = |what| format!("on node {number} {:?} of {task} at {}: {what}", op.body.kind(), op.header.hlc);
        found.or_else(|what| ensure(false, "ONCE", || told(what)))?;
    }
    Ok(())
}

#[derive(Default)]
struct Model {
    tasks: BTreeSet<TaskId>,
    leases: BTreeMap<(TaskId, u16), Lease>,
}

struct Lease {
    token: LeaseToken,
    deadline_ms: u64,
}

fn must(holds: bool, what: &'static str) -> Result<(), &'static str> {
    if holds { Ok(()) } else { Err(what) }
}

impl Model {
    fn took_effect(&mut self, task: TaskId, op: &Op) -> Result<(), &'static str> {
        let now_ms = op.header.hlc.wall_ms;
        if let Body::Task(task::Body::ScheduleJob { .. }) = &op.body {
            self.tasks.insert(task);
        } else if let Body::Task(task::Body::ClaimWork { step, token, lease_ms, .. }) = &op.body {
            let held = self.leases.insert((task, *step), Lease { token: *token, deadline_ms: now_ms + lease_ms });
            must(held.is_none_or(|held| held.token == *token), "an earlier claim had not ended")?;
        } else if let Body::Task(task::Body::CompleteJob { held, .. } | task::Body::YieldWork { held, .. }) = &op.body {
            let lease = self.leases.remove(&(task, held.step));
            must(lease.is_some_and(|lease| lease.token == held.token), "the claim was not in force")?;
        } else if let Body::Task(task::Body::ExpireWork { step, reason: ExpireReason::DeadlinePassed, .. }) = &op.body {
            let lease = self.leases.remove(&(task, *step));
            must(lease.is_some_and(|lease| lease.deadline_ms < now_ms), "the lease had not run out")?;
        } else if let Body::Task(task::Body::CancelTask { mode: CancelMode::Hard, .. }) = &op.body {
            self.leases.retain(|(of, _), _| *of != task);
        }
        Ok(())
    }

    /// It was refused because somebody had the step.
    fn was_held(&self, task: TaskId, op: &Op) -> Result<(), &'static str> {
        let Body::Task(task::Body::ClaimWork { step, .. }) = &op.body else { return Ok(()) };
        must(self.leases.contains_key(&(task, *step)), "it was refused for a claim that is later, or had ended")
    }

    /// It was refused because another task had the key.
    fn was_later(&self, by: TaskId) -> Result<(), &'static str> {
        must(self.tasks.contains(&by), "it gave way to a task that is later, or is none")
    }
}
