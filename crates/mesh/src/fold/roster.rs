//! The roster: what there is to do, and who does it (L8).

use super::Fold;
use crate::rows::Rows;
use crate::{capability::Kind, mandate::kind_of};
use relaymesh_core::{
    hlc::Hlc,
    id::{NodeId, StepId},
    op::Scope,
    task::{Lease, Status, Step},
};

/// A step as work.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Job {
    /// Which step.
    pub step: StepId,
    /// Of which kind, if its agent's name is one.
    pub kind: Option<Kind>,
    /// Where it rests.
    pub status: Status,
    /// Who has it.
    pub lease: Option<Lease>,
}

impl Fold {
    /// The state of one job.
    pub fn job(&self, step: StepId) -> Option<Job> {
        let rows = self.rows(Scope::Task(step.task))?.task()?;
        rows.steps.get(usize::from(step.index)).map(|found| job(step, found))
    }

    /// The jobs of this kind or below it that a node may claim now, as far as routes have a say.
    pub fn pending(&self, prefix: &Kind, claimer: NodeId, now: Hlc) -> Vec<Job> {
        let fits = |job: &Job| {
            let routed = |kind: &Kind| {
                self.registers().is_none_or(|registers| registers.routes().admit(kind, claimer, now).is_ok())
            };
            job.kind.as_ref().is_some_and(|kind| prefix.reaches(kind) && routed(kind))
        };
        let claimable = |(step, found): (StepId, &Step)| found.is_claimable(now.wall_ms).then(|| job(step, found));
        self.steps().filter_map(claimable).filter(fits).collect()
    }

    /// The jobs whose lease has run out at this time.
    pub fn overdue(&self, now: Hlc) -> Vec<Job> {
        let over = |lease: &Lease| now.wall_ms > lease.deadline_ms;
        let overdue = |(_, found): &(StepId, &Step)| found.lease.as_ref().is_some_and(over);
        self.steps().filter(overdue).map(|(step, found)| job(step, found)).collect()
    }

    fn steps(&self) -> impl Iterator<Item = (StepId, &Step)> {
        let open = self.all_rows().filter_map(Rows::task).filter(|rows| !rows.task.status.is_terminal());
        open.flat_map(|rows| rows.indexed().map(|(index, step)| (rows.step_id(index), step)))
    }
}

fn job(step: StepId, found: &Step) -> Job {
    Job { step, kind: kind_of(&found.spec.agent), status: found.status, lease: found.lease.clone() }
}
