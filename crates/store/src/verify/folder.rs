//! Folding a log page by page into batches.
//!
//! Memory stays bounded: at most [`CACHE_MAX`] tasks are held, and a task that is not held is loaded again from the
//! store that is being built.

use super::{Problem, log::Link};
use crate::{Batch, ContentPut, IdempotencyRow, Reader, Saved, SavedScope, life::in_snapshot};
use relaymesh_core::{
    id::TaskId,
    kernel::{self, Refusal, Rows, apply_task},
    op::{Body, Op, Scope, log},
    row::StateHash,
    task::{self, TaskRows},
};
use std::collections::{BTreeMap, BTreeSet, btree_map::Entry};

const CACHE_MAX: usize = 10_000;
const PAGE: usize = 1_000;

/// The rows that are held, and the hash of all that were folded.
pub(super) struct Folder {
    pub(super) state: StateHash,
    horizon: u64,
    cache: BTreeMap<TaskId, Task>,
    scopes: BTreeMap<Scope, (Option<Rows>, SavedScope)>,
    /// Scopes of which some ops are gone already, with the first refusal: they are purged before the horizon.
    remnants: BTreeMap<Scope, (u64, Refusal)>,
}

/// A task that is held.
#[derive(Default)]
struct Task {
    rows: Option<TaskRows>,
    saved: Saved,
    /// Once it is purged: the key that it had.
    purged: Option<IdempotencyRow>,
}

impl Folder {
    /// Nothing is folded yet. Ops up to `horizon` may be gone.
    pub(super) fn new(horizon: u64) -> Self {
        Self {
            state: StateHash::default(),
            horizon,
            cache: BTreeMap::new(),
            scopes: BTreeMap::new(),
            remnants: BTreeMap::new(),
        }
    }

    /// The repositories and namespaces of a compacted log are there from the first batch on, as they were at the horizon.
    pub(super) fn begin_with_snapshot<R: Reader>(&mut self, source: &mut R, batch: &mut Batch) -> Result<(), Problem> {
        let mut last = None;
        loop {
            let page = source.snapshot(last, PAGE)?;
            let Some((scope, _)) = page.last() else { return Ok(()) };
            last = Some(*scope);
            for (scope, rows) in page {
                let mut saved = SavedScope::default();
                saved.put(scope, Some(&rows), batch);
                self.scopes.insert(scope, (Some(rows), saved));
            }
        }
    }

    /// Folds a page of ops into a batch.
    pub(super) fn fold<R: Reader, T: Reader>(
        &mut self,
        page: Vec<Link>,
        source: &mut R,
        target: &mut T,
        batch: &mut Batch,
    ) -> Result<(), Problem> {
        let (mut touched, mut scopes) = (BTreeSet::new(), BTreeSet::new());
        if let (Some(first), Some(last)) = (page.first(), page.last()) {
            // Whether all of it is there is the question of `rows`.
            let found = source.contents(first.stored.pos, last.stored.pos)?;
            batch.content.extend(found.into_iter().map(|(key, content)| ContentPut { key, content }));
        }
        for Link { stored, op, .. } in page {
            let Some(op) = op else {
                batch.ops.push(stored);
                continue;
            };
            let scope = op.header.scope;
            let is_over = op.pos <= self.horizon && in_snapshot(scope);
            if !is_over {
                match self.apply(&op, target, batch)? {
                    Ok(()) if matches!(op.body, Body::PurgeScope {}) => drop(self.remnants.remove(&scope)),
                    Ok(()) => {}
                    Err(refusal) => self.note_remnant(&op, refusal, batch)?,
                }
            }
            match scope {
                Scope::Task(task) => drop(touched.insert(task)),
                Scope::Thread(_)
                | Scope::Repository(_)
                | Scope::Namespace(_)
                | Scope::Plan(_)
                | Scope::Register(_)
                | Scope::Log
                    if is_over => {}
                Scope::Thread(_)
                | Scope::Repository(_)
                | Scope::Namespace(_)
                | Scope::Plan(_)
                | Scope::Register(_)
                | Scope::Log => {
                    scopes.insert(scope);
                }
            }
            batch.ops.push(stored);
        }
        for scope in scopes {
            let (rows, saved) = self.load_scope(scope, target)?;
            saved.put(scope, rows.as_ref(), batch);
        }
        for task in touched {
            let held = self.load(task, target)?;
            match (&held.rows, held.purged.take()) {
                (Some(rows), _) => held.saved.put(rows, batch),
                (None, Some(row)) => held.saved.purge(row, batch),
                (None, None) => {}
            }
        }
        self.state = batch.head.state;
        self.pass_horizon(batch)
    }

