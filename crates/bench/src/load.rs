//! The load: callers that each submit a task, wait for its end and submit the next.

use crate::measure::ms;
use relaymesh_api::error::{Code, Error};
use relaymesh_core::{
    id::{NodeId, RequestId},
    name::Name,
    task::{Status, request::Request, spec::IdempotencyKey},
};
use relaymesh_runtime::{
    driver::{Answer, Caller, Command, Config, Driver, Error as DriverError, Handle, Submit, Until},
    host::Host,
};
use relaymesh_store::{Content, Store as _};
use relaymesh_store_sqlite::{Options, SqliteStore};
use serde_json::{Value, json};
use std::{
    path::Path,
    sync::mpsc::{self, Receiver, Sender},
    time::{Duration, Instant},
};

/// Ended: which caller's task, and how.
type End = (usize, Result<Answer, DriverError>);

pub(crate) struct Load {
    handle: Handle,
    caller: Caller,
    namespace: Name,
    agent: Name,
    sent: u64,
    started: Vec<Instant>,
    ends: (Sender<End>, Receiver<End>),
}

/// Runs `tasks` tasks of `callers` callers and gives rate and latencies.
pub(crate) fn callers(dir: &Path, callers: usize, tasks: u64) -> Result<Value, Error> {
    let driver = start(dir)?;
    let mut load = Load::new(driver.handle().clone(), callers);
    load.run(tasks / 4, &mut |_| {})?; // warm up
    let mut took = Vec::new();
    let begun = Instant::now();
    load.run(tasks, &mut |latency| took.push(latency))?;
    let elapsed = begun.elapsed();
    stop(driver)?;
    Ok(json!({
        "tasks_per_s": tasks as f64 / elapsed.as_secs_f64(),
        "p50_ms": percentile(&mut took, 50.0),
        "p99_ms": percentile(&mut took, 99.0),
        "memory_mb": memory_mb(),
    }))
}

/// What a task costs in a store with `tasks` finished tasks, against one with ten thousand. The machine is not the same
/// machine a minute later, so the two stores take turns, and the median of the turns counts.
pub(crate) fn growth(dir: &Path, tasks: u64) -> Result<Value, Error> {
    const SAMPLE: u64 = 10_000;
    const TURNS: usize = 9;
    let old = start(&dir.join("old"))?;
    let mut load = Load::new(old.handle().clone(), 256);
    let mut along_the_way = Vec::new();
    while load.sent < tasks {
        let part = (tasks - load.sent).min(100_000);
        along_the_way.push(json!({ "tasks": load.sent + part, "us_per_task": load.cost_us(part)? }));
    }
    let memory_mb = memory_mb();
    let mut turns = Vec::new();
    for turn in 0..TURNS {
        let young = start(&dir.join(format!("young-{turn}")))?;
        let mut among_few = Load::new(young.handle().clone(), 256);
        among_few.cost_us(SAMPLE)?;
        let (few, many) = (among_few.cost_us(SAMPLE)?, load.cost_us(SAMPLE)?);
        stop(young)?;
        turns.push((many / few, few, many));
    }
    stop(old)?;
    turns.sort_by(|a, b| a.0.total_cmp(&b.0));
    let (ratio, few, many) = turns[TURNS / 2];
    Ok(json!({
        "tasks": tasks, "few_us_per_task": few, "many_us_per_task": many, "ratio": ratio,
        "turns": turns.iter().map(|turn| turn.0).collect::<Vec<_>>(),
        "memory_mb": memory_mb, "along_the_way": along_the_way,
    }))
}

pub(crate) fn start(dir: &Path) -> Result<Driver<SqliteStore>, Error> {
    std::fs::create_dir_all(dir).map_err(|error| Error::new(Code::StoreIo, error.to_string()))?;
    drive(SqliteStore::create(&dir.join("root"), NodeId::new(1, rand::random()), &Options::default())?)
}

/// A driver on a store that is there.
pub(crate) fn open(root: &Path) -> Result<Driver<SqliteStore>, Error> {
    drive(SqliteStore::open(root, &Options::default())?)
}

fn drive(store: SqliteStore) -> Result<Driver<SqliteStore>, Error> {
    let blobs = store.blobs();
    Ok(Driver::start(store, Config::default(), |handle| Host::new(0, blobs, None, handle.late(), |_| {}))?)
}

