//! How far a result can be relied on, and what became of those that do not count (D29).

use super::{Fold, entry::Entry, scope::ScopeFold};
use crate::register::SealWord;
use crate::rows::Rows;
use relaymesh_core::{
    hlc::Hlc,
    id::{OpId, TaskId},
    op::{Body, ChainHead, Scope},
    task,
};
use std::collections::BTreeMap;

/// How far something can be relied on.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
pub enum Standing {
    /// An older op may still turn up and change it.
    Provisional,
    /// Everybody has agreed on it: it never changes.
    Stable,
}

/// A result that somebody delivered, whether it counts or not. None is ever thrown away.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct ResultOf {
    /// Of which step.
    pub step: u16,
    /// The op that delivered it.
    pub op: OpId,
    /// When.
    pub at: Hlc,
    /// The op whose result counts instead; none: this one counts, or none does.
    pub superseded_by: Option<OpId>,
    /// Whether it counts.
    pub counts: bool,
}

/// What whoever follows a mesh wants to be told.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum News {
    /// A result that counted does not count any more.
    Displaced {
        /// Of which task.
        task: TaskId,
        /// Of which step.
        step: u16,
        /// The op that delivered it.
        op: OpId,
        /// The op whose result counts instead, if one does yet.
        by: Option<OpId>,
    },
}

impl Fold {
    /// Nobody who belongs to the mesh will say anything more that is dated up to this time. Whoever keeps count of that says so from the
    /// beginning on, and then a seal makes nothing stable before it is passed itself: a word that is older than the seal may still turn up, by which
    /// somebody else coordinates since, and the seal was never one.
    pub fn pass(&mut self, upto: Hlc) {
        if let Some(mesh) = self.mesh.as_mut() {
            mesh.passed = mesh.passed.max(Some(upto));
        }
    }

    /// Up to when everything is agreed on, as far as all of that is here.
    pub fn stable_upto(&self) -> Option<Hlc> {
        let mesh = self.mesh.as_ref()?;
        let is_passed = |seal: &&SealWord| mesh.passed.is_none_or(|passed| seal.at <= passed);
        let seal = mesh.registers.seals().all().iter().rfind(is_passed)?;
        seal.heads.iter().all(|head| self.places.holds(head)).then_some(seal.upto)
    }

    /// The heads that were sealed and are not here.
    pub fn missing(&self) -> Vec<ChainHead> {
        let seal = self.registers().and_then(|registers| registers.seals().last());
        let heads = seal.map(|seal| seal.heads.as_slice()).unwrap_or_default();
        heads.iter().filter(|head| !self.places.holds(head)).copied().collect()
    }

    /// How far a task, as it is now, can be relied on. One that has not ended is provisional, whatever was agreed on.
    pub fn standing(&self, task: TaskId) -> Standing {
        let rows = self.rows(Scope::Task(task)).and_then(Rows::task);
        let ended = rows.filter(|rows| rows.task.status.is_terminal()).map(|rows| rows.task.head);
        match (ended, self.stable_upto()) {
            (Some(head), Some(upto)) if head <= upto && self.lag() == 0 => Standing::Stable,
            (Some(_) | None, Some(_) | None) => Standing::Provisional,
        }
    }

    /// Every result that was ever delivered for a task, the oldest first.
    pub fn results_of(&self, task: TaskId) -> Vec<ResultOf> {
        let Some(fold) = self.scopes.get(&Scope::Task(task)) else { return Vec::new() };
        let result = |entry: &Entry| {
            let Body::Task(task::Body::CompleteJob { held, .. }) = &entry.op.body else { return None };
            let op = entry.op.header.op_id;
            let effective = fold.notes.results.get(&held.step).copied();
            let counts = effective == Some(op) && !fold.outcomes.contains_key(&op);
            let superseded_by = effective.filter(|_| !counts);
            Some(ResultOf { step: held.step, op, at: entry.hlc(), superseded_by, counts })
        };
        fold.ops().iter().filter_map(result).collect()
    }

    /// The steps of a task that were begun with results which do not count any more: `stale_input`.
    pub fn stale_inputs(&self, task: TaskId) -> Vec<u16> {
        let fold = self.scopes.get(&Scope::Task(task));
        let rows = fold.and_then(ScopeFold::rows).and_then(Rows::task);
        fold.zip(rows).map(|(fold, rows)| fold.notes.stale_inputs(rows)).unwrap_or_default()
    }

    /// The op whose result of a step counts.
    pub fn result_op(&self, task: TaskId, step: u16) -> Option<OpId> {
        self.scopes.get(&Scope::Task(task))?.notes.results.get(&step).copied()
    }

    /// What there is to tell since somebody asked last.
    pub fn poll_news(&mut self) -> Option<News> {
        self.mesh.as_mut()?.news.pop_front()
    }

    /// The results that count, task by task.
    pub(super) fn results(&self) -> BTreeMap<TaskId, BTreeMap<u16, OpId>> {
        let of = |(scope, fold): (&Scope, &ScopeFold)| match scope {
            Scope::Task(task) => Some((*task, fold.notes.results.clone())),
            Scope::Thread(_)
            | Scope::Repository(_)
            | Scope::Log
            | Scope::Namespace(_)
            | Scope::Plan(_)
            | Scope::Register(_) => None,
        };
        self.scopes.iter().filter_map(of).collect()
    }

    /// Tells of results that counted before and do not now.
    pub(super) fn tell_displaced(&mut self, before: &BTreeMap<TaskId, BTreeMap<u16, OpId>>) {
        let now = self.results();
        let Some(mesh) = self.mesh.as_mut() else { return };
        for (task, results) in before {
            for (step, op) in results {
                let by = now.get(task).and_then(|now| now.get(step)).copied();
                if by != Some(*op) {
                    mesh.tell(News::Displaced { task: *task, step: *step, op: *op, by });
                }
            }
        }
    }
}
