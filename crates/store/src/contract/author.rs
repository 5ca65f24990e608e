//! Turns commands into batches, the way a driver does: tick the clock, apply the op to the rows, append it to the chain,
//! and put every row that changed into the batch.
//!
//! An author is ahead of its store: it goes on from rows that are only on their way there. So whoever takes a batch
//! from it commits that batch before the next one.

use super::{
    graph::{Graph, name},
    snapshot::all_tasks,
};
use crate::{
    Batch, Content, ContentKey, ContentPut, Head, Heartbeat, IdempotencyRow, LeaseConflict, Reader, Saved, SavedScope,
    StoredOp, TaskFilter, life::droppable,
};
use relaymesh_core::{
    content::{ContentRef, Media},
    hash::Hash,
    hlc::HlcClock,
    id::{LeaseToken, NodeId, OpId, RequestId, StepId, TaskId, ThreadId, WorkerId},
    kernel::{self, Rows, apply_task},
    name::Name,
    op::{Body, CancelMode, Chain, ChainHead, ExpireReason, Header, Hold, Op, Scope, WriteClass, log},
    task::{
        self, Refusal, Status, Step, TaskRows,
        spec::{IdempotencyKey, Schedule},
    },
};
use std::collections::{BTreeMap, BTreeSet};

/// When the story begins.
const START_MS: u64 = 1_700_000_000_000;
/// How long claims last.
pub const LEASE_MS: u64 = 30_000;
/// The workers of the story.
pub const WORKERS: [WorkerId; 3] = [WorkerId::new(1, 1), WorkerId::new(1, 2), WorkerId::new(1, 3)];
/// The nodes that answer for them.
pub const OWNERS: [NodeId; 3] = [NodeId::new(1, 1), NodeId::new(1, 2), NodeId::new(1, 3)];

/// Makes batches. See the head of this file.
#[derive(Debug)]
pub struct Author {
    /// The wall clock.
    pub now_ms: u64,
    batch: Batch,
    clock: HlcClock,
    tasks: BTreeMap<TaskId, (Option<TaskRows>, Saved)>,
    pub(super) scopes: BTreeMap<Scope, (Option<Rows>, SavedScope)>,
    touched_scopes: BTreeSet<Scope>,
    touched: BTreeSet<TaskId>,
    /// Since the last checkpoint: how far ops were looked at, and the scopes that were purged, whose ops may not go yet.
    compaction: Option<(u64, BTreeSet<Scope>)>,
    serial: u128,
}

impl Author {
    /// Goes on from what a store holds.
    pub fn resume<R: Reader>(reader: &mut R) -> Self {
        let head = reader.head().unwrap();
        let clock = head.hlc().map_or(HlcClock::new(head.chain.origin), HlcClock::resume);
        let now_ms = clock.last().wall_ms.max(START_MS) + 1;
        let mut tasks = BTreeMap::new();
        for task in all_tasks(reader, &TaskFilter::default()) {
            let rows = reader.task(task.id).unwrap().unwrap();
            let saved = Saved::of(&rows);
            tasks.insert(task.id, (Some(rows), saved));
        }
        let mut scopes = BTreeMap::new();
        for scope in reader.scopes(None, usize::MAX).unwrap() {
            let rows = reader.scope(scope).unwrap().unwrap();
            let saved = SavedScope::of(&rows);
            scopes.insert(scope, (Some(rows), saved));
        }
        Self {
            now_ms,
            batch: Batch::new(head),
            clock,
            tasks,
            scopes,
            touched: BTreeSet::new(),
            touched_scopes: BTreeSet::new(),
            compaction: None,
            serial: 0,
        }
    }

    /// The node that it writes for.
    pub fn node(&self) -> NodeId {
        self.batch.head.chain.origin
    }

    /// The rows of a task, as of the last command.
    pub fn rows(&self, task: TaskId) -> &TaskRows {
        self.tasks[&task].0.as_ref().unwrap()
    }

