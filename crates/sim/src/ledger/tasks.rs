//! Tasks, and everything that they ever were.

use super::Ledger;
use relaymesh_core::{
    hash::Hash,
    id::{StepId, WorkerId},
    op::{Body, Kind, Op},
    task::{self, Status, TaskRows},
};
use std::collections::BTreeSet;

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

/// A claim that took effect.
#[derive(Debug, Clone, Copy)]
pub(crate) struct Claim {
    pub(crate) step: StepId,
    pub(crate) epoch: u32,
    pub(crate) worker: WorkerId,
}

impl Ledger {
    pub(super) fn index_task(&mut self, op: &Op, rows: &TaskRows) {
        let Body::Task(body) = &op.body else { return };
        match body {
            task::Body::ScheduleJob { schedule } => {
                self.by_key.insert(schedule.key.clone(), rows.task.id);
            }
            task::Body::ClaimWork { step, worker, token, .. } => {
                let epoch = rows.steps[usize::from(*step)].epoch;
                let step = StepId { task: rows.task.id, index: *step };
                self.by_token.insert(*token, Claim { step, epoch, worker: *worker });
            }
            task::Body::CompleteJob { .. }
            | task::Body::FailJob { .. }
            | task::Body::YieldWork { .. }
            | task::Body::PassWork { .. }
            | task::Body::SkipWork { .. }
            | task::Body::FanOut { .. }
            | task::Body::ExpireWork { .. }
            | task::Body::TimeoutWork { .. }
            | task::Body::CancelTask { .. }
            | task::Body::RedriveTask { .. }
            | task::Body::ApproveStep { .. }
            | task::Body::DenyStep { .. }
            | task::Body::RecordArtifact { .. } => {}
        }
    }

    pub(super) fn keep_task(&mut self, op: &Op, rows: TaskRows) {
        let id = rows.task.id;
        let was_open = self.tasks.get(&id).is_none_or(|seen| !seen.rows.task.status.is_terminal());
        let seen = self.tasks.entry(id).or_insert_with(|| Seen {
            rows: rows.clone(),
            ends: Vec::new(),
            statuses: BTreeSet::from([Status::Pending]),
            step_statuses: vec![BTreeSet::from([Status::Pending]); rows.steps.len()],
            cancels: 0,
        });
        seen.cancels += usize::from(op.body.kind() == Kind::CancelTask);
        seen.statuses.insert(rows.task.status);
        seen.step_statuses.resize(rows.steps.len(), BTreeSet::from([Status::Pending])); // items of lists come later
        for (statuses, step) in seen.step_statuses.iter_mut().zip(&rows.steps) {
            statuses.insert(step.status);
        }
        let redriven = op.body.kind() == Kind::RedriveTask;
        if rows.task.status.is_terminal() && (was_open || redriven) {
            seen.ends.push((rows.task.status, rows.task.result_hash));
        }
        if rows.task.status.is_terminal() {
            self.open.remove(&id);
        } else {
            self.open.insert(id);
        }
        seen.rows = rows;
    }
}
