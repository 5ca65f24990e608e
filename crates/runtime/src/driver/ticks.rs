//! What time brings: retries fall due, approvals run out, attempts take too long, workers fall silent.

use super::{attempts::Deadline, engine::Engine, timers::earlier};
use crate::world::{Alert, World};
use relaymesh_core::{
    id::StepId,
    op::ExpireReason,
    task::{self, Refusal, spec::Ask},
};
use relaymesh_store::{Error, Queue, Reader};

const PAGE: usize = 256;

impl<R: Reader, W: World> Engine<R, W> {
    /// When to call [`Engine::handle_tick`], by the monotonic clock, if nothing else comes in. `None`: there is nothing
    /// to wait for, and an idle node uses no processor time.
    pub fn wake_at(&mut self) -> Option<u64> {
        let now = self.world.now();
        let next = earlier(self.timers.next_ms(now), self.attempts.next_deadline_ms());
        next.filter(|_| self.has_room())
    }

    /// Does what is due by now.
    pub fn handle_tick(&mut self) {
        if self.pipeline.poisoned().is_some() {
            return;
        }
        // Whatever is due: an operator wants to know that the clock was set, also when it costs nobody anything.
        self.is_put_off();
        if !self.has_room() {
            return; // a batch is on its way to the store; when it has come back there is room
        }
        let now = self.world.now();
        if self.timers.take_retry(now) {
            self.take_up_rolled_back(now.mono_ms);
        }
        if self.timers.is_due(now) {
            self.take_up_due(now.wall_ms);
        }
        if self.attempts.next_deadline_ms().is_some_and(|at_ms| at_ms <= now.mono_ms) {
            self.take_up_deadlines(now.mono_ms);
        }
    }

    /// There may be room again: outcomes that were not written down are told again, and leases that nobody watches any
    /// more are taken up.
    fn take_up_rolled_back(&mut self, mono_ms: u64) {
        self.pipeline.batch().spends.extend(self.attempts.take_unwritten());
        for finished in self.attempts.take_untold() {
            self.handle_finished(finished);
        }
        if let Err(error) = self.recover() {
            self.world.alert(Alert::Unreadable(error.to_string()));
            self.timers.retry_at(mono_ms.saturating_add(self.config.reclaim_scan_interval_ms));
        }
    }

    fn take_up_due(&mut self, now_ms: u64) {
        self.ready.fell_due();
        self.timers.begin_look();
        let later_ms = now_ms.saturating_add(self.config.reclaim_scan_interval_ms);
        let mut look = || {
            self.deny_unanswered(now_ms)?;
            let next_ms = if self.expire_scopes(now_ms)? { None } else { Some(later_ms) };
            Ok(earlier(earlier(next_ms, self.timers.scopes_due_ms()), self.reader.next_due(now_ms)?))
        };
        let next_ms: Result<_, Error> = look();
        let next_ms = next_ms.unwrap_or_else(|error| {
            self.world.alert(Alert::Unreadable(error.to_string()));
            Some(later_ms)
        });
        self.timers.end_look(earlier(next_ms, self.world.held_until()));
    }

    /// Approvals that nobody gave in time are denied.
    fn deny_unanswered(&mut self, now_ms: u64) -> Result<(), Error> {
        let caller = self.identity.driver.clone();
        let mut after = None;
        loop {
            let page = self.reader.due(Queue::Approval, now_ms, after, PAGE)?;
            let Some(last) = page.last() else { return Ok(()) };
            after = Some(*last);
            for (_, key) in page {
                if self.must_wait(now_ms) {
                    return Ok(());
                }
                let Some(task) = self.live.load_key(key.task(), &mut self.reader)? else { continue };
                let Some((step, _)) = self.step(task, key.place()) else { continue };
                let Some(ask) = step.spec.approve.as_ref().map(Ask::hash) else { continue };
                let reason = "no decision before the deadline".to_owned();
                // Refused when it was decided meanwhile, which is just as well.
                let _ = self.write(task, &caller, task::Body::DenyStep { step: key.place(), ask, reason });
            }
        }
    }

    /// A jump of the wall clock puts everything that runs out off by one round (R10), whoever is the first to notice it.
    pub(super) fn is_put_off(&mut self) -> bool {
        let now = self.world.now();
        if let Some(jump) = self.world.jump() {
            self.world.alert(Alert::ClockJump(jump));
            self.timers.put_off(now.mono_ms.saturating_add(self.config.reclaim_scan_interval_ms));
        }
        self.timers.is_put_off(now)
    }

    /// We come late to a deadline: this process was stopped, or the disk was slow for long. Workers may have spoken meanwhile, and their
    /// words wait in line behind this very tick; so leases are put off by one round, as after a jump of the clock.
    fn is_late(&mut self, mono_ms: u64) -> bool {
        let due_ms = self.attempts.next_deadline_ms().unwrap_or(mono_ms);
        let by_ms = mono_ms.saturating_sub(due_ms);
        let is_late = self.timers.is_late(by_ms);
        if is_late {
            self.world.alert(Alert::Late { by_ms });
        }
        is_late
    }

    fn take_up_deadlines(&mut self, mono_ms: u64) {
        let (is_put_off, is_late) = (self.is_put_off(), self.is_late(mono_ms));
        while self.has_room()
            && let Some((step, epoch, what)) = self.attempts.pop_passed(mono_ms)
        {
            let later = mono_ms.saturating_add(self.config.reclaim_scan_interval_ms);
            let not_now = |ended: Result<(), super::Error>| {
                matches!(ended, Err(super::Error::Refused(Refusal::LeaseRuns { .. }) | super::Error::Store(_)))
            };
            let waits = is_put_off || (is_late && what == Deadline::Lease);
            if waits || not_now(self.end_attempt(step, epoch, what)) {
                self.attempts.put_off(step, epoch, what, later);
            }
        }
    }

    fn end_attempt(&mut self, step: StepId, epoch: u32, what: Deadline) -> Result<(), super::Error> {
        let caller = self.identity.driver.clone();
        let jitter_ms = self.jitter_ms(step);
        let body = match what {
            Deadline::Timeout => task::Body::TimeoutWork { step: step.index, epoch, jitter_ms },
            Deadline::Lease => {
                task::Body::ExpireWork { step: step.index, epoch, reason: ExpireReason::DeadlinePassed, jitter_ms }
            }
        };
        self.write(step.task, &caller, body).map(drop)
    }
}
