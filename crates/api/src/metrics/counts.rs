//! What is counted while work is done: on the driver's thread, for every event, so it must cost next to nothing.
//!
//! The watcher keeps when steps became ready and when they were claimed in maps of its own; what it shares are atomics. Both maps are
//! bounded: in a backlog longer than that the rest is counted and not measured.

use relaymesh_core::{
    id::{StepId, TaskId},
    lanes::Priority,
    name::Name,
    op::Kind,
    task::Status,
};
use relaymesh_runtime::{
    driver::{Event, StepEvent},
    spread::Spread,
    world::Alert,
};
use std::{
    collections::HashMap,
    sync::{
        Arc, Mutex, MutexGuard, PoisonError,
        atomic::{AtomicU64, Ordering::Relaxed},
    },
    time::Instant,
};

const MILLIS: &[u64] =
    &[1, 2, 5, 10, 25, 50, 100, 250, 500, 1_000, 2_500, 5_000, 10_000, 30_000, 60_000, 300_000, 1_800_000, 7_200_000];
/// Agents that have a name of their own in the metrics.
pub(super) const AGENTS_MAX: usize = 64;
/// What all others are called. No agent can have this name: names have no space in them.
pub(super) const OTHERS: &str = "other agents";
/// Steps and tasks whose times are kept.
const TIMED_MAX: usize = 65_536;
/// Tasks that the percentile is made of.
const RECENT_MAX: usize = 1_024;

/// How an attempt can end.
pub(super) const OUTCOMES: [&str; 6] = ["success", "failed", "timeout", "abandoned", "cancelled", "yielded"];
/// How a task can end.
pub(super) const ENDS: [Status; 4] = [Status::Success, Status::Failed, Status::DeadLetter, Status::Cancelled];
/// What alerts are about.
pub(super) const ALERTS: [&str; 7] =
    ["clock_jump", "late", "disk_full", "poisoned", "unreadable", "held", "clock_unconfirmed"];

/// Everything that is counted.
#[derive(Debug)]
pub struct Counts {
    pub(super) submitted: AtomicU64,
    pub(super) ended: [AtomicU64; ENDS.len()],
    pub(super) retries: AtomicU64,
    pub(super) dead: AtomicU64,
    pub(super) abandoned: AtomicU64,
    pub(super) task_ms: Spread,
    pub(super) waits_ms: [Spread; Priority::ALL.len()],
    pub(super) alerts: [AtomicU64; ALERTS.len()],
    agents: Mutex<Vec<(String, Arc<AgentCounts>)>>,
    recent: Mutex<Recent>,
    /// Writes by GET that were accepted; counted by the HTTP server.
    pub web_write_get_compat: AtomicU64,
    /// Writes refused by the rate limit; counted by the HTTP server.
    pub web_write_rate_limited: AtomicU64,
    /// Spans that a collector took.
    pub spans_sent: AtomicU64,
    /// Spans that nobody took, or that there was no room for.
    pub spans_dropped: AtomicU64,
}

/// What is counted of one agent.
#[derive(Debug)]
pub(super) struct AgentCounts {
    pub(super) outcomes: [AtomicU64; OUTCOMES.len()],
    pub(super) attempt_ms: Spread,
}

/// The last durations, in milliseconds.
#[derive(Debug, Default)]
struct Recent {
    ms: Vec<u32>,
    next: usize,
}

impl Default for Counts {
    fn default() -> Self {
        Self {
            submitted: AtomicU64::new(0),
            ended: Default::default(),
            retries: AtomicU64::new(0),
            dead: AtomicU64::new(0),
            abandoned: AtomicU64::new(0),
            task_ms: Spread::new(MILLIS),
            waits_ms: std::array::from_fn(|_| Spread::new(MILLIS)),
            alerts: Default::default(),
            agents: Mutex::default(),
            recent: Mutex::default(),
            web_write_get_compat: AtomicU64::new(0),
            web_write_rate_limited: AtomicU64::new(0),
            spans_sent: AtomicU64::new(0),
            spans_dropped: AtomicU64::new(0),
        }
    }
}

impl Counts {
    /// Takes events of the driver, on its thread.
    pub fn watcher(self: &Arc<Self>) -> impl FnMut(&Event) -> bool + Send + 'static {
        let mut watcher = Watcher::new(Arc::clone(self));
        move |event| {
            watcher.take(event, Instant::now());
            true
        }
    }

    /// Tasks that were accepted, and tasks that came to an end.
    pub fn tasks(&self) -> (u64, u64) {
        (self.submitted.load(Relaxed), self.ended.iter().map(|count| count.load(Relaxed)).sum())
    }

    /// Something that an operator should see.
    pub fn alert(&self, alert: &Alert) {
        let place = match alert {
            Alert::ClockJump(_) => 0,
            Alert::Late { .. } => 1,
            Alert::DiskFull(_) => 2,
            Alert::Poisoned(_) => 3,
            Alert::Unreadable(_) => 4,
            Alert::Held { .. } => 5,
            Alert::ClockUnconfirmed(_) => 6,
        };
        self.alerts[place].fetch_add(1, Relaxed);
    }

    /// What 95 of 100 of the last tasks did not exceed, in milliseconds.
    pub(super) fn p95_ms(&self) -> u32 {
        let mut ms = locked(&self.recent).ms.clone();
        let place = (ms.len() * 95).div_ceil(100).saturating_sub(1);
        if ms.is_empty() { 0 } else { *ms.select_nth_unstable(place).1 }
    }

    /// The agents that were seen, by name.
    pub(super) fn agents(&self) -> Vec<(String, Arc<AgentCounts>)> {
        let mut agents = locked(&self.agents).clone();
        agents.sort_by(|one, other| one.0.cmp(&other.0));
        agents
    }

    /// The counts of an agent that is new to the watcher.
    fn agent(&self, name: &Name) -> Arc<AgentCounts> {
        let mut agents = locked(&self.agents);
        let name = if agents.len() < AGENTS_MAX { name.as_str() } else { OTHERS };
        if let Some((_, counts)) = agents.iter().find(|(known, _)| known == name) {
            return Arc::clone(counts);
        }
        let counts = Arc::new(AgentCounts { outcomes: Default::default(), attempt_ms: Spread::new(MILLIS) });
        agents.push((name.to_owned(), Arc::clone(&counts)));
        counts
    }

    fn task_took(&self, ms: u64) {
        self.task_ms.add(ms);
        let (mut recent, ms) = (locked(&self.recent), u32::try_from(ms).unwrap_or(u32::MAX));
        let place = recent.next;
        if recent.ms.len() < RECENT_MAX {
            recent.ms.push(ms)
        } else {
            recent.ms[place] = ms
        }
        recent.next = (place + 1) % RECENT_MAX;
    }
}

