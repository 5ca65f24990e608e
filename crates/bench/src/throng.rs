//! What others cost: reads of a few clients alone, and beside thousands of connections that say nothing and hundreds that listen.
//!
//! All of them are really there: the daemon of this benchmark has room for them. Half of those that say nothing have asked for something once.
//! They are let go of after fifteen seconds, so whatever is measured beside them is measured before that.

use crate::{
    api::{Connection, Site, failed, task},
    load,
};
use relaymesh_api::error::{Code, Error};
use rustix::process::{Resource, Rlimit, getrlimit, setrlimit};
use serde_json::{Value, json};
use std::{
    io::{ErrorKind, Read as _},
    net::TcpStream,
    sync::atomic::{AtomicBool, Ordering},
    thread,
    time::{Duration, Instant},
};

/// Connections that say nothing.
const IDLE: usize = 5_000;
/// Clients that listen to events.
const LISTENING: usize = 500;
/// Clients that read.
const READERS: usize = 4;
/// How long they read each time.
const SPAN: Duration = Duration::from_secs(3);
/// How many connections the daemon must have room for.
pub(crate) const CONNECTIONS_MAX: usize = 8_000;

/// Asks the system for as many descriptors as that takes; a daemon that is started afterwards has them, too. `false`: they are not to be had.
pub(crate) fn make_room() -> bool {
    let limit = getrlimit(Resource::Nofile);
    let wanted = CONNECTIONS_MAX as u64 + 200;
    if limit.current.is_none_or(|current| current >= wanted) {
        return true;
    }
    setrlimit(Resource::Nofile, Rlimit { current: Some(wanted), maximum: limit.maximum }).is_ok()
}

/// Measures reads of this path alone, beside all others, and beside all others while tasks are submitted.
pub(crate) fn measure(site: &Site, path: &str, memory_mb: impl Fn() -> Option<f64>) -> Result<Value, Error> {
    let mut alone = reads(site, path, SPAN)?;
    let before_mb = memory_mb();
    let mut listening = Vec::new();
    for _ in 0..LISTENING {
        let mut listener = Connection::open(site)?;
        listener.send("GET", "/events", "application/json", "")?;
        listener.head()?;
        listening.push(listener);
    }
    let begun = Instant::now();
    let mut idle = Vec::new();
    for number in 0..IDLE {
        let mut connection = Connection::open(site)?;
        if number.is_multiple_of(2) {
            connection.get("/health")?;
        }
        idle.push(connection);
    }
    let mut beside = reads(site, path, SPAN)?;
    let with_all_mb = memory_mb();
    let there = idle.iter().filter(|connection| is_open(connection.reader.get_ref())).count();
    let took = begun.elapsed();
    let mut busy = beside_submits(site, path, &mut listening)?;
    let p99 = |took: &mut Vec<Duration>| load::percentile(took, 99.0);
    let (alone_ms, beside_ms, busy_ms) = (p99(&mut alone), p99(&mut beside), p99(&mut busy));
    Ok(json!({
        "idle": there, "idle_within_s": took.as_secs_f64(), "listening": listening.len(),
        "reads_alone": alone.len(), "reads_beside": beside.len(), "reads_beside_submits": busy.len(),
        "alone_p99_ms": alone_ms, "beside_p99_ms": beside_ms, "ratio": beside_ms / alone_ms,
        "beside_submits_p99_ms": busy_ms, "ratio_beside_submits": busy_ms / alone_ms,
        "more_mb": with_all_mb.zip(before_mb).map(|(after, before)| after - before),
    }))
}

/// How long each read of a few clients took.
fn reads(site: &Site, path: &str, span: Duration) -> Result<Vec<Duration>, Error> {
    let connections = (0..READERS).map(|_| Connection::open(site)).collect::<Result<Vec<_>, _>>()?;
    let end = Instant::now() + span;
    thread::scope(|scope| {
        let run = |mut connection: Connection<'_>| {
            let mut took = Vec::new();
            while Instant::now() < end {
                let begun = Instant::now();
                connection.get(path)?;
                took.push(begun.elapsed());
            }
            Ok::<_, Error>(took)
        };
        let running: Vec<_> = connections.into_iter().map(|connection| scope.spawn(move || run(connection))).collect();
        let panicked = || Err(Error::new(Code::Internal, "a reader panicked"));
        let all = running.into_iter().map(|thread| thread.join().unwrap_or_else(|_| panicked()));
        Ok(all.collect::<Result<Vec<_>, _>>()?.concat())
    })
}

/// The same while one client submits one task after the other, and all listeners hear of it.
fn beside_submits(site: &Site, path: &str, listening: &mut [Connection<'_>]) -> Result<Vec<Duration>, Error> {
    let is_over = AtomicBool::new(false);
    for listener in listening.iter() {
        listener.reader.get_ref().set_nonblocking(true).map_err(failed)?;
    }
    thread::scope(|scope| {
        let is_over = &is_over;
        let submits = scope.spawn(move || {
            let mut connection = Connection::open(site)?;
            while !is_over.load(Ordering::Relaxed) {
                connection.post("/tasks?wait_ms=10000", &task())?;
            }
            Ok::<_, Error>(())
        });
        // One thread reads for all who listen: what they do with it is not what is measured.
        let hears = scope.spawn(move || {
            let mut buffer = vec![0; 64 << 10];
            while !is_over.load(Ordering::Relaxed) {
                for listener in listening.iter_mut() {
                    while listener.reader.get_mut().read(&mut buffer).is_ok_and(|read| read > 0) {}
                }
                thread::sleep(Duration::from_millis(50));
            }
        });
        let took = reads(site, path, SPAN);
        is_over.store(true, Ordering::Relaxed);
        let panicked = || Err(Error::new(Code::Internal, "a client panicked"));
        submits.join().unwrap_or_else(|_| panicked())?;
        hears.join().map_or_else(|_| panicked(), Ok)?;
        took
    })
}

fn is_open(stream: &TcpStream) -> bool {
    let mut stream = stream;
    let quiet = stream.set_nonblocking(true).is_ok();
    quiet && stream.read(&mut [0]).is_err_and(|error| error.kind() == ErrorKind::WouldBlock)
}
