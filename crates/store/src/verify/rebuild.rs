//! Whether the rows are those that the ops fold to.
//!
//! The log is folded from its first op into an empty store, with the same kernel and the same way into the store as
//! live work, and the two stores are compared row for row. Ops are copied byte for byte and content with them, so the
//! rebuilt store can take the place of the other. Journals are of one node's life and are not copied.
//!
//! Memory stays bounded: at most [`CACHE_MAX`] tasks are held, and a task that is not held is loaded again from the
//! store that is being built.

use super::{
    Problem,
    difference::{Difference, compare},
    log::{Checked, Walk},
};
use crate::{Batch, ContentKey, ContentPut, Error, Head, Reader, Saved, SavedScope, Store, StoredOp, TaskFilter};
use relaymesh_core::{
    id::TaskId,
    kernel::{self, Rows},
    op::{Body, Chain, Op, Scope},
    row::StateHash,
    task::{TaskRows, apply},
};
use std::collections::{BTreeMap, BTreeSet, btree_map::Entry};

/// The most differences that are listed; a store that differs in more differs in all.
pub const DIFFERENCES_MAX: usize = 100;
const CACHE_MAX: usize = 10_000;
const PAGE: usize = 1_000;

/// What a rebuild made and found.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Rebuilt {
    /// How many ops were folded.
    pub ops: u64,
    /// How many tasks they made.
    pub tasks: u64,
    /// Where the source's rows differ from what its log folds to: the first [`DIFFERENCES_MAX`].
    pub differences: Vec<Difference>,
}

/// Folds the log of `source` into the empty `target`, and compares the rows of both.
///
/// `progress` is told the number of ops that were folded, once a batch. A problem leaves `target` with the batches
/// before it.
pub fn rebuild<R: Reader, S: Store>(
    source: &mut R,
    target: &mut S,
    progress: &mut dyn FnMut(u64),
) -> Result<Rebuilt, Problem> {
    let mut reader = target.reader()?;
    let pos = reader.head()?.pos;
    if pos > 0 {
        return Err(Problem::NotEmpty { pos });
    }
    let mut walk = Walk::new(source, Checked::default())?;
    let mut folder = Folder { state: StateHash::default(), cache: BTreeMap::new(), scopes: BTreeMap::new() };
    loop {
        let page = walk.next_page(source)?;
        let Some((last, _, chain)) = page.last() else { break };
        let mut batch = Batch::new(Head { pos: last.pos, chain: chain.clone(), state: folder.state });
        folder.fold(page, source, &mut reader, &mut batch)?;
        target.commit(&batch)?;
        progress(walk.checked.pos);
    }
    let head = walk.head.clone();
    let checked = walk.end(source)?;
    let differences = differences(source, &mut reader, &head)?;
    Ok(Rebuilt { ops: checked.pos, tasks: reader.counts()?.0, differences })
}

/// The rows that are held, and the hash of all that were folded.
struct Folder {
    state: StateHash,
    cache: BTreeMap<TaskId, (Option<TaskRows>, Saved)>,
    scopes: BTreeMap<Scope, (Option<Rows>, SavedScope)>,
}

impl Folder {
    /// Folds a page of ops into a batch.
    fn fold<R: Reader, T: Reader>(
        &mut self,
        page: Vec<(StoredOp, Op, Chain)>,
        source: &mut R,
        target: &mut T,
        batch: &mut Batch,
    ) -> Result<(), Problem> {
        self.make_room(page.len());
        let (mut touched, mut scopes) = (BTreeSet::new(), BTreeSet::new());
        for (stored, op, _) in page {
            let scope = op.header.scope;
            let refused = |refusal| Problem::Refused { pos: op.pos, scope, refusal: Box::new(refusal) };
            if let Some(task) = op.task() {
                let (rows, _) = self.load(task, target)?;
                apply(rows, &op, &mut Vec::new()).map_err(|refusal| refused(refusal.into()))?;
                touched.insert(task);
            } else {
                let (rows, _) = self.load_scope(scope, target)?;
                kernel::apply(rows, &op, &mut Vec::new()).map_err(refused)?;
                scopes.insert(scope);
            }
            copy_content(&op, source, batch)?;
            batch.ops.push(stored);
        }
        for scope in scopes {
            let (rows, saved) = self.load_scope(scope, target)?;
            saved.put(scope, rows.as_ref(), batch);
        }
        for task in touched {
            if let (Some(rows), saved) = self.load(task, target)? {
                saved.put(rows, batch);
            }
        }
        self.state = batch.head.state;
        Ok(())
    }