    /// All rows, as of the last command.
    pub fn all_rows(&self) -> impl Iterator<Item = &TaskRows> {
        self.tasks.values().filter_map(|(rows, _)| rows.as_ref())
    }

    /// One step, as of the last command.
    pub fn step(&self, task: TaskId, place: u16) -> &Step {
        &self.rows(task).steps[usize::from(place)]
    }

    /// Puts the rows as they are now into the batch, as a driver does that has nothing else to do.
    pub fn put_rows(&mut self) {
        for task in std::mem::take(&mut self.touched) {
            let (rows, saved) = self.tasks.get_mut(&task).unwrap();
            saved.put(rows.as_ref().unwrap(), &mut self.batch);
        }
        for scope in std::mem::take(&mut self.touched_scopes) {
            let (rows, saved) = self.scopes.get_mut(&scope).unwrap();
            saved.put(scope, rows.as_ref(), &mut self.batch);
        }
    }

    /// Everything since the last time, as one batch.
    pub fn take(&mut self) -> Batch {
        self.put_rows();
        let head = self.batch.head.clone();
        std::mem::replace(&mut self.batch, Batch::new(head))
    }

    /// Begins a new chain, as after a restore.
    pub fn begin_epoch(&mut self) {
        let chain = &mut self.batch.head.chain;
        *chain = Chain::new(chain.origin, chain.origin_epoch + 1);
    }

    /// Submits a task.
    pub fn submit(&mut self, graph: &Graph) -> TaskId {
        let id = TaskId::new(self.now_ms, self.next());
        let key = graph.key.clone().unwrap_or_else(|| IdempotencyKey::RequestId(RequestId::from_bytes(id.to_bytes())));
        let mut steps = graph.steps.clone();
        let pos = self.batch.head.pos + 1;
        for (place, content) in &graph.inputs {
            steps[usize::from(*place)].input = Some(content.named(Media::Json));
        }
        let fingerprint = Hash::sha256(format!("{steps:?}").as_bytes());
        let schedule =
            Schedule { name: graph.namespace.clone(), key, fingerprint, trace_id: self.next(), input: None, steps };
        self.tasks.insert(id, (None, Saved::default()));
        self.say_in(graph.namespace.clone(), id, task::Body::ScheduleJob { schedule }).unwrap();
        for (place, content) in &graph.inputs {
            self.batch.content.push(ContentPut { key: ContentKey::new(pos, *place), content: content.clone() });
        }
        id
    }

    /// Submits each of these.
    pub fn submit_all(&mut self, count: usize, graph: &Graph) -> Vec<TaskId> {
        (0..count).map(|_| self.submit(graph)).collect()
    }

    /// Claims a step for the first worker on this node.
    pub fn claim(&mut self, task: TaskId, step: u16) -> Hold<u16> {
        self.try_claim(task, step, self.node(), WORKERS[0]).unwrap()
    }

    /// Claims a step for a worker on a node.
    pub fn try_claim(
        &mut self,
        task: TaskId,
        step: u16,
        owner: NodeId,
        worker: WorkerId,
    ) -> Result<Hold<u16>, Refusal> {
        let token = LeaseToken::new(self.now_ms, self.next());
        let seen = self.rows(task).task.head;
        self.say(task, task::Body::ClaimWork { step, owner, worker, token, lease_ms: LEASE_MS, seen })?;
        Ok(Hold { step, epoch: self.step(task, step).epoch, token })
    }

    /// Completes what is held.
    pub fn complete(&mut self, task: TaskId, held: Hold<u16>, bytes: &[u8]) -> Result<(), Refusal> {
        let pos = self.batch.head.pos + 1;
        self.say(task, task::Body::CompleteJob { held, result: ContentRef::of(Media::Json, bytes) })?;
        self.batch.content.push(ContentPut { key: ContentKey::new(pos, 0), content: Content::Inline(bytes.to_vec()) });
        Ok(())
    }

    /// Claims a step and completes it.
    pub fn finish(&mut self, task: TaskId, step: u16) {
        let held = self.claim(task, step);
        self.complete(task, held, format!("{{\"step\":{step}}}").as_bytes()).unwrap();
    }

