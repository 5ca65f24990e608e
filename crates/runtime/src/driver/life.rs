//! What is over is let go of, a little at a time (D33).
//!
//! Purging removes rows, and is an op. Compacting removes ops, and follows a checkpoint: an op may go if its scope was
//! purged *before* the checkpoint, so that what is left still folds to the rows whose hash the checkpoint has. What was
//! purged since is remembered here; after a restart nobody remembers it, so compacting begins with a new checkpoint.
//!
//! Whoever wants the whole of it asks again and again ([`crate::upkeep`]); live work goes on in between, in the same
//! batches.

use super::{
    caller::Caller,
    command::{Answer, LifeCommand},
    engine::Engine,
    error::Error,
    upkeep::{COMPACT_MAX, Compacted},
};
use crate::world::World;
use relaymesh_core::{
    id::TaskId,
    kernel::{self, Rows},
    name::Name,
    op::{ChainHead, Scope, Subject, log},
    task::{self, Refusal, Status, fail::shortened, spec::IdempotencyKey},
};
use relaymesh_store::{Head, IdempotencyRow, KeyPut, Reader};

/// Tasks, threads or keys in one go.
const SWEEP_MAX: usize = 64;
const NOTHING_TO_DROP: Answer = Answer::Compacted { ops: 0, pos: 0, horizon: 0 };

impl<R: Reader, W: World> Engine<R, W> {
    /// Decides one command about what is over.
    pub(super) fn life(&mut self, caller: &Caller, command: LifeCommand) -> Result<Answer, Error> {
        match command {
            LifeCommand::Purge { scope } => {
                self.purge(scope, caller)?;
                Ok(Answer::Swept { count: 1, more: false })
            }
            LifeCommand::Sweep { until_ms } => {
                let max = self.slice(SWEEP_MAX);
                self.sweep(until_ms, caller, max)
            }
            LifeCommand::SweepKeys { until_ms } => {
                let max = self.slice(SWEEP_MAX);
                self.sweep_keys(until_ms, max)
            }
            LifeCommand::Compact => {
                let max = self.slice(COMPACT_MAX);
                self.compact(max)
            }
            // Answered once it is the last op of a batch, see `write_checkpoint`.
            LifeCommand::Checkpoint => Ok(NOTHING_TO_DROP),
        }
    }

    /// Something else than upkeep was decided.
    pub(super) fn note_load(&mut self) {
        self.upkeep.note_load(self.world.now().mono_ms);
    }

    /// Whether upkeep may go on now.
    pub(super) fn may_upkeep(&mut self) -> bool {
        let joined = (!self.pipeline.is_idle()).then(|| self.pipeline.ops());
        self.has_room() && self.upkeep.may_go_on(self.world.now().mono_ms, joined)
    }

    /// When upkeep may go on at the latest, if nothing else comes in and there is room.
    pub(super) fn upkeep_at(&self) -> Option<u64> {
        self.upkeep.quiet_at().filter(|_| self.has_room())
    }

    /// How much of `whole` may be done in this batch.
    fn slice(&mut self, whole: usize) -> usize {
        let batch = (self.pipeline.number(), self.pipeline.ops());
        self.upkeep.begin_slice(whole, batch, self.world.now().mono_ms)
    }

    fn purge(&mut self, scope: Scope, caller: &Caller) -> Result<(), Error> {
        match scope {
            Scope::Task(task) => self.purge_task(task, caller)?,
            Scope::Thread(thread) => {
                let namespace = self.thread(scope)?.map(|rows| rows.thread.namespace.clone());
                let namespace = namespace.ok_or(Error::Message(relaymesh_core::message::Refusal::NoThread))?;
                self.write_about(Subject::PurgeThread(thread), namespace, caller)?;
            }
            Scope::Repository(_) | Scope::Namespace(_) | Scope::Plan(_) | Scope::Register(_) | Scope::Log => {
                return Err(Error::NotPurged(scope));
            }
        }
        self.upkeep.note_purged(scope);
        Ok(())
    }

