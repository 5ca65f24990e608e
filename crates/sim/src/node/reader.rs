//! A reader whose reads fail when the machine's disk says so.

use super::panel::Shared;
use relaymesh_core::{
    hash::Hash,
    id::{MessageId, NodeId, RequestId, TaskId, ThreadId, WorkerId},
    kernel::Rows,
    lanes::Priority,
    message::State,
    name::Name,
    op::Scope,
    task::{Task, TaskRows, spec::IdempotencyKey},
};
use relaymesh_store::{
    Content, ContentKey, Day, Due, Error, Head, IdempotencyRow, LeaseConflict, Life, Queue, Reader, Spend, StepKey,
    StoredOp, TaskFilter, memory::MemoryReader, traffic::Kept,
};

pub(crate) struct FaultyReader {
    inner: MemoryReader,
    panel: Shared,
}

impl FaultyReader {
    pub(crate) fn new(inner: MemoryReader, panel: Shared) -> Self {
        Self { inner, panel }
    }

    /// The reader below, if this read does not fail.
    fn read(&mut self) -> Result<&mut MemoryReader, Error> {
        let mut panel = self.panel.look();
        let per_mille = panel.reads_fail;
        if per_mille > 0 && panel.rng.chance(per_mille) {
            panel.reads_failed += 1;
            return Err(Error::Io { detail: "a simulated read failed".to_owned() });
        }
        drop(panel);
        Ok(&mut self.inner)
    }
}

impl Reader for FaultyReader {
    fn head(&mut self) -> Result<Head, Error> {
        self.read()?.head()
    }

    fn task(&mut self, id: TaskId) -> Result<Option<TaskRows>, Error> {
        self.read()?.task(id)
    }

    fn task_at(&mut self, key: u64) -> Result<Option<TaskRows>, Error> {
        self.read()?.task_at(key)
    }

    fn tasks(&mut self, filter: &TaskFilter, before: Option<u64>, limit: usize) -> Result<Vec<Task>, Error> {
        self.read()?.tasks(filter, before, limit)
    }

    fn idempotency(&mut self, namespace: &Name, key: &IdempotencyKey) -> Result<Option<IdempotencyRow>, Error> {
        self.read()?.idempotency(namespace, key)
    }

    fn newest_request(&mut self) -> Result<Option<RequestId>, Error> {
        self.read()?.newest_request()
    }

    fn content(&mut self, key: ContentKey) -> Result<Option<Content>, Error> {
        self.read()?.content(key)
    }

    fn contents(&mut self, first: u64, last: u64) -> Result<Vec<(ContentKey, Content)>, Error> {
        self.read()?.contents(first, last)
    }

    fn blob(&mut self, hash: &Hash) -> Result<Option<Vec<u8>>, Error> {
        self.read()?.blob(hash)
    }

    fn tasks_by_key(&mut self, after: Option<u64>, limit: usize) -> Result<Vec<TaskRows>, Error> {
        self.read()?.tasks_by_key(after, limit)
    }

    fn scope(&mut self, scope: Scope) -> Result<Option<Rows>, Error> {
        self.read()?.scope(scope)
    }

    fn scopes(&mut self, after: Option<Scope>, limit: usize) -> Result<Vec<Scope>, Error> {
        self.read()?.scopes(after, limit)
    }

    fn due_scopes(&mut self, now_ms: u64, limit: usize) -> Result<Vec<(u64, Scope)>, Error> {
        self.read()?.due_scopes(now_ms, limit)
    }

    fn inbox(
        &mut self,
        namespace: &Name,
        agent: &Name,
        priority: Priority,
        now_ms: u64,
        limit: usize,
    ) -> Result<Vec<(ThreadId, MessageId)>, Error> {
        self.read()?.inbox(namespace, agent, priority, now_ms, limit)
    }

    fn ops(&mut self, after: u64, limit: usize) -> Result<Vec<StoredOp>, Error> {
        self.read()?.ops(after, limit)
    }

    fn due(
        &mut self,
        queue: Queue,
        now_ms: u64,
        after: Option<(u64, StepKey)>,
        limit: usize,
    ) -> Result<Vec<(u64, StepKey)>, Error> {
        self.read()?.due(queue, now_ms, after, limit)
    }

    fn due_in(
        &mut self,
        namespace: &Name,
        queue: Queue,
        now_ms: u64,
        after: Option<Due>,
        limit: usize,
    ) -> Result<(Vec<Due>, Option<Due>), Error> {
        self.read()?.due_in(namespace, queue, now_ms, after, limit)
    }

    fn ended(&mut self, until_ms: u64, after: Option<(u64, u64)>, limit: usize) -> Result<Vec<(u64, u64)>, Error> {
        self.read()?.ended(until_ms, after, limit)
    }

    fn rested(&mut self, until_ms: u64, limit: usize) -> Result<Vec<(u64, ThreadId)>, Error> {
        self.read()?.rested(until_ms, limit)
    }

    fn life(&mut self) -> Result<Life, Error> {
        self.read()?.life()
    }

    fn is_live(&mut self, scope: Scope) -> Result<bool, Error> {
        self.read()?.is_live(scope)
    }

    fn snapshot(&mut self, after: Option<Scope>, limit: usize) -> Result<Vec<(Scope, Rows)>, Error> {
        self.read()?.snapshot(after, limit)
    }

    fn next_due(&mut self, now_ms: u64) -> Result<Option<u64>, Error> {
        self.read()?.next_due(now_ms)
    }

    fn leased(&mut self, owner: NodeId, after: Option<StepKey>, limit: usize) -> Result<Vec<StepKey>, Error> {
        self.read()?.leased(owner, after, limit)
    }

    fn waiting(&mut self, after: Option<StepKey>, limit: usize) -> Result<Vec<StepKey>, Error> {
        self.read()?.waiting(after, limit)
    }

    fn threads(&mut self, state: State, after: Option<ThreadId>, limit: usize) -> Result<Vec<ThreadId>, Error> {
        self.read()?.threads(state, after, limit)
    }

    fn conflicts(&mut self, limit: usize) -> Result<Vec<LeaseConflict>, Error> {
        self.read()?.conflicts(limit)
    }

    fn heartbeat(&mut self, worker: WorkerId) -> Result<Option<u64>, Error> {
        self.read()?.heartbeat(worker)
    }

    fn spends(&mut self, since: Day) -> Result<Vec<Spend>, Error> {
        self.read()?.spends(since)
    }

    fn spends_for(&mut self, task: TaskId) -> Result<Vec<Spend>, Error> {
        self.read()?.spends_for(task)
    }

    fn traffic(&mut self) -> Result<Kept, Error> {
        self.read()?.traffic()
    }

    fn counts(&mut self) -> Result<(u64, u64), Error> {
        self.read()?.counts()
    }
}