    /// Fails what is held.
    pub fn fail(&mut self, task: TaskId, held: Hold<u16>, retryable: bool) -> Result<(), Refusal> {
        self.say(task, task::Body::FailJob { held, retryable, jitter_ms: 7, error: "it broke".to_owned() })
    }

    /// Gives back what is held.
    pub fn give_back(&mut self, task: TaskId, held: Hold<u16>) -> Result<(), Refusal> {
        self.say(task, task::Body::YieldWork { held, reason: "not now".to_owned() })
    }

    /// Ends a lease whose deadline has passed.
    pub fn expire(&mut self, task: TaskId, step: u16, epoch: u32) -> Result<(), Refusal> {
        self.say(task, task::Body::ExpireWork { step, epoch, reason: ExpireReason::DeadlinePassed, jitter_ms: 3 })
    }

    /// Cancels a task.
    pub fn cancel(&mut self, task: TaskId, mode: CancelMode) -> Result<(), Refusal> {
        self.say(task, task::Body::CancelTask { mode, reason: "not needed".to_owned() })
    }

    /// Tries a task again.
    pub fn redrive(&mut self, task: TaskId) -> Result<(), Refusal> {
        self.say(task, task::Body::RedriveTask { reason: "try again".to_owned() })
    }

    /// Decides about what a step asks.
    pub fn decide(&mut self, task: TaskId, step: u16, agree: bool) -> Result<(), Refusal> {
        let ask = self.step(task, step).spec.approve.as_ref().map_or(Hash::default(), |ask| ask.hash());
        let body = match agree {
            true => task::Body::ApproveStep { step, ask },
            false => task::Body::DenyStep { step, ask, reason: "no".to_owned() },
        };
        self.say(task, body)
    }

    /// Forgets a task that has ended.
    pub fn purge(&mut self, task: TaskId) -> Result<(), Refusal> {
        let row = IdempotencyRow::of(&self.rows(task).task);
        let op = self.stamp(row.namespace.clone(), Scope::Task(task), Body::PurgeScope {});
        apply_task(&mut self.tasks.get_mut(&task).unwrap().0, &op, &mut Vec::new()).map_err(of_task)?;
        self.accept(&op);
        self.touched.remove(&task);
        let (_, mut saved) = self.tasks.remove(&task).unwrap();
        saved.purge(row, &mut self.batch);
        self.note_purge(Scope::Task(task));
        Ok(())
    }

    /// Forgets a thread in which nothing waits.
    pub fn purge_thread(&mut self, thread: ThreadId) -> Result<(), kernel::Refusal> {
        self.say_about(Scope::Thread(thread), Body::PurgeScope {})?;
        self.note_purge(Scope::Thread(thread));
        Ok(())
    }

    pub(super) fn note_purge(&mut self, scope: Scope) {
        self.compaction.iter_mut().for_each(|(_, purged)| _ = purged.insert(scope));
    }

    /// Says what the log has come to. From now on what is over may go.
    pub fn checkpoint(&mut self) -> u64 {
        self.put_rows();
        let Head { pos, chain, state } = self.batch.head.clone();
        let heads = vec![ChainHead {
            origin: chain.origin,
            origin_epoch: chain.origin_epoch,
            seq: chain.seq,
            hash: chain.head,
        }];
        let op = self.stamp(name("default"), Scope::Log, log::Body::Checkpoint { pos, heads, state });
        kernel::apply(&mut None, &op, &mut Vec::new()).unwrap();
        self.accept(&op);
        self.batch.horizon = Some(pos);
        self.compaction = Some((0, BTreeSet::new()));
        pos
    }