    fn load<T: Reader>(&mut self, task: TaskId, target: &mut T) -> Result<&mut (Option<TaskRows>, Saved), Problem> {
        match self.cache.entry(task) {
            Entry::Occupied(held) => Ok(held.into_mut()),
            Entry::Vacant(vacant) => {
                let rows = target.task(task)?;
                let saved = rows.as_ref().map(Saved::of).unwrap_or_default();
                Ok(vacant.insert((rows, saved)))
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

    /// Between batches everything that is held is also stored. What has ended is the least likely to be needed again.
    fn make_room(&mut self, more: usize) {
        if self.cache.len() + more > CACHE_MAX {
            self.cache.retain(|_, (rows, _)| rows.as_ref().is_some_and(|rows| !rows.task.status.is_terminal()));
        }
        if self.cache.len() + more > CACHE_MAX {
            self.cache.clear();
        }
        if self.scopes.len() + more > CACHE_MAX {
            self.scopes.clear();
        }
    }
}

/// Copies what the op names, if it is there; whether it must be is the question of `rows`.
fn copy_content<R: Reader>(op: &Op, source: &mut R, batch: &mut Batch) -> Result<(), Problem> {
    let places: Vec<u16> = match &op.body {
        Body::ScheduleJob { schedule } => {
            (0u16..).zip(&schedule.steps).filter(|(_, step)| step.input.is_some()).map(|(place, _)| place).collect()
        }
        Body::CompleteJob { .. }
        | Body::RecordArtifact { .. }
        | Body::SendMessage { .. }
        | Body::ReplyMessage { .. } => vec![0],
        Body::ClaimWork { .. }
        | Body::FailJob { .. }
        | Body::YieldWork { .. }
        | Body::ExpireWork { .. }
        | Body::TimeoutWork { .. }
        | Body::CancelTask { .. }
        | Body::RedriveTask { .. }
        | Body::ApproveStep { .. }
        | Body::DenyStep { .. }
        | Body::AcquireLock { .. }
        | Body::RenewLock { .. }
        | Body::ReleaseLock { .. }
        | Body::ExpireLock { .. }
        | Body::DeliverMessage { .. }
        | Body::AcknowledgeMessage { .. }
        | Body::FailMessage { .. }
        | Body::ReturnMessage { .. }
        | Body::ExpireDelivery { .. }
        | Body::ExpireMessage { .. }
        | Body::RedriveMessage { .. }
        | Body::PurgeScope {}
        | Body::Checkpoint { .. } => Vec::new(),
    };
    for key in places.into_iter().map(|place| ContentKey::new(op.pos, place)) {
        batch.content.extend(source.content(key)?.map(|content| ContentPut { key, content }));
    }
    Ok(())
}

/// Every difference between the rows of the two stores, in both directions.
fn differences<R: Reader, T: Reader>(source: &mut R, target: &mut T, head: &Head) -> Result<Vec<Difference>, Problem> {
    let mut found = Vec::new();
    each_task(target, &mut |target, key| {
        let Some(rebuilt) = target.task_at(key)? else { return Ok(true) };
        match source.task_at(key) {
            Ok(Some(stored)) => found.extend(compare(&stored, &rebuilt)),
            Ok(None) => found.push(whole(Some(rebuilt.task.id), "missing".to_owned(), "there")),
            Err(Error::Damaged { detail }) => found.push(whole(Some(rebuilt.task.id), detail, "readable")),
            Err(error) => return Err(error.into()),
        }
        Ok(found.len() < DIFFERENCES_MAX)
    })?;
    if source.counts()? != target.counts()? && found.len() < DIFFERENCES_MAX {
        extra(source, target, &mut found)?;
    }
    scopes(source, target, &mut found)?;
    let rebuilt = target.head()?.state;
    if rebuilt != head.state {
        let (stored, rebuilt) = (format!("{:032x}", head.state.0), format!("{:032x}", rebuilt.0));
        found.insert(0, Difference { task: None, step: None, field: "state_hash", stored, rebuilt });
    }
    found.truncate(DIFFERENCES_MAX);
    Ok(found)
}

/// Rows of the source that its log knows nothing of.
fn extra<R: Reader, T: Reader>(source: &mut R, target: &mut T, found: &mut Vec<Difference>) -> Result<(), Problem> {
    let (stored, rebuilt) = (source.counts()?, target.counts()?);
    let counts = |(tasks, steps): (u64, u64)| format!("{tasks} tasks and {steps} steps");
    let (stored, rebuilt) = (counts(stored), counts(rebuilt));
    found.push(Difference { task: None, step: None, field: "counts", stored, rebuilt });
    let walked = each_task(source, &mut |source, key| {
        if target.task_at(key)?.is_none() {
            let id = source.task_at(key)?.map(|rows| rows.task.id);
            found.push(whole(id, "there".to_owned(), "missing"));
        }
        Ok(found.len() < DIFFERENCES_MAX)
    });
    match walked {
        // A page with a damaged row cannot be listed. The damage is in `found` by now, and so are the counts.
        Err(Problem::Store(Error::Damaged { .. })) => Ok(()),
        other => other,
    }
}

/// Scopes other than tasks, of both sides: there are few, and each is compared as a whole.
fn scopes<R: Reader, T: Reader>(source: &mut R, target: &mut T, found: &mut Vec<Difference>) -> Result<(), Problem> {
    let mut all = every_scope(target)?;
    all.extend(every_scope(source)?);
    for scope in all {
        let rebuilt = target.scope(scope)?;
        let stored = match source.scope(scope) {
            Ok(stored) if stored == rebuilt => continue,
            Ok(stored) => format!("{stored:?}"),
            Err(Error::Damaged { detail }) => detail,
            Err(error) => return Err(error.into()),
        };
        let rebuilt = format!("{rebuilt:?}");
        found.push(Difference {
            task: None,
            step: None,
            field: "scope",
            stored: format!("{scope}: {stored}"),
            rebuilt,
        });
    }
    Ok(())
}

fn every_scope<R: Reader>(reader: &mut R) -> Result<BTreeSet<Scope>, Problem> {
    let mut all = BTreeSet::new();
    loop {
        let page = reader.scopes(all.last().copied(), PAGE)?;
        if page.is_empty() {
            return Ok(all);
        }
        all.extend(page);
    }
}

fn whole(task: Option<TaskId>, stored: String, rebuilt: &str) -> Difference {
    Difference { task, step: None, field: "row", stored, rebuilt: rebuilt.to_owned() }
}

/// Calls `visit` with the key of every task, newest first, until it says no.
fn each_task<R: Reader>(
    reader: &mut R,
    visit: &mut dyn FnMut(&mut R, u64) -> Result<bool, Problem>,
) -> Result<(), Problem> {
    let mut before = None;
    loop {
        let page = reader.tasks(&TaskFilter::default(), before, PAGE)?;
        let Some(last) = page.last() else { return Ok(()) };
        before = Some(last.key);
        for task in &page {
            if !visit(reader, task.key)? {
                return Ok(());
            }
        }
    }
}
