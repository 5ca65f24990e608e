//! Upkeep: the whole of what [`LifeCommand`] does a little at a time (R14, R35, D33).
//!
//! Every step is an ordinary command, so live work goes on between any two of them, and a process that dies in the middle
//! has done the first half.

use crate::driver::{Answer, Command, LifeCommand};

const DAY_MS: u64 = 24 * 60 * 60 * 1_000;

/// How long what is over is kept. Names and values are those of the contract's settings (R18).
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Retention {
    /// Tasks and threads that are over.
    pub done_retention_days: u64,
    /// Idempotency keys, from the end of their task on (D5).
    pub idempotency_ttl_days: u64,
}

impl Default for Retention {
    fn default() -> Self {
        Self { done_retention_days: 7, idempotency_ttl_days: 7 }
    }
}

impl Retention {
    /// What ended up to here may be forgotten. A task is kept at least as long as its key: otherwise a repeated request
    /// would run again before its time.
    pub fn purge_until_ms(&self, now_ms: u64) -> u64 {
        before(now_ms, self.done_retention_days.max(self.idempotency_ttl_days))
    }

    /// Keys of tasks that ended up to here may be given up.
    pub fn keys_until_ms(&self, now_ms: u64) -> u64 {
        before(now_ms, self.idempotency_ttl_days)
    }
}

fn before(now_ms: u64, days: u64) -> u64 {
    now_ms.saturating_sub(days.saturating_mul(DAY_MS))
}

/// How far a compaction has come.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub struct Compacted {
    /// Ops that were let go of.
    pub ops: u64,
    /// Ops up to here were looked at.
    pub pos: u64,
    /// Up to where it goes.
    pub horizon: u64,
}

/// Whoever takes commands: a driver here, or a daemon at the end of a socket.
pub type Ask<'a, E> = &'a mut dyn FnMut(Command) -> Result<Answer, E>;

/// Gives up every key whose time was over at `until_ms`. Says how many.
pub fn sweep_keys<E>(ask: Ask<'_, E>, until_ms: u64) -> Result<u64, E> {
    repeat(ask, &LifeCommand::SweepKeys { until_ms }, &mut |_| {})
}

/// Forgets every task and thread that was over at `until_ms`. Says how many; `progress` hears it on the way.
pub fn sweep<E>(ask: Ask<'_, E>, until_ms: u64, progress: &mut dyn FnMut(u64)) -> Result<u64, E> {
    repeat(ask, &LifeCommand::Sweep { until_ms }, progress)
}

/// Lets go of every op about what was purged. `progress` hears how far it has come.
pub fn compact<E>(ask: Ask<'_, E>, progress: &mut dyn FnMut(Compacted)) -> Result<Compacted, E> {
    let mut done = Compacted::default();
    let mut command = LifeCommand::Checkpoint;
    loop {
        let Answer::Compacted { ops, pos, horizon } = ask(Command::Life(command))? else { return Ok(done) };
        done = Compacted { ops: done.ops + ops, pos, horizon: done.horizon.max(horizon) };
        progress(done);
        if pos == horizon {
            return Ok(done);
        }
        command = LifeCommand::Compact;
    }
}

fn repeat<E>(ask: Ask<'_, E>, command: &LifeCommand, progress: &mut dyn FnMut(u64)) -> Result<u64, E> {
    let mut all = 0;
    loop {
        let Answer::Swept { count, more } = ask(Command::Life(command.clone()))? else { return Ok(all) };
        all += count;
        progress(all);
        if !more {
            return Ok(all);
        }
    }
}