    /// Lets go of what is over among the next `limit` ops up to the horizon. What was looked at in an earlier call must be
    /// committed.
    pub fn drop_ops<R: Reader>(&mut self, reader: &mut R, limit: usize) -> u64 {
        let Some((after, purged)) = &mut self.compaction else { return 0 };
        let horizon = reader.life().unwrap().horizon;
        let mut page = reader.ops(*after, limit).unwrap();
        page.retain(|op| op.pos <= horizon);
        *after = page.last().map_or(*after, |op| op.pos);
        let dropped = droppable(&page, &mut |scope| Ok(!purged.contains(&scope) && !reader.is_live(scope)?)).unwrap();
        self.batch.runs.extend(dropped.runs);
        dropped.ops
    }

    /// Notes in the journal that a word came too late.
    pub fn note_conflict(&mut self, task: TaskId, step: u16, verb: &'static str, given: u32) {
        let (at_ms, found, epoch) = (self.now_ms, self.step(task, step).status, self.step(task, step).epoch);
        let step = StepId { task, index: step };
        self.batch.conflicts.push(LeaseConflict { at_ms, step, verb, found, epoch, given });
    }

    /// Notes in the journal that a worker was heard of.
    pub fn note_heartbeat(&mut self, worker: WorkerId) {
        self.batch.heartbeats.push(Heartbeat { worker, at_ms: self.now_ms });
    }

    /// Where a task rests, as of the last command.
    pub fn status(&self, task: TaskId) -> Status {
        self.rows(task).task.status
    }

    /// One op about a task that is there; a refused one leaves nothing behind.
    pub fn say(&mut self, task: TaskId, body: task::Body) -> Result<(), Refusal> {
        self.say_in(self.rows(task).task.namespace.clone(), task, body)
    }

    fn say_in(&mut self, namespace: Name, task: TaskId, body: task::Body) -> Result<(), Refusal> {
        let op = self.stamp(namespace, Scope::Task(task), body);
        apply_task(&mut self.tasks.get_mut(&task).unwrap().0, &op, &mut Vec::new()).map_err(of_task)?;
        self.accept(&op);
        self.touched.insert(task);
        Ok(())
    }

    /// One op about a scope other than a task; a refused one leaves nothing behind.
    pub(super) fn say_about(&mut self, scope: Scope, body: impl Into<Body>) -> Result<(), kernel::Refusal> {
        self.say_about_in(name("default"), scope, body)
    }

    /// The same in another namespace.
    pub(super) fn say_about_in(
        &mut self,
        namespace: Name,
        scope: Scope,
        body: impl Into<Body>,
    ) -> Result<(), kernel::Refusal> {
        let op = self.stamp(namespace, scope, body);
        let (rows, _) = self.scopes.entry(scope).or_default();
        kernel::apply(rows, &op, &mut Vec::new())?;
        self.accept(&op);
        self.touched_scopes.insert(scope);
        Ok(())
    }

    fn stamp(&mut self, namespace: Name, scope: Scope, body: impl Into<Body>) -> Op {
        let head = &self.batch.head;
        let header = Header {
            op_id: OpId::new(self.now_ms, (u128::from(head.pos) << 20) | 1),
            origin: head.chain.origin,
            origin_epoch: head.chain.origin_epoch,
            seq: head.chain.next_seq(),
            hlc: self.clock.tick(self.now_ms).unwrap(),
            author: name("tester"),
            source: name("contract"),
            namespace,
            scope,
            write_class: WriteClass::Strong,
            causal_deps: Vec::new(),
            via: None,
        };
        Op { pos: head.pos + 1, header, body: body.into() }
    }

    /// Content of the last op.
    pub(super) fn put_content(&mut self, content: Content) {
        self.batch.content.push(ContentPut { key: ContentKey::new(self.batch.head.pos, 0), content });
    }

    fn accept(&mut self, op: &Op) {
        let link = self.batch.head.chain.append(&op.header, &op.body);
        self.batch.head.pos = op.pos;
        self.batch.ops.push(StoredOp { pos: op.pos, bytes: link.bytes, hash: link.hash });
    }

    pub(super) fn next(&mut self) -> u128 {
        self.serial += 1;
        self.serial
    }
}

fn of_task(refusal: kernel::Refusal) -> Refusal {
    let kernel::Refusal::Task(refusal) = refusal else { panic!("{refusal}") };
    refusal
}