/// Turns events into counts.
pub(super) struct Watcher {
    counts: Arc<Counts>,
    agents: HashMap<Name, Arc<AgentCounts>>,
    submitted: HashMap<TaskId, Instant>,
    ready: HashMap<StepId, Instant>,
    claimed: HashMap<StepId, Instant>,
}

impl Watcher {
    pub(super) fn new(counts: Arc<Counts>) -> Self {
        let (agents, submitted) = (HashMap::new(), HashMap::new());
        Self { counts, agents, submitted, ready: HashMap::new(), claimed: HashMap::new() }
    }

    pub(super) fn take(&mut self, event: &Event, now: Instant) {
        if event.kind == Kind::ScheduleJob {
            self.counts.submitted.fetch_add(1, Relaxed);
            keep(&mut self.submitted, event.task, now);
        }
        for step in &event.steps {
            self.step(StepId { task: event.task, index: step.index }, event.kind, step, now);
        }
        if let Some(place) = ENDS.iter().position(|end| *end == event.status) {
            self.counts.ended[place].fetch_add(1, Relaxed);
            if let Some(since) = self.submitted.remove(&event.task) {
                self.counts.task_took(millis(since, now));
            }
        }
    }

    fn step(&mut self, id: StepId, kind: Kind, step: &StepEvent, now: Instant) {
        let status = step.status;
        if status == Status::Running {
            if kind == Kind::ClaimWork {
                if let Some(since) = self.ready.remove(&id) {
                    self.counts.waits_ms[usize::from(step.lane.as_u8())].add(millis(since, now));
                }
                keep(&mut self.claimed, id, now);
            }
            return;
        }
        let claimed = self.claimed.remove(&id);
        if let Some(since) = claimed {
            self.ended(step, outcome(kind, status), millis(since, now));
        }
        // Other steps may have changed because of it; a step that was claimed before this daemon started is known by its status.
        let is_lost = claimed.is_some() || matches!(status, Status::Retrying | Status::DeadLetter | Status::Failed);
        let count = |counter: &AtomicU64, is_so: bool| {
            if is_so {
                counter.fetch_add(1, Relaxed);
            }
        };
        count(&self.counts.retries, status == Status::Retrying);
        count(&self.counts.dead, status == Status::DeadLetter);
        count(&self.counts.abandoned, kind == Kind::ExpireWork && is_lost);
        if status == Status::Pending {
            keep(&mut self.ready, id, now);
        } else {
            self.ready.remove(&id);
        }
    }

    fn ended(&mut self, step: &StepEvent, outcome: usize, ms: u64) {
        if !self.agents.contains_key(&step.agent) {
            // The names of agents come from clients, so their number is limited, too.
            if self.agents.len() >= TIMED_MAX {
                self.agents.clear();
            }
            self.agents.insert(step.agent.clone(), self.counts.agent(&step.agent));
        }
        let Some(agent) = self.agents.get(&step.agent) else { return };
        agent.outcomes[outcome].fetch_add(1, Relaxed);
        agent.attempt_ms.add(ms);
    }
}

/// How an attempt ended whose step rests here now because of an op of this kind; its place in [`OUTCOMES`].
fn outcome(kind: Kind, status: Status) -> usize {
    match status {
        Status::Success => 0,
        Status::Cancelled | Status::Skipped => 4,
        Status::Pending | Status::Waiting | Status::Running if kind == Kind::YieldWork => 5,
        Status::Pending
        | Status::Waiting
        | Status::Running
        | Status::Retrying
        | Status::Failed
        | Status::DeadLetter => match () {
            () if kind == Kind::TimeoutWork => 2,
            () if kind == Kind::ExpireWork => 3,
            () => 1,
        },
    }
}

/// Remembers when, as long as there is room.
fn keep<K: std::hash::Hash + Eq>(times: &mut HashMap<K, Instant>, key: K, now: Instant) {
    if times.len() < TIMED_MAX {
        times.insert(key, now);
    }
}

fn millis(since: Instant, now: Instant) -> u64 {
    u64::try_from(now.saturating_duration_since(since).as_millis()).unwrap_or(u64::MAX)
}

fn locked<T>(mutex: &Mutex<T>) -> MutexGuard<'_, T> {
    mutex.lock().unwrap_or_else(PoisonError::into_inner)
}