    fn purge_task(&mut self, task: TaskId, caller: &Caller) -> Result<(), Error> {
        let row = self.key_of(task)?;
        let has_key = self.has_key(&row)?;
        self.forget(task, caller)?;
        if has_key {
            self.note_key(row.namespace.clone(), row.key.clone(), None);
        }
        self.live.note_purged(task, row);
        Ok(())
    }

    /// Tasks and threads that were over at `until_ms`.
    fn sweep(&mut self, until_ms: u64, caller: &Caller, max: usize) -> Result<Answer, Error> {
        let tasks = self.reader.ended(until_ms, None, max).map_err(Error::Store)?;
        let threads = self.reader.rested(until_ms, max - tasks.len()).map_err(Error::Store)?;
        let is_full = tasks.len() + threads.len() == max;
        let mut scopes = Vec::new();
        for (_, key) in tasks {
            let task = self.live.load_key(key, &mut self.reader).map_err(Error::Store)?;
            scopes.extend(task.map(Scope::Task));
        }
        scopes.extend(threads.into_iter().map(|(_, thread)| Scope::Thread(thread)));
        let mut count = 0;
        for scope in scopes {
            if !self.has_room() {
                return Ok(Answer::Swept { count, more: true });
            }
            match self.purge(scope, caller) {
                Ok(()) => count += 1,
                Err(error @ (Error::Store(_) | Error::Indeterminate(_))) if count == 0 => return Err(error),
                // What was decided before it stays decided; the rest is for the next time.
                Err(Error::Store(_) | Error::Indeterminate(_)) => return Ok(Answer::Swept { count, more: true }),
                Err(_) => {} // purged or taken up again in a batch that no reader sees yet
            }
        }
        Ok(Answer::Swept { count, more: is_full && count > 0 })
    }

