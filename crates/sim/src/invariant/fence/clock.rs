//! What a process may make of its clocks.
//!
//! Leases of steps run by the monotonic clock. Locks, deliveries and the lives of messages have deadlines in the node's
//! own time, which never follows a wall clock that is set, and says so (R10): then everything that would run out is
//! put off by one round. At a start the node's time begins where the wall clock is, and nobody can tell how long it was
//! down by any other clock.

use super::super::{Verdict, ensure};
use crate::time::{MS, Ns};

/// Below this a jump and the drift of the clock cannot be told apart.
const JUMP_MS_MIN: u64 = 10_000;

#[derive(Debug)]
pub(super) struct Clock {
    round_ms: u64,
    /// When and how far the wall clock was set since the process started or last said so.
    unsaid: Vec<(Ns, i64)>,
    started: Ns,
    /// When the process has said that the wall clock was set.
    alerts: Vec<Ns>,
    /// How far the node's own time was from the monotonic clock, since when.
    offsets: Vec<(Ns, i64)>,
}

impl Clock {
    pub(super) fn new(round_ms: u64) -> Self {
        Self { round_ms, unsaid: Vec::new(), started: 0, alerts: Vec::new(), offsets: Vec::new() }
    }

    pub(super) fn set(&mut self, now: Ns, by_ms: i64) {
        self.unsaid.push((now, by_ms));
    }

    pub(super) fn alert(&mut self, now: Ns, wall_ms: u64) {
        self.unsaid.clear();
        self.alerts.push(now);
        self.offsets.push((now, offset(now, wall_ms)));
    }

    pub(super) fn start(&mut self, now: Ns, wall_ms: u64) {
        self.unsaid.clear();
        self.alerts.clear();
        self.started = now;
        self.offsets.push((now, offset(now, wall_ms)));
    }

    /// When the process started.
    pub(super) fn started(&self) -> Ns {
        self.started
    }

    /// A jump of the wall clock before this was noticed.
    pub(super) fn noticed(&self, since: Ns, what: &str) -> Verdict {
        let unsaid_ms: i64 = self.unsaid.iter().map(|(_, ms)| ms).sum();
        // Set back again before the decision, perhaps: then there was nothing to notice.
        let settled = self.unsaid.iter().all(|(at, _)| *at < since);
        let jumped = settled && unsaid_ms.unsigned_abs() > JUMP_MS_MIN;
        ensure(!jumped, || format!("{what} expired after a jump of {unsaid_ms} ms that nobody noticed"))
    }

    /// Something that began in `began` and was to last `term_ms` has run out in `over`: not before its time.
    pub(super) fn in_time(&self, began: (Ns, Ns), over: (Ns, Ns), term_ms: u64, what: &str) -> Verdict {
        let passed_ms = over.1.saturating_sub(began.0) / MS;
        if passed_ms >= term_ms {
            return Ok(());
        }
        let (least, most) = (self.offset(began).0, self.offset(over).1);
        let ahead_ms = u64::try_from(most - least).unwrap_or(0);
        ensure(passed_ms + ahead_ms + 1 >= term_ms, || {
            format!("{what} ran out after {passed_ms} ms of {term_ms}, and the clock went ahead by {ahead_ms} ms only")
        })?;
        let Some(said) = self.alerts.iter().rev().find(|at| **at <= over.0) else { return Ok(()) };
        let since_ms = over.1.saturating_sub(*said) / MS;
        ensure(since_ms + 1 >= self.round_ms, || {
            let round_ms = self.round_ms;
            format!("{what} ran out {since_ms} ms after a jump of the clock, and is put off by {round_ms} ms")
        })
    }

    /// The least and the greatest distance of the node's time from the monotonic clock in this while.
    fn offset(&self, (from, to): (Ns, Ns)) -> (i64, i64) {
        let first = self.offsets.partition_point(|(at, _)| *at <= from).saturating_sub(1);
        let last = self.offsets.partition_point(|(at, _)| *at <= to).max(first + 1);
        let all = self.offsets.get(first..last).unwrap_or_default();
        let found = all.iter().map(|(_, offset)| *offset);
        (found.clone().min().unwrap_or(0), found.max().unwrap_or(0))
    }
}

fn offset(now: Ns, wall_ms: u64) -> i64 {
    i64::try_from(wall_ms).unwrap_or(0) - i64::try_from(now / MS).unwrap_or(0)
}