    /// One op on the rows of its scope.
    fn apply<T: Reader>(&mut self, op: &Op, target: &mut T, batch: &mut Batch) -> Result<Result<(), Refusal>, Problem> {
        if op.pos == self.horizon + 1
            && let Body::Log(log::Body::Checkpoint { state, .. }) = &op.body
            && *state != self.state
        {
            let detail =
                format!("it says that all rows hash to {:032x}, and they hash to {:032x}", state.0, self.state.0);
            return Err(Problem::Checkpoint { pos: op.pos, horizon: self.horizon, detail });
        }
        if let Some(task) = op.task() {
            if matches!(op.body, Body::Task(task::Body::ScheduleJob { .. })) {
                self.cache.entry(task).or_default(); // nothing of it is stored
            }
            let held = self.load(task, target)?;
            let before = held.rows.as_ref().map(|rows| IdempotencyRow::of(&rows.task));
            let applied = apply_task(&mut held.rows, op, &mut Vec::new());
            if matches!(op.body, Body::PurgeScope {}) && applied.is_ok() {
                (held.rows, held.purged) = (None, before);
            }
            return Ok(applied);
        }
        let scope = op.header.scope;
        let (rows, saved) = self.load_scope(scope, target)?;
        let applied = kernel::apply(rows, op, &mut Vec::new());
        // As on the node itself: the name of a purged scope may be used again.
        if rows.take_if(|rows| matches!(rows, Rows::Purged(_))).is_some() {
            saved.put(scope, None, batch);
        }
        Ok(applied)
    }

    /// An op that has no effect: allowed only below the horizon, in a scope that is purged there and has lost ops.
    fn note_remnant(&mut self, op: &Op, refusal: Refusal, batch: &mut Batch) -> Result<(), Problem> {
        let scope = op.header.scope;
        if op.pos > self.horizon {
            return Err(Problem::Refused { pos: op.pos, scope, refusal: Box::new(refusal) });
        }
        if matches!(op.body, Body::PurgeScope {}) {
            self.remnants.remove(&scope);
            self.forget(scope, batch);
        } else {
            self.remnants.entry(scope).or_insert((op.pos, refusal));
        }
        Ok(())
    }

    /// Rows that a scope's last ops made by themselves.
    fn forget(&mut self, scope: Scope, batch: &mut Batch) {
        match scope {
            Scope::Task(task) => {
                if let Some(held) = self.cache.get_mut(&task) {
                    held.purged = held.rows.take().map(|rows| IdempotencyRow::of(&rows.task));
                }
            }
            Scope::Thread(_)
            | Scope::Repository(_)
            | Scope::Namespace(_)
            | Scope::Plan(_)
            | Scope::Register(_)
            | Scope::Log => {
                if let Some((rows, saved)) = self.scopes.get_mut(&scope) {
                    *rows = None;
                    saved.put(scope, None, batch);
                }
            }
        }
    }

    /// A batch that ends at the horizon leaves nothing unexplained, and takes the snapshot along.
    fn pass_horizon(&self, batch: &mut Batch) -> Result<(), Problem> {
        if batch.head.pos != self.horizon || self.horizon == 0 {
            return Ok(());
        }
        if let Some((scope, (pos, refusal))) = self.remnants.first_key_value() {
            return Err(Problem::Refused { pos: *pos, scope: *scope, refusal: Box::new(refusal.clone()) });
        }
        batch.horizon = Some(self.horizon);
        Ok(())
    }

    fn load<T: Reader>(&mut self, task: TaskId, target: &mut T) -> Result<&mut Task, Problem> {
        match self.cache.entry(task) {
            Entry::Occupied(held) => Ok(held.into_mut()),
            Entry::Vacant(vacant) => {
                let rows = target.task(task)?;
                let saved = rows.as_ref().map(Saved::of).unwrap_or_default();
                Ok(vacant.insert(Task { rows, saved, purged: None }))
            }
        }
    }

    fn load_scope<T: Reader>(
        &mut self,
        scope: Scope,
        target: &mut T,
    ) -> Result<&mut (Option<Rows>, SavedScope), Problem> {
        match self.scopes.entry(scope) {
            Entry::Occupied(held) => Ok(held.into_mut()),
            Entry::Vacant(vacant) => {
                let rows = target.scope(scope)?;
                let saved = rows.as_ref().map(SavedScope::of).unwrap_or_default();
                Ok(vacant.insert((rows, saved)))
            }
        }
    }

    /// Whether so much is held that some of it should be let go of.
    pub(super) fn is_full(&self) -> bool {
        self.cache.len() > CACHE_MAX || self.scopes.len() > CACHE_MAX
    }

    /// Lets go of what is least likely to be needed again. Everything that is held must be stored by now.
    pub(super) fn make_room(&mut self) {
        let is_open = |held: &Task| held.rows.as_ref().is_some_and(|rows| !rows.task.status.is_terminal());
        if self.cache.len() > CACHE_MAX {
            self.cache.retain(|_, held| is_open(held));
        }
        if self.cache.len() > CACHE_MAX {
            self.cache.clear();
        }
        if self.scopes.len() > CACHE_MAX {
            self.scopes.clear();
        }
    }
}
