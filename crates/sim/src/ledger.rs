//! An observer that reads every op as soon as it is on a disk, and folds it for itself.
//!
//! It is the measure for everything else: what the ledger has is durable, and what it does not have is not. It never
//! sees the engine, so it cannot be fooled by what the engine only believes.

use crate::{
    call::{CallId, call_of},
    invariant::Invariants,
    time::Ns,
};
use relaymesh_core::{
    hash::Hash,
    id::{LeaseToken, StepId, TaskId, WorkerId},
    op::{Body, Kind, Op},
    task::{Refusal, Status, TaskRows, apply, spec::IdempotencyKey},
};
use relaymesh_store::{Reader as _, memory::MemoryReader};
use std::collections::{BTreeMap, BTreeSet};

/// What is durable on one node.
#[derive(Debug, Default)]
pub(crate) struct Ledger {
    /// The hash of every op, in order.
    pub(crate) hashes: Vec<Hash>,
    pub(crate) tasks: BTreeMap<TaskId, Seen>,
    /// Tasks that have not ended.
    pub(crate) open: BTreeSet<TaskId>,
    /// What was written for which call.
    pub(crate) by_call: BTreeMap<CallId, Written>,
    pub(crate) by_token: BTreeMap<LeaseToken, Claim>,
    pub(crate) by_key: BTreeMap<IdempotencyKey, TaskId>,
}

/// A task, and everything that it ever was.
#[derive(Debug)]
pub(crate) struct Seen {
    pub(crate) rows: TaskRows,
    /// How it has ended, each time.
    pub(crate) ends: Vec<(Status, Option<Hash>)>,
    /// Every status of the task.
    pub(crate) statuses: BTreeSet<Status>,
    /// Every status of each step.
    pub(crate) step_statuses: Vec<BTreeSet<Status>>,
    pub(crate) cancels: usize,
}

/// What was written for a call.
#[derive(Debug, Clone, Copy)]
pub(crate) struct Written {
    pub(crate) pos: u64,
    pub(crate) kind: Kind,
}

/// A claim that took effect.
#[derive(Debug, Clone, Copy)]
pub(crate) struct Claim {
    pub(crate) step: StepId,
    pub(crate) epoch: u32,
    pub(crate) worker: WorkerId,
}

/// One durable op, and what it did.
pub(crate) struct OpSeen<'a> {
    /// When it was decided: between these two.
    pub(crate) decided: (Ns, Ns),
    pub(crate) op: &'a Op,
    /// `None` for the op that makes the task.
    pub(crate) before: Option<&'a TaskRows>,
    /// The rows after it, or why it had no effect: then it should not be on the log.
    pub(crate) after: Result<&'a TaskRows, &'a Refusal>,
}

impl Ledger {
    pub(crate) fn pos(&self) -> u64 {
        self.hashes.len() as u64
    }

    /// Reads what is new on the disk. Every op is shown to the invariants and to `see`.
    pub(crate) fn read_on(
        &mut self,
        decided: (Ns, Ns),
        reader: &mut MemoryReader,
        invariants: &mut Invariants,
        see: &mut dyn FnMut(&Op, &Seen),
    ) {
        let mut touched = BTreeSet::new();
        let stored = reader.ops(self.pos(), usize::MAX).expect("a memory disk can be read");
        for stored in stored {
            self.hashes.push(stored.hash);
            let op = match Op::decode(stored.pos, &stored.bytes) {
                Ok(op) => op,
                Err(error) => return invariants.say("REBUILD", format!("op {} is unreadable: {error}", stored.pos)),
            };
            touched.insert(crate::task_of(&op));
            self.take(decided, &op, invariants);
            if let Some(seen) = self.tasks.get(&crate::task_of(&op)) {
                see(&op, seen);
            }
        }
        for task in touched {
            let stored = reader.task(task).ok().flatten();
            if stored.as_ref() != self.tasks.get(&task).map(|seen| &seen.rows) {
                invariants.say("REBUILD", format!("the rows of {task} are not what its ops fold to"));
            }
        }
    }

    fn take(&mut self, decided: (Ns, Ns), op: &Op, invariants: &mut Invariants) {
        let task = crate::task_of(op);
        if let Some(call) = call_of(op) {
            self.by_call.insert(call, Written { pos: op.pos, kind: op.body.kind() });
        }
        let before = self.tasks.get(&task).map(|seen| seen.rows.clone());
        let mut rows = before.clone();
        let applied = apply(&mut rows, op, &mut Vec::new());
        let after = match (&rows, &applied) {
            (Some(rows), Ok(())) => Ok(rows),
            (_, Err(refusal)) => Err(refusal),
            (None, Ok(())) => Err(&Refusal::NoTask),
        };
        invariants.op(&OpSeen { decided, op, before: before.as_ref(), after });
        if let (Some(rows), Ok(())) = (rows, applied) {
            self.index(op, &rows);
            self.keep(op, rows);
        }
    }

    fn index(&mut self, op: &Op, rows: &TaskRows) {
        match &op.body {
            Body::ScheduleJob { schedule } => {
                self.by_key.insert(schedule.key.clone(), crate::task_of(op));
            }
            Body::ClaimWork { step, worker, token, .. } => {
                let epoch = rows.steps[usize::from(*step)].epoch;
                let step = StepId { task: crate::task_of(op), index: *step };
                self.by_token.insert(*token, Claim { step, epoch, worker: *worker });
            }
            Body::CompleteJob { .. }
            | Body::FailJob { .. }
            | Body::YieldWork { .. }
            | Body::ExpireWork { .. }
            | Body::TimeoutWork { .. }
            | Body::CancelTask { .. }
            | Body::RedriveTask { .. }
            | Body::ApproveStep { .. }
            | Body::DenyStep { .. }
            | crate::absent_bodies!() => {}
        }
    }

    fn keep(&mut self, op: &Op, rows: TaskRows) {
        let was_open = self.tasks.get(&crate::task_of(op)).is_none_or(|seen| !seen.rows.task.status.is_terminal());
        let seen = self.tasks.entry(crate::task_of(op)).or_insert_with(|| Seen {
            rows: rows.clone(),
            ends: Vec::new(),
            statuses: BTreeSet::from([Status::Pending]),
            step_statuses: vec![BTreeSet::from([Status::Pending]); rows.steps.len()],
            cancels: 0,
        });
        seen.cancels += usize::from(op.body.kind() == Kind::CancelTask);
        seen.statuses.insert(rows.task.status);
        for (statuses, step) in seen.step_statuses.iter_mut().zip(&rows.steps) {
            statuses.insert(step.status);
        }
        let redriven = op.body.kind() == Kind::RedriveTask;
        if rows.task.status.is_terminal() && (was_open || redriven) {
            seen.ends.push((rows.task.status, rows.task.result_hash));
        }
        if rows.task.status.is_terminal() {
            self.open.remove(&crate::task_of(op));
        } else {
            self.open.insert(crate::task_of(op));
        }
        seen.rows = rows;
    }
}