pub(crate) fn stop(driver: Driver<SqliteStore>) -> Result<(), Error> {
    driver.stop().map(drop).map_err(|why| Error::new(Code::Indeterminate, why))
}

impl Load {
    pub(crate) fn new(handle: Handle, callers: usize) -> Self {
        let name = |text: &str| text.parse::<Name>().expect("a literal name");
        Self {
            handle,
            caller: Caller::new(name("bench"), name("bench")),
            namespace: name("default"),
            agent: name("echo"),
            sent: 0,
            started: vec![Instant::now(); callers],
            ends: mpsc::channel(),
        }
    }

    /// Runs `count` tasks and gives what each cost, in microseconds.
    pub(crate) fn cost_us(&mut self, count: u64) -> Result<f64, Error> {
        let begun = Instant::now();
        self.run(count, &mut |_| {})?;
        Ok(begun.elapsed().as_secs_f64() * 1e6 / count as f64)
    }

    /// Where its commands go.
    pub(crate) fn handle(&self) -> Handle {
        self.handle.clone()
    }

    /// Who gives them.
    pub(crate) fn caller(&self) -> Caller {
        self.caller.clone()
    }

    /// Runs `count` tasks and gives what they took.
    pub(crate) fn latencies(&mut self, count: u64) -> Result<Value, Error> {
        let mut took = Vec::new();
        self.run(count, &mut |latency| took.push(latency))?;
        Ok(json!({
            "work_p50_ms": percentile(&mut took, 50.0), "work_p99_ms": percentile(&mut took, 99.0),
        }))
    }

    /// `count` tasks, every caller with one under way at any time.
    pub(crate) fn run(&mut self, count: u64, took: &mut dyn FnMut(Duration)) -> Result<(), Error> {
        let (mut left, mut open) = (count, 0);
        for caller in 0..self.started.len() {
            if left > 0 {
                self.submit(caller)?;
                (left, open) = (left - 1, open + 1);
            }
        }
        while open > 0 {
            let (caller, answer) = self.ends.1.recv().map_err(|_| Error::new(Code::Internal, "the driver is gone"))?;
            let answer = answer?;
            if !matches!(answer, Answer::Ended { status: Status::Success, .. }) {
                return Err(Error::new(Code::Internal, format!("a task was answered with {answer:?}")));
            }
            took(self.started[caller].elapsed());
            open -= 1;
            if left > 0 {
                self.submit(caller)?;
                (left, open) = (left - 1, open + 1);
            }
        }
        Ok(())
    }

    fn submit(&mut self, caller: usize) -> Result<(), Error> {
        self.sent += 1;
        // Forty bytes of input, and so of result.
        let input = json!({ "n": format!("{:032}", self.sent) });
        let key = IdempotencyKey::RequestId(RequestId::new(relaymesh_api::time::now_ms(), u128::from(self.sent)));
        self.started[caller] = Instant::now();
        let prepared = Request::single(self.agent.clone(), Some(input)).prepare(&self.namespace, Some(key), 1)?;
        let inputs = prepared.inputs.into_iter().map(|(place, bytes)| (place, Content::Inline(bytes))).collect();
        let (namespace, schedule) = (self.namespace.clone(), prepared.schedule);
        let submit = Submit { namespace, schedule, inputs, until: Until::Ended };
        let ends = self.ends.0.clone();
        self.handle.send(self.caller.clone(), Command::Submit(submit), move |answer| drop(ends.send((caller, answer))));
        Ok(())
    }
}

/// The latency that this share of all stays below, in milliseconds.
pub(crate) fn percentile(took: &mut [Duration], percent: f64) -> f64 {
    took.sort_unstable();
    let rank = (took.len() as f64 * percent / 100.0).ceil() as usize;
    took.get(rank.saturating_sub(1)).copied().map_or(f64::NAN, ms)
}

/// The most memory that this process has ever had resident.
fn memory_mb() -> Option<f64> {
    let status = std::fs::read_to_string("/proc/self/status").ok()?;
    let line = status.lines().find_map(|line| line.strip_prefix("VmHWM:"))?;
    line.trim().trim_end_matches("kB").trim().parse::<f64>().ok().map(|kb| kb / 1024.0)
}
