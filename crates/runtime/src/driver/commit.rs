//! What follows a commit, however it ended.

use super::{
    ask::Question,
    batch::{After, InFlight, Open},
    command::{Error, Reply},
    engine::Engine,
};
use crate::world::{Alert, Finished, Hold, Outcome, Work, World};
use relaymesh_core::{id::TaskId, task::Status};
use relaymesh_store::{Batch, Reader};
use std::collections::BTreeSet;

impl<R: Reader, W: World> Engine<R, W> {
    /// Takes the store's word about the batch that was given out last. A batch that is empty needs no store: say `Ok`.
    /// What follows from a commit is done by [`Engine::tell`], so that the next batch can be given out first.
    pub fn handle_committed(&mut self, result: Result<(), relaymesh_store::Error>) {
        self.tell();
        let Some(in_flight) = self.in_flight.take() else { return };
        match result {
            Ok(()) => {
                self.head = in_flight.batch.head.clone();
                self.durable = Some(in_flight);
            }
            Err(error @ relaymesh_store::Error::Full { .. }) => self.rolled_back(in_flight, &error),
            Err(error) => self.poison(in_flight, &error.to_string()),
        }
    }

    /// The newest batch that is settled: rows that no later batch has are as the store has them.
    pub(super) fn settled_batch(&self) -> u64 {
        self.in_flight.as_ref().map_or(self.batches, |in_flight| in_flight.number - 1)
    }

    /// Answers everybody and does everything that waited for the last commit.
    pub fn tell(&mut self) {
        let Some(InFlight { number, batch, after }) = self.durable.take() else { return };
        let After { replies, touched, touched_scopes: _, attempts, ready, keys, namespaces: _, wake_ms, audience } =
            after;
        for key in keys {
            if self.keys.get(&key).is_some_and(|(batch, _)| *batch <= number) {
                self.keys.remove(&key);
            }
        }
        // What was used counts before anybody is told of the position that it stands at.
        if !batch.spends.is_empty() {
            self.world.spent(&batch.spends);
        }
        self.audience.tell(&audience, (!batch.ops.is_empty()).then_some(batch.head.pos));
        for (reply, answer) in replies {
            reply(answer);
        }
        audience.answer();
        let now = self.world.now();
        for (step, epoch) in self.attempts.settle(attempts, &batch, now.mono_ms) {
            self.world.stop(step, epoch);
        }
        self.timers.due_at(wake_ms);
        self.ready.settle(ready);
        for task in touched {
            self.cache.settle(task, number);
        }
        self.scopes.settle(number);
    }

    /// Begins at most `max` attempts whose claims are durable; `true` when more of them wait. In between, whatever was
    /// decided can be given to the writer, which would otherwise stand idle while a large batch is worked off.
    pub fn start_some(&mut self, max: usize) -> bool {
        for _ in 0..max {
            let Some((hold, batch)) = self.attempts.pop_start() else { return false };
            self.start(hold, &batch);
        }
        self.has_starts()
    }

    /// Whether attempts wait to be begun.
    pub fn has_starts(&self) -> bool {
        self.attempts.starts() > 0
    }

    /// Begins an attempt whose claim is durable.
    fn start(&mut self, hold: Hold, batch: &Batch) {
        // A roll-back has let go of the rows; what is durable can be read again.
        if let Err(error) = self.cache.load(hold.step.task, &mut self.reader) {
            self.world.alert(Alert::Unreadable(error.to_string()));
            self.attempts.end(hold.step, hold.epoch);
            self.look_again(); // and then the lease is found without an attempt, and revoked
            return;
        }
        let Some((step, _)) = self.step(hold.step.task, hold.step.index) else { return };
        if step.status != Status::Running || step.epoch != hold.epoch {
            return; // cancelled or expired meanwhile
        }
        if step.is_inward() {
            let outcome = self.work_out(hold, batch);
            return self.handle_finished(Finished::new(hold, outcome));
        }
        let (agent, attempt, name) = (step.spec.agent.clone(), step.attempt, step.spec.name.clone());
        let (timeout_ms, terms) = (step.spec.timeout_ms, step.spec.terms.clone());
        let rows = self.cache.get(hold.step.task).and_then(|entry| entry.rows.as_ref());
        let Some(rows) = rows else { return };
        // One approval counts for a whole list, and stands with the step that has it.
        let list = step.spec.item().and_then(|item| rows.steps.get(usize::from(item.of)));
        let asked = list.unwrap_or(step).spec.approve.as_ref().map(|ask| ask.text.clone());
        let (namespace, trace_id) = (rows.task.namespace.clone(), rows.task.trace_id);
        if let Some(timeout_ms) = timeout_ms {
            let at_ms = self.world.now().mono_ms.saturating_add(timeout_ms);
            self.attempts.set_timeout(hold.step, hold.epoch, at_ms);
        }
        let asks = self.world.asks(&agent);
        let outcome = match self.input(hold, batch) {
            Ok(input) if asks => self.ask(Question { hold, namespace, name, agent, input }),
            Ok(input) => {
                self.world.start(Work { hold, namespace, name, agent, attempt, trace_id, input, terms, asked })
            }
            Err(super::input::Unusable { error, retryable }) => Some(Outcome::Failed { error, retryable }),
        };
        if let Some(outcome) = outcome {
            self.handle_finished(Finished::new(hold, outcome));
        }
    }

    /// The batch changed nothing, and what was decided after it stood on it: reject both and read the rows again.
    fn rolled_back(&mut self, in_flight: InFlight, error: &relaymesh_store::Error) {
        let detail = error.to_string();
        self.world.alert(Alert::DiskFull(detail.clone()));
        let open = std::mem::replace(&mut self.open, Open::new(self.head.clone()));
        self.cache.clear();
        self.scopes.clear();
        self.ready.undo();
        // Keys that no reader sees yet: their tasks never came to be.
        let uncreated: BTreeSet<TaskId> = self.keys.drain().filter_map(|(_, (_, task))| task).collect();
        self.upkeep.undo();
        self.timers.undo(self.world.now());
        let spends = [in_flight.batch.spends.clone(), open.batch.spends];
        for (after, spends) in [in_flight.after, open.after].into_iter().zip(spends) {
            for (reply, _) in after.replies {
                reply(Err(Error::DiskFull(detail.clone())));
            }
            self.attempts.undo(after.attempts, spends);
            self.audience.undo(after.audience);
            for name in after.namespaces {
                self.namespaces.remove(&name);
            }
        }
        self.audience.settle(&mut self.reader, uncreated, &Error::DiskFull(detail));
    }

    /// Something could not be read: outcomes that were not written down and leases that nobody watches are taken up
    /// again in a while.
    pub(super) fn look_again(&mut self) {
        let at_ms = self.world.now().mono_ms.saturating_add(self.config.reclaim_scan_interval_ms);
        self.timers.retry_at(at_ms);
    }

    fn poison(&mut self, in_flight: InFlight, why: &str) {
        self.world.alert(Alert::Poisoned(why.to_owned()));
        self.poisoned = Some(why.to_owned());
        let open = std::mem::replace(&mut self.open, Open::new(self.head.clone()));
        let mut waiting: Vec<Reply> = self.audience.take_waiters();
        waiting.extend(self.upkeep.take_asked());
        for after in [in_flight.after, open.after] {
            waiting.extend(after.replies.into_iter().map(|(reply, _)| reply));
            waiting.extend(after.audience.into_waiters());
        }
        for reply in waiting {
            reply(Err(Error::Indeterminate(why.to_owned())));
        }
    }
}
