//! The load: callers that each submit a task, wait for its end and submit the next.

use super::ms;
use crate::error::{Code, Error};
use relaymesh_core::{
    id::{NodeId, RequestId},
    name::Name,
    task::{Status, request::Request, spec::IdempotencyKey},
};
use relaymesh_runtime::{
    driver::{Answer, Caller, Command, Config, Driver, Error as DriverError, Handle, Submit, Until},
    host::Host,
};
use relaymesh_store_sqlite::{Options, SqliteStore, reference};
use serde_json::{Value, json};
use std::{
    path::Path,
    sync::mpsc::{self, Receiver, Sender},
    time::{Duration, Instant},
};

/// Ended: which caller's task, and how.
type End = (usize, Result<Answer, DriverError>);

struct Load {
    handle: Handle,
    caller: Caller,
    namespace: Name,
    agent: Name,
    sent: u64,
    started: Vec<Instant>,
    ends: (Sender<End>, Receiver<End>),
}

/// Runs `tasks` tasks of `callers` callers and gives rate and latencies.
pub(super) fn callers(dir: &Path, callers: usize, tasks: u64) -> Result<Value, Error> {
    let driver = start(dir)?;
    let mut load = Load::new(driver.handle().clone(), callers);
    load.run(tasks / 4, &mut |_| {})?; // warm up
    let mut took = Vec::new();
    let begun = Instant::now();
    load.run(tasks, &mut |latency| took.push(latency))?;
    let elapsed = begun.elapsed();
    driver.stop().map_err(|why| Error::new(Code::Indeterminate, why))?;
    Ok(json!({
        "tasks_per_s": tasks as f64 / elapsed.as_secs_f64(),
        "p50_ms": percentile(&mut took, 50.0),
        "p99_ms": percentile(&mut took, 99.0),
        "memory_mb": memory_mb(),
    }))
}

/// Runs `tasks` tasks of 256 callers; what a task costs around the ten thousandth and around the last.
pub(super) fn growth(dir: &Path, tasks: u64) -> Result<Value, Error> {
    const SAMPLE: u64 = 20_000;
    let driver = start(dir)?;
    let mut load = Load::new(driver.handle().clone(), 256);
    let sample = |load: &mut Load, count: u64| {
        let begun = Instant::now();
        load.run(count, &mut |_| {})?;
        Ok::<f64, Error>(begun.elapsed().as_secs_f64() * 1e6 / count as f64)
    };
    // The machine is not the same machine a minute later: what a task costs is taken against the reference of its moment.
    let reference = |name: &str| {
        let folder = dir.join(name);
        std::fs::create_dir_all(&folder).map_err(|error| Error::new(Code::StoreIo, error.to_string()))?;
        Ok::<f64, Error>(reference::run(&folder, 256, SAMPLE as usize)?.tasks_per_s)
    };
    sample(&mut load, SAMPLE / 4)?;
    let early = sample(&mut load, SAMPLE)?;
    let early_reference = reference("early")?;
    let mut rates = Vec::new();
    while load.sent + SAMPLE < tasks {
        let part = (tasks - SAMPLE - load.sent).min(100_000);
        rates.push(json!({ "tasks": load.sent + part, "us_per_task": sample(&mut load, part)? }));
    }
    let late = sample(&mut load, SAMPLE)?;
    let late_reference = reference("late")?;
    driver.stop().map_err(|why| Error::new(Code::Indeterminate, why))?;
    Ok(json!({
        "tasks": load.sent, "early_us_per_task": early, "late_us_per_task": late,
        "early_reference_tasks_per_s": early_reference, "late_reference_tasks_per_s": late_reference,
        "ratio": (late * late_reference) / (early * early_reference),
        "memory_mb": memory_mb(), "along_the_way": rates,
    }))
}

fn start(dir: &Path) -> Result<Driver<SqliteStore>, Error> {
    let store = SqliteStore::create(&dir.join("root"), NodeId::new(1, rand::random()), &Options::default())?;
    Ok(Driver::start(store, Config::default(), |finished| Host::new(0, finished, |_| {}))?)
}

impl Load {
    fn new(handle: Handle, callers: usize) -> Self {
        let name = |text: &str| text.parse::<Name>().expect("a literal name");
        Self {
            handle,
            caller: Caller { author: name("bench"), source: name("bench") },
            namespace: name("default"),
            agent: name("echo"),
            sent: 0,
            started: vec![Instant::now(); callers],
            ends: mpsc::channel(),
        }
    }

    /// `count` tasks, every caller with one under way at any time.
    fn run(&mut self, count: u64, took: &mut dyn FnMut(Duration)) -> Result<(), Error> {
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
        let key = IdempotencyKey::RequestId(RequestId::new(crate::time::now_ms(), u128::from(self.sent)));
        self.started[caller] = Instant::now();
        let prepared = Request::single(self.agent.clone(), Some(input)).prepare(&self.namespace, Some(key), 1)?;
        let submit = Submit { namespace: self.namespace.clone(), prepared, until: Until::Ended };
        let ends = self.ends.0.clone();
        self.handle.send(self.caller.clone(), Command::Submit(submit), move |answer| drop(ends.send((caller, answer))));
        Ok(())
    }
}

/// The latency that this share of all stays below, in milliseconds.
pub(super) fn percentile(took: &mut [Duration], percent: f64) -> f64 {
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
