//! What follows a commit, however it ended.

use super::{
    ask::Question,
    command::Reply,
    effects::{Effects, Start},
    engine::Engine,
    error::Error,
    pipeline::{After, Decided, Lost},
};
use crate::world::{Alert, Finished, Hold, Outcome, Work, World};
use relaymesh_core::task::Status;
use relaymesh_store::{Batch, Reader};
use std::{collections::BTreeSet, sync::Arc};

impl<R: Reader, W: World> Engine<R, W> {
    /// Takes the store's word about the batch that was given out last. A batch that is empty needs no store: say `Ok`.
    /// What follows from a commit is done by [`Engine::tell`], so that the next batch can be given out first.
    pub fn handle_committed(&mut self, result: Result<(), relaymesh_store::Error>) {
        self.tell();
        if !self.pipeline.is_in_flight() {
            return;
        }
        match result {
            Ok(()) => self.pipeline.settle(),
            Err(error @ relaymesh_store::Error::Full { .. }) => self.roll_back(&error),
            Err(error) => self.poison(&error.to_string()),
        }
    }

    /// Answers everybody and does everything that waited for the last commit.
    pub fn tell(&mut self) {
        let Some(Decided { number, batch, after }) = self.pipeline.take_durable() else { return };
        let After { replies, live, ready, attempts: _, audience, mut effects, said, wake_ms } = after;
        // What was used counts before anybody is told of the position that it stands at.
        if !batch.spends.is_empty() {
            self.world.spent(&batch.spends);
        }
        self.audience.tell(&audience, &batch);
        for (reply, answer) in replies {
            reply(answer);
        }
        audience.answer();
        effects.take_in_journal(&batch);
        self.take_up(effects, &batch);
        self.timers.due_at(wake_ms);
        self.ready.settle(ready);
        self.live.settle(live, number);
        if self.upkeep.has_slice_in(number) {
            self.upkeep.end_slice(self.world.now().mono_ms);
        }
        self.last_words.settle(said);
    }

    fn take_up(&mut self, effects: Effects, batch: &Arc<Batch>) {
        for (step, epoch) in effects.stops {
            self.world.stop(step, epoch);
        }
        let now = self.world.now();
        for Start { hold, worker } in effects.starts {
            if worker != self.identity.worker {
                self.attempts.renew(hold.step, now.mono_ms);
            }
            if worker == self.identity.worker || worker == self.identity.asker {
                self.attempts.start(hold, Arc::clone(batch));
            }
        }
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
        if let Err(error) = self.live.load(hold.step.task, &mut self.reader) {
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
        let Some(rows) = self.live.task(hold.step.task) else { return };
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

    /// The batch changed nothing, and what was decided after it stood on it: both are rejected, each part undoes its share of them, and
    /// rows are read again.
    fn roll_back(&mut self, error: &relaymesh_store::Error) {
        let why = Error::DiskFull(error.to_string());
        self.world.alert(Alert::DiskFull(error.to_string()));
        self.ready.undo();
        self.upkeep.undo();
        self.timers.undo(self.world.now());
        let mut uncreated = BTreeSet::new();
        for Lost { after, spends } in self.pipeline.undo() {
            let After { replies, live, ready: _, attempts, audience, effects: _, said: _, wake_ms: _ } = after;
            for (reply, _) in replies {
                reply(Err(why.clone()));
            }
            uncreated.extend(self.live.undo(live));
            self.attempts.undo(attempts, spends);
            self.audience.undo(audience);
        }
        self.audience.settle(&mut self.reader, uncreated, &why);
    }

    /// Something could not be read: outcomes that were not written down and leases that nobody watches are taken up
    /// again in a while.
    pub(super) fn look_again(&mut self) {
        let at_ms = self.world.now().mono_ms.saturating_add(self.config.reclaim_scan_interval_ms);
        self.timers.retry_at(at_ms);
    }

    fn poison(&mut self, why: &str) {
        self.world.alert(Alert::Poisoned(why.to_owned()));
        self.pipeline.poison(why);
        let mut waiting: Vec<Reply> = self.audience.take_waiters();
        waiting.extend(self.upkeep.take_asked());
        for Lost { after, .. } in self.pipeline.undo() {
            waiting.extend(after.replies.into_iter().map(|(reply, _)| reply));
            waiting.extend(after.audience.into_waiters());
        }
        for reply in waiting {
            reply(Err(Error::Indeterminate(why.to_owned())));
        }
    }
}
