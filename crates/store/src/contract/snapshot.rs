//! Every answer that a reader gives, to compare two moments or two stores.
//!
//! All that can be paged is read in small pages, so each snapshot is a test of the cursors as well.

use super::author::{OWNERS, WORKERS};
use crate::{
    ContentKey, Day, Head, IdempotencyRow, LeaseConflict, Life, Queue, Reader, Spend, StepKey, StoredOp, TaskFilter,
    traffic::Kept,
};
use relaymesh_core::{
    id::{NodeId, ThreadId, WorkerId},
    kernel::Rows,
    op::Scope,
    task::{Status, Task, TaskRows},
};

const PAGE: usize = 7;
/// Places for content that are looked at under each op.
const PLACES: u16 = 4;
/// Far enough to see everything that is in a queue, and not so far that a signed column cannot hold it.
const LATEST_MS: u64 = i64::MAX as u64;

/// Steps in a queue, with the time that they are due.
pub type Entries = Vec<(u64, StepKey)>;

/// Every answer that a reader gives.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Snapshot {
    /// Where the log stands.
    pub head: Head,
    /// All ops.
    pub ops: Vec<StoredOp>,
    /// All task rows as listed, newest first.
    pub tasks: Vec<Task>,
    /// All rows, found by id.
    pub rows: Vec<TaskRows>,
    /// Lists by status, and by namespace and status.
    pub lists: Vec<(TaskFilter, Vec<u64>)>,
    /// The idempotency row of every task.
    pub idempotency: Vec<Option<IdempotencyRow>>,
    /// All content.
    pub content: Vec<(ContentKey, Vec<u8>)>,
    /// All that is due in each queue: now, and ever.
    pub due: Vec<(Queue, u64, Entries)>,
    /// What falls due next, from several moments.
    pub next_due: Vec<Option<u64>>,
    /// Leases by owner.
    pub leased: Vec<(NodeId, Vec<StepKey>)>,
    /// All conflicts.
    pub conflicts: Vec<LeaseConflict>,
    /// When each worker was last heard of.
    pub heartbeats: Vec<(WorkerId, Option<u64>)>,
    /// All that was used.
    pub spends: Vec<Spend>,
    /// How many tasks and steps.
    pub counts: (u64, u64),
    /// All scopes other than tasks.
    pub scopes: Vec<(Scope, Option<Rows>)>,
    /// All that is due in them.
    pub due_scopes: Vec<(u64, Scope)>,
    /// All tasks that have ended.
    pub ended: Vec<(u64, u64)>,
    /// All threads at rest.
    pub rested: Vec<(u64, ThreadId)>,
    /// What was let go of.
    pub life: Life,
    /// The repositories and namespaces at the horizon.
    pub snapshot: Vec<(Scope, Rows)>,
    /// Traffic with other nodes.
    pub traffic: Kept,
}

impl Snapshot {
    /// Asks for everything.
    pub fn of<R: Reader>(reader: &mut R) -> Self {
        let head = reader.head().unwrap();
        let now_ms = head.hlc().map_or(0, |hlc| hlc.wall_ms);
        let tasks = all_tasks(reader, &TaskFilter::default());
        let rows: Vec<_> = tasks.iter().map(|task| reader.task(task.id).unwrap().unwrap()).collect();
        for found in &rows {
            assert_eq!(reader.task_at(found.task.key).unwrap().as_ref(), Some(found), "task and task_at agree");
        }
        let moments = [now_ms, LATEST_MS];
        let queues = Queue::ALL.into_iter().flat_map(|queue| moments.map(|now| (queue, now)));
        let owners = OWNERS.into_iter().chain([head.chain.origin]);
        Self {
            ops: all_ops(reader),
            lists: lists(reader, &tasks),
            idempotency: tasks.iter().map(|t| reader.idempotency(&t.namespace, &t.idempotency_key).unwrap()).collect(),
            content: all_content(reader, head.pos),
            due: queues.map(|(queue, now)| (queue, now, all_due(reader, queue, now))).collect(),
            next_due: [0, now_ms, now_ms + 1_000, LATEST_MS].map(|now| reader.next_due(now).unwrap()).to_vec(),
            leased: owners.map(|owner| (owner, all_leased(reader, owner))).collect(),
            conflicts: reader.conflicts(10_000).unwrap(),
            heartbeats: WORKERS.map(|worker| (worker, reader.heartbeat(worker).unwrap())).to_vec(),
            spends: reader.spends(Day(0)).unwrap(),
            counts: reader.counts().unwrap(),
            scopes: all_scopes(reader),
            due_scopes: reader.due_scopes(LATEST_MS, usize::MAX).unwrap(),
            ended: pages(|last: Option<&(u64, u64)>| reader.ended(LATEST_MS, last.copied(), PAGE).unwrap()),
            rested: reader.rested(LATEST_MS, usize::MAX).unwrap(),
            life: reader.life().unwrap(),
            snapshot: pages(|last: Option<&(Scope, Rows)>| {
                reader.snapshot(last.map(|(scope, _)| *scope), PAGE).unwrap()
            }),
            traffic: reader.traffic().unwrap(),
            head,
            tasks,
            rows,
        }
    }

