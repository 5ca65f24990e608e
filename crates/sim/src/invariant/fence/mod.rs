//! FENCE: no word with a stale fence ever changed a row, and fences only grow. And nothing ends early, whatever the wall
//! clock does.
//!
//! These are models of their own, a few lines each without the kernel: who holds a step, a message or a lock follows from
//! the ops alone. Who takes something takes what nobody holds; the end of it must show what the beginning got.

mod clock;
mod deliveries;
mod locks;
mod steps;

use super::{Invariant, Look, Verdict};
use crate::{call::Call, ledger::OpSeen, time::Ns};
use clock::Clock;
use deliveries::Deliveries;
use locks::Locks;
use relaymesh_core::op::Scope;
use relaymesh_runtime::driver::{Answer, Config, Error};
use steps::Steps;

#[derive(Debug)]
pub(crate) struct Fence {
    clock: Clock,
    steps: Steps,
    locks: Locks,
    deliveries: Deliveries,
}

impl Fence {
    pub(crate) fn new(config: &Config) -> Self {
        Self {
            clock: Clock::new(config.reclaim_scan_interval_ms),
            steps: Steps::default(),
            locks: Locks::default(),
            deliveries: Deliveries::default(),
        }
    }
}

impl Invariant for Fence {
    fn name(&self) -> &'static str {
        "FENCE"
    }

    fn op(&mut self, seen: &OpSeen<'_>) -> Verdict {
        match seen.op.header.scope {
            Scope::Task(task) => self.steps.op(task, seen, &self.clock),
            Scope::Repository(repository) => self.locks.op(repository, seen, &self.clock),
            Scope::Thread(thread) => self.deliveries.op(thread, seen, &self.clock),
            Scope::Namespace(_) | Scope::Plan(_) | Scope::Register(_) | Scope::Log => Ok(()),
        }
    }

    fn clock_set(&mut self, now: Ns, by_ms: i64) {
        self.clock.set(now, by_ms);
    }

    fn clock_alert(&mut self, now: Ns, wall_ms: u64) {
        self.clock.alert(now, wall_ms);
    }

    fn started(&mut self, now: Ns, wall_ms: u64) {
        self.clock.start(now, wall_ms);
    }

    fn answer(&mut self, call: &Call, result: &Result<Answer, Error>, look: &mut Look<'_>) -> Verdict {
        self.steps.answer(call, result, look)?;
        self.locks.answer(call, result)?;
        self.deliveries.answer(result)
    }
}
