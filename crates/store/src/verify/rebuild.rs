//! Whether the rows are those that the ops fold to.
//!
//! The log is folded from its first op into an empty store, with the same kernel and the same way into the store as
//! live work, and the two stores are compared row for row. Ops are copied byte for byte and content with them, so the
//! rebuilt store can take the place of the other. Journals are of one node's life and are not copied.
//!
//! Of a log that was compacted, what is left is folded: the snapshot of repositories and namespaces, and the ops of all scopes that
//! were not purged. At the horizon that must give the rows whose hash the checkpoint has.

use super::{
    Problem,
    difference::{Difference, compare},
    folder::Folder,
    log::{Checked, Link, Walk},
};
use crate::{Batch, Error, Head, KeyPut, Reader, Store, TaskFilter};
use relaymesh_core::{id::TaskId, op::Scope, task::TaskRows};
use std::collections::{BTreeMap, BTreeSet};

/// The most differences that are listed; a store that differs in more differs in all.
pub const DIFFERENCES_MAX: usize = 100;
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
    let mut rebuilding = Rebuilding::begin(source, &mut reader)?;
    while let Some(batch) = rebuilding.next_batch(source, &mut reader)? {
        target.commit(&batch)?;
        rebuilding.settled();
        progress(batch.head.pos);
    }
    rebuilding.end(source, &mut reader)
}

/// A rebuild, batch by batch, for whoever writes them on another thread.
pub struct Rebuilding {
    walk: Walk,
    folder: Folder,
    swept_ms: Option<u64>,
    ops: u64,
    has_begun: bool,
}

impl Rebuilding {
    /// Begins a rebuild of the log of `source` into an empty `target`.
    pub fn begin<R: Reader, T: Reader>(source: &mut R, target: &mut T) -> Result<Self, Problem> {
        let pos = target.head()?.pos;
        if pos > 0 {
            return Err(Problem::NotEmpty { pos });
        }
        let walk = Walk::new(source, Checked::default())?;
        let swept_ms = Some(source.life()?.swept_ms).filter(|swept_ms| *swept_ms > 0);
        let folder = Folder::new(walk.horizon);
        Ok(Self { walk, folder, swept_ms, ops: 0, has_begun: false })
    }

    /// The next batch, until there is none. They are to be committed in order; see [`Rebuilding::must_settle`].
    pub fn next_batch<R: Reader, T: Reader>(
        &mut self,
        source: &mut R,
        target: &mut T,
    ) -> Result<Option<Batch>, Problem> {
        let page = self.walk.next_page(source)?;
        let Some(Link { stored, chain, .. }) = page.last() else { return Ok(None) };
        let mut batch = Batch::new(Head { pos: stored.pos, chain: chain.clone(), state: self.folder.state });
        if !std::mem::replace(&mut self.has_begun, true) {
            self.folder.begin_with_snapshot(source, &mut batch)?;
        }
        self.ops += page.iter().filter(|link| link.op.is_some()).count() as u64;
        self.folder.fold(page, source, target, &mut batch)?;
        order_keys(&mut batch.keys, self.swept_ms.is_some());
        batch.swept_ms = self.swept_ms;
        Ok(Some(batch))
    }

    /// Whether so much is held that all batches should be committed, and [`Rebuilding::settled`] said, before the next.
    pub fn must_settle(&self) -> bool {
        self.folder.is_full()
    }

    /// All batches are committed: what is held can be read from the target, and may be let go of.
    pub fn settled(&mut self) {
        self.folder.make_room();
    }

    /// Compares the rows of both.
    pub fn end<R: Reader, T: Reader>(self, source: &mut R, target: &mut T) -> Result<Rebuilt, Problem> {
        let head = self.walk.head.clone();
        self.walk.end(source)?;
        let differences = differences(source, target, &head)?;
        Ok(Rebuilt { ops: self.ops, tasks: target.counts()?.0, differences })
    }
}

/// A page has the keys in the order of its tasks. Where a key was used again, the later task has it.
fn order_keys(keys: &mut [KeyPut], swept: bool) {
    if !swept && !keys.iter().any(|put| matches!(put, KeyPut::Removed(_))) {
        return;
    }
    for put in &mut *keys {
        if let KeyPut::Added(row) = put {
            *put = KeyPut::Moved(row.clone());
        }
    }
    keys.sort_by_key(|put| match put {
        KeyPut::Added(row) | KeyPut::Moved(row) => (row.task_key, false),
        KeyPut::Removed(row) => (row.task_key, true),
    });
}

/// Every difference between the rows of the two stores, in both directions.
fn differences<R: Reader, T: Reader>(source: &mut R, target: &mut T, head: &Head) -> Result<Vec<Difference>, Problem> {
    let mut found = Vec::new();
    let mut after = None;
    while found.len() < DIFFERENCES_MAX {
        let page = target.tasks_by_key(after, PAGE)?;
        let Some(last) = page.last() else { break };
        after = Some(last.task.key);
        compare_page(source, &page, &mut found)?;
    }
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

/// Compares the rows of the source with these, which are all that the log has in a range of keys.
fn compare_page<R: Reader>(source: &mut R, page: &[TaskRows], found: &mut Vec<Difference>) -> Result<(), Problem> {
    let after = page.first().and_then(|first| first.task.key.checked_sub(1));
    let stored = match source.tasks_by_key(after, page.len()) {
        Ok(stored) => stored,
        // One by one, to see which of them cannot be read.
        Err(Error::Damaged { .. }) => Vec::new(),
        Err(error) => return Err(error.into()),
    };
    let mut stored = stored.into_iter().map(|rows| (rows.task.key, rows)).collect::<BTreeMap<_, _>>();
    for rebuilt in page {
        let there = match stored.remove(&rebuilt.task.key) {
            Some(there) => Ok(Some(there)),
            None => source.task_at(rebuilt.task.key),
        };
        match there {
            Ok(Some(there)) => found.extend(compare(&there, rebuilt)),
            Ok(None) => found.push(whole(Some(rebuilt.task.id), "missing".to_owned(), "there")),
            Err(Error::Damaged { detail }) => found.push(whole(Some(rebuilt.task.id), detail, "readable")),
            Err(error) => return Err(error.into()),
        }
    }
    Ok(())
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