    /// Stops with the name of the first section that differs.
    pub fn must_equal(&self, other: &Self, what: &str) {
        macro_rules! sections {
            ($($section:ident),*) => {
                let Self { $($section),* } = self;
                $(assert_eq!(*$section, other.$section, "{} differ from {what}", stringify!($section));)*
            };
        }
        sections!(
            head,
            ops,
            tasks,
            rows,
            lists,
            idempotency,
            content,
            due,
            next_due,
            leased,
            conflicts,
            heartbeats,
            spends,
            counts,
            scopes,
            due_scopes,
            ended,
            rested,
            life,
            snapshot,
            traffic
        );
    }
}

/// All task rows that the filter lets through, in pages.
pub fn all_tasks<R: Reader>(reader: &mut R, filter: &TaskFilter) -> Vec<Task> {
    pages(|last: Option<&Task>| reader.tasks(filter, last.map(|task| task.key), PAGE).unwrap())
}

/// All ops, in pages.
pub fn all_ops<R: Reader>(reader: &mut R) -> Vec<StoredOp> {
    pages(|last: Option<&StoredOp>| reader.ops(last.map_or(0, |op| op.pos), PAGE).unwrap())
}

/// All that is due in a queue, in pages.
pub fn all_due<R: Reader>(reader: &mut R, queue: Queue, now_ms: u64) -> Entries {
    pages(|last: Option<&(u64, StepKey)>| reader.due(queue, now_ms, last.copied(), PAGE).unwrap())
}

/// All that an owner holds, in pages.
pub fn all_leased<R: Reader>(reader: &mut R, owner: NodeId) -> Vec<StepKey> {
    pages(|last: Option<&StepKey>| reader.leased(owner, last.copied(), PAGE).unwrap())
}

fn all_scopes<R: Reader>(reader: &mut R) -> Vec<(Scope, Option<Rows>)> {
    let scopes = pages(|last: Option<&Scope>| reader.scopes(last.copied(), PAGE).unwrap());
    scopes.into_iter().map(|scope| (scope, reader.scope(scope).unwrap())).collect()
}

fn lists<R: Reader>(reader: &mut R, tasks: &[Task]) -> Vec<(TaskFilter, Vec<u64>)> {
    let mut namespaces: Vec<_> = tasks.iter().map(|task| Some(task.namespace.clone())).chain([None]).collect();
    namespaces.sort();
    namespaces.dedup();
    let mut lists = Vec::new();
    for namespace in namespaces {
        for status in Status::ALL {
            let filter = TaskFilter { namespace: namespace.clone(), status: Some(status) };
            let keys = all_tasks(reader, &filter).iter().map(|task| task.key).collect();
            lists.push((filter, keys));
        }
    }
    lists
}

fn all_content<R: Reader>(reader: &mut R, pos_max: u64) -> Vec<(ContentKey, Vec<u8>)> {
    let keys = (0..=pos_max + 1).flat_map(|pos| (0..PLACES).map(move |place| ContentKey::new(pos, place)));
    keys.filter_map(|key| Some((key, reader.bytes(key).unwrap()?))).collect()
}

fn pages<T>(mut page: impl FnMut(Option<&T>) -> Vec<T>) -> Vec<T> {
    let mut all = Vec::new();
    loop {
        let more = page(all.last());
        assert!(more.len() <= PAGE, "a page is not longer than its limit");
        if more.is_empty() {
            return all;
        }
        all.extend(more);
    }
}