    /// Keys of tasks that ended up to `until_ms`.
    fn sweep_keys(&mut self, until_ms: u64, max: usize) -> Result<Answer, Error> {
        let swept_ms = self.reader.life().map_err(Error::Store)?.swept_ms;
        let mut last = (swept_ms, u64::MAX);
        let (mut looked, mut over) = (0, Vec::new());
        let up_to_ms = 'all: loop {
            let page = self.reader.ended(until_ms, Some(last), max).map_err(Error::Store)?;
            if page.is_empty() {
                break until_ms;
            }
            for (ended_ms, key) in page {
                // All that ended in the same millisecond go together: the next time begins after it.
                if looked >= max && ended_ms > last.0 {
                    break 'all last.0;
                }
                (last, looked) = ((ended_ms, key), looked + 1);
                let Some(task) = self.live.load_key(key, &mut self.reader).map_err(Error::Store)? else { continue };
                let row = match self.key_of(task) {
                    Ok(row) => row,
                    Err(error @ Error::Store(_)) => return Err(error),
                    Err(_) => continue, // purged in a batch that no reader sees yet
                };
                if self.is_over(task) && self.has_key(&row)? {
                    over.push(row);
                }
            }
        };
        // All was read: from here on nothing can fail half way.
        let count = over.len() as u64;
        for row in over {
            self.note_key(row.namespace.clone(), row.key.clone(), None);
            self.pipeline.batch().keys.push(KeyPut::Removed(row));
        }
        if looked > 0 && up_to_ms > swept_ms {
            let swept_ms = &mut self.pipeline.batch().swept_ms;
            *swept_ms = (*swept_ms).max(Some(up_to_ms));
        }
        Ok(Answer::Swept { count, more: up_to_ms < until_ms })
    }

    /// Takes a task up again. It has its key again, unless another task has it by now.
    pub(super) fn redrive(&mut self, task: TaskId, caller: &Caller, reason: &str) -> Result<Status, Error> {
        // Read first: what is written cannot be taken back.
        let row = self.key_of(task)?;
        let is_free = self.known(&row.namespace, &row.key)?.is_none();
        let status = self.write(task, caller, task::Body::RedriveTask { reason: shortened(reason) })?;
        if is_free {
            self.note_key(row.namespace.clone(), row.key.clone(), Some(task));
            self.pipeline.batch().keys.push(KeyPut::Added(row));
        }
        Ok(status)
    }

    /// What became of a key, until a reader can see it.
    pub(super) fn note_key(&mut self, namespace: Name, key: IdempotencyKey, task: Option<TaskId>) {
        let number = self.pipeline.number();
        self.live.note_key((namespace, key), task, number, &mut self.pipeline.after().live);
    }

    /// The key that a task was submitted with.
    fn key_of(&mut self, task: TaskId) -> Result<IdempotencyRow, Error> {
        let rows = self.live.load(task, &mut self.reader).map_err(Error::Store)?.ok_or(Refusal::NoTask)?;
        Ok(IdempotencyRow::of(&rows.task))
    }

    /// Whether the key is still that task's.
    fn has_key(&mut self, row: &IdempotencyRow) -> Result<bool, Error> {
        Ok(self.known(&row.namespace, &row.key)?.is_some_and(|(task, _)| task == row.task))
    }

    fn is_over(&self, task: TaskId) -> bool {
        self.live.task(task).is_some_and(|rows| rows.task.status.is_terminal())
    }

    /// Makes the checkpoint that somebody waits for, as the last op of the batch: what it says is what the rows are then.
    pub(super) fn write_checkpoint(&mut self) {
        let Some(caller) = self.upkeep.first_asked().cloned() else { return };
        let answer = self.checkpoint(&caller);
        let replies = self.upkeep.take_asked();
        self.pipeline.after().replies.extend(replies.map(|reply| (reply, answer.clone())));
    }

    fn checkpoint(&mut self, caller: &Caller) -> Result<Answer, Error> {
        self.put_rows();
        let Head { pos, chain, state } = self.pipeline.tip().clone();
        if chain.seq == 0 {
            return Ok(NOTHING_TO_DROP);
        }
        let (origin, origin_epoch) = (chain.origin, chain.origin_epoch);
        let heads = vec![ChainHead { origin, origin_epoch, seq: chain.seq, hash: chain.head }];
        let namespace = self.identity.driver.author.clone();
        let op = self.stamp(Subject::Log(log::Body::Checkpoint { pos, heads, state }), namespace, caller)?;
        kernel::apply(&mut None::<Rows>, &op, &mut Vec::new()).map_err(super::scopes::refused)?;
        self.pipeline.append(&op);
        self.pipeline.batch().horizon = Some(pos);
        self.upkeep.begin(pos, self.pipeline.number());
        Ok(Answer::Compacted { ops: 0, pos: 0, horizon: pos })
    }

    /// Writes down that something was done which changes no row.
    pub(super) fn note(
        &mut self,
        caller: &Caller,
        event: Name,
        namespace: Name,
        about: Vec<(Name, String)>,
    ) -> Result<Answer, Error> {
        let op = self.stamp(Subject::Log(log::Body::AuditEvent { event, about }), namespace, caller)?;
        kernel::apply(&mut None::<Rows>, &op, &mut Vec::new()).map_err(super::scopes::refused)?;
        self.pipeline.append(&op);
        Ok(Answer::Noted { pos: op.pos })
    }

    /// Looks at some ops and lets go of those that may go.
    fn compact(&mut self, ops_max: usize) -> Result<Answer, Error> {
        let settled = self.pipeline.settled();
        let compacted = self.upkeep.compact(settled, &mut self.reader, ops_max).map_err(Error::Store)?;
        let Some(Compacted { dropped, pos, horizon }) = compacted else { return Ok(NOTHING_TO_DROP) };
        self.pipeline.batch().runs.extend(dropped.runs);
        Ok(Answer::Compacted { ops: dropped.ops, pos, horizon })
    }
}
