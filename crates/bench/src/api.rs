//! The benchmark of the HTTP API: the same tasks through it and through a driver in this process, in the same run.
//!
//! Both sides submit tasks of the builtin `echo` with forty bytes of input and run until all of them have ended. The client shares the
//! machine with the daemon, as a program on the same machine does, and its share of the work is part of the figures.

use crate::Context;
use crate::{load, runtime::memory_mb, throng};
use relaymesh_api::error::{Code, Error};
use relaymesh_api::local::Endpoint;
use relaymesh_runtime::token::FIRST_FILE;
use serde_json::{Value, json};
use std::{
    io::{BufRead as _, BufReader, Read as _, Write as _},
    net::TcpStream,
    path::Path,
    sync::atomic::{AtomicU64, Ordering},
    thread,
    time::{Duration, Instant},
};

/// Clients that each have one request under way.
const CLIENTS: u64 = 64;
/// Listeners of the fan-out.
const LISTENERS: usize = 100;
/// How long anything here may take.
const PATIENCE: Duration = Duration::from_secs(120);

static NUMBER: AtomicU64 = AtomicU64::new(0);

/// Measures both sides on roots in `dir`.
pub(crate) fn measure(context: &Context, dir: &Path, quick: bool) -> Result<Value, Error> {
    let tasks = if quick { 10_000 } else { 40_000 };
    eprintln!("measuring: a driver in this process …");
    let in_process = |name: &str, callers, tasks| load::callers(&dir.join(name), callers, tasks);
    let mut found = json!({
        "in_process_bulk": in_process("bulk", 1_000, tasks)?, "in_process_64": in_process("many", 64, tasks / 2)?,
        "in_process_lone": in_process("lone", 1, 1_000)?,
    });
    let context = Context { root: dir.join("root"), ..context.clone() };
    let has_room = throng::make_room();
    if has_room {
        let settings = json!({ "http_connections_max": throng::CONNECTIONS_MAX }).to_string();
        std::fs::create_dir_all(&context.root).map_err(failed)?;
        std::fs::write(context.root.join("relaymesh-settings.json"), settings).map_err(failed)?;
    }
    let client = context.daemon()?;
    let measured =
        Site::find(&context.root).and_then(|site| over_http(&site, client.pid(), tasks, has_room, &mut found));
    client.stop()?;
    client.wait_gone();
    measured.map(|()| found)
}

fn over_http(site: &Site, pid: u32, tasks: u64, has_room: bool, found: &mut Value) -> Result<(), Error> {
    found["idle_mb"] = json!(memory_mb(pid, "VmRSS:"));
    eprintln!("measuring: bulk submits …");
    bulk(site, 2_000)?;
    found["bulk_per_s"] = json!(bulk(site, tasks)?);
    eprintln!("measuring: one by one …");
    found["singles_64_per_s"] = json!(singles(site, CLIENTS, tasks / 2)?);
    found["singles_1_per_s"] = json!(singles(site, 1, 1_000)?);
    let mut one = Connection::open(site)?;
    let mut took = Vec::new();
    for _ in 0..1_000 {
        let begun = Instant::now();
        one.post("/tasks?wait_ms=10000", &task())?;
        took.push(begun.elapsed());
    }
    found["lone_p50_ms"] = json!(load::percentile(&mut took, 50.0));
    found["lone_p99_ms"] = json!(load::percentile(&mut took, 99.0));
    eprintln!("measuring: reads …");
    let listed = one.get("/tasks?limit=1")?;
    let path = format!("/tasks/{}", listed["tasks"][0]["task"].as_str().unwrap_or_default());
    for (name, clients) in [("reads_1_per_s", 1), ("reads_64_per_s", CLIENTS)] {
        found[name] = json!(many(site, clients, tasks / 2, |connection| connection.get(&path).map(drop))?);
    }
    eprintln!("measuring: events …");
    found["fan_out_events_per_s"] = json!(fan_out(site, tasks / 10)?);
    found["loaded_mb"] = json!(memory_mb(pid, "VmHWM:"));
    if has_room {
        eprintln!("measuring: reads beside a throng …");
        found["throng"] = throng::measure(site, &path, || memory_mb(pid, "VmRSS:"))?;
    } else {
        eprintln!("not measured: reads beside a throng, which takes more open files than are to be had here");
    }
    Ok(())
}

/// Where the API is, and the token.
pub(crate) struct Site {
    host: String,
    token: String,
}

impl Site {
    fn find(root: &Path) -> Result<Self, Error> {
        let endpoint = Endpoint::read(root).map_err(failed)?.and_then(|endpoint| endpoint.http);
        let url = endpoint.ok_or_else(|| Error::new(Code::NoDaemon, "the daemon has no HTTP API"))?;
        let begun = Instant::now();
        loop {
            match std::fs::read_to_string(root.join(FIRST_FILE)) {
                Ok(token) => {
                    let host = url.split_once("://").map_or(url.as_str(), |(_, host)| host).to_owned();
                    return Ok(Self { host, token: token.trim().to_owned() });
                }
                Err(error) if begun.elapsed() > PATIENCE => return Err(failed(error)),
                Err(_) => thread::yield_now(),
            }
        }
    }
}

/// A connection that is used again and again.
pub(crate) struct Connection<'a> {
    site: &'a Site,
    pub(crate) reader: BufReader<TcpStream>,
}

impl<'a> Connection<'a> {
    pub(crate) fn open(site: &'a Site) -> Result<Self, Error> {
        let stream = TcpStream::connect(&site.host).map_err(failed)?;
        stream.set_nodelay(true).and_then(|()| stream.set_read_timeout(Some(PATIENCE))).map_err(failed)?;
        Ok(Self { site, reader: BufReader::new(stream) })
    }

    pub(crate) fn get(&mut self, path: &str) -> Result<Value, Error> {
        self.ask("GET", path, "application/json", "")
    }

    pub(crate) fn post(&mut self, path: &str, body: &str) -> Result<Value, Error> {
        self.ask("POST", path, "application/json", body)
    }

    fn ask(&mut self, method: &str, path: &str, media: &str, body: &str) -> Result<Value, Error> {
        self.send(method, path, media, body)?;
        let (status, length) = self.head()?;
        let mut bytes = vec![0; length];
        self.reader.read_exact(&mut bytes).map_err(failed)?;
        if status >= 400 {
            return Err(Error::new(Code::Internal, format!("{path}: {status}: {}", String::from_utf8_lossy(&bytes))));
        }
        serde_json::from_slice(&bytes).map_err(|error| Error::new(Code::Internal, error.to_string()))
    }

    pub(crate) fn send(&mut self, method: &str, path: &str, media: &str, body: &str) -> Result<(), Error> {
        let Site { host, token } = self.site;
        let length = body.len();
        let head = format!(
            "{method} /api/v1{path} HTTP/1.1\r\nHost: {host}\r\nAuthorization: Bearer {token}\r\nContent-Type: {media}\r\nContent-Length: {length}\r\n\r\n"
        );
        self.reader.get_mut().write_all(&[head.as_bytes(), body.as_bytes()].concat()).map_err(failed)
    }

    /// The status and the length of the answer.
    pub(crate) fn head(&mut self) -> Result<(u16, usize), Error> {
        let (mut status, mut length, mut line) = (0, 0, String::new());
        loop {
            line.clear();
            self.reader.read_line(&mut line).map_err(failed)?;
            let text = line.trim_end();
            if let Some(rest) = text.strip_prefix("HTTP/1.1 ") {
                status = rest.get(..3).and_then(|status| status.parse().ok()).unwrap_or(0);
            } else if let Some(rest) = text.strip_prefix("content-length: ") {
                length = rest.parse().unwrap_or(0);
            } else if text.is_empty() {
                return Ok((status, length));
            }
        }
    }
}

pub(crate) fn task() -> String {
    let number = NUMBER.fetch_add(1, Ordering::Relaxed);
    json!({ "agent": "echo", "input": { "n": format!("{number:032}") }, "key": format!("b-{number}") }).to_string()
}

/// Tasks a second in one bulk submit, until all of them have ended.
fn bulk(site: &Site, count: u64) -> Result<f64, Error> {
    let body: String = (0..count).flat_map(|_| [task(), "\n".to_owned()]).collect();
    let end = position(site)? + 3 * count;
    let begun = Instant::now();
    let mut connection = Connection::open(site)?;
    let mut reads = BufReader::new(connection.reader.get_ref().try_clone().map_err(failed)?);
    thread::scope(|scope| {
        let sending = scope.spawn(move || connection.send("POST", "/tasks/bulk", "application/x-ndjson", &body));
        let (mut answered, mut line) = (0, String::new());
        while answered < count {
            line.clear();
            if reads.read_line(&mut line).map_err(failed)? == 0 {
                return Err(Error::new(Code::DaemonGone, format!("{answered} of {count} were answered")));
            }
            answered += u64::from(line.contains("\"task\":"));
        }
        sending.join().unwrap_or_else(|_| Err(Error::new(Code::Internal, "the sender panicked")))
    })?;
    ended(site, end)?;
    Ok(count as f64 / begun.elapsed().as_secs_f64())
}

/// Tasks a second of clients that each submit one after the other, until all of them have ended.
fn singles(site: &Site, clients: u64, count: u64) -> Result<f64, Error> {
    let each = count / clients;
    let end = position(site)? + 3 * each * clients;
    let begun = Instant::now();
    many(site, clients, count, |connection| connection.post("/tasks", &task()).map(drop))?;
    ended(site, end)?;
    Ok((each * clients) as f64 / begun.elapsed().as_secs_f64())
}

/// Requests a second of clients that each have one under way.
fn many(
    site: &Site,
    clients: u64,
    count: u64,
    ask: impl Fn(&mut Connection<'_>) -> Result<(), Error> + Sync,
) -> Result<f64, Error> {
    let each = count / clients;
    let connections = (0..clients).map(|_| Connection::open(site)).collect::<Result<Vec<_>, _>>()?;
    let begun = Instant::now();
    thread::scope(|scope| {
        let ask = &ask;
        let run = |mut connection: Connection<'_>| (0..each).try_for_each(|_| ask(&mut connection));
        let running: Vec<_> = connections.into_iter().map(|connection| scope.spawn(move || run(connection))).collect();
        let panicked = || Err(Error::new(Code::Internal, "a client panicked"));
        running.into_iter().try_for_each(|thread| thread.join().unwrap_or_else(|_| panicked()))
    })?;
    Ok((each * clients) as f64 / begun.elapsed().as_secs_f64())
}

/// Events a second that all listeners together hear, while tasks are submitted.
fn fan_out(site: &Site, count: u64) -> Result<f64, Error> {
    let open = |_| {
        let mut listener = Connection::open(site)?;
        listener.send("GET", "/events?kind=CompleteJob", "application/json", "")?;
        listener.head()?;
        Ok::<_, Error>(listener)
    };
    let listeners = (0..LISTENERS).map(open).collect::<Result<Vec<_>, _>>()?;
    let begun = Instant::now();
    thread::scope(|scope| {
        let hear = |mut listener: Connection<'_>| {
            let (mut heard, mut line) = (0, String::new());
            while heard < count {
                line.clear();
                if listener.reader.read_line(&mut line).map_err(failed)? == 0 {
                    return Err(Error::new(Code::DaemonGone, "the events ended"));
                }
                heard += u64::from(line.starts_with("id: "));
            }
            Ok::<_, Error>(())
        };
        let hearing: Vec<_> = listeners.into_iter().map(|listener| scope.spawn(move || hear(listener))).collect();
        bulk(site, count)?;
        let panicked = || Err(Error::new(Code::Internal, "a listener panicked"));
        hearing.into_iter().try_for_each(|thread| thread.join().unwrap_or_else(|_| panicked()))
    })?;
    Ok((count * LISTENERS as u64) as f64 / begun.elapsed().as_secs_f64())
}

fn position(site: &Site) -> Result<u64, Error> {
    Ok(Connection::open(site)?.get("/status")?["pos"].as_u64().unwrap_or(0))
}

/// Waits until the log has come so far: three ops a task.
fn ended(site: &Site, end: u64) -> Result<(), Error> {
    let (begun, mut connection) = (Instant::now(), Connection::open(site)?);
    while connection.get("/status")?["pos"].as_u64().unwrap_or(0) < end {
        if begun.elapsed() > PATIENCE {
            return Err(Error::new(Code::Internal, "the tasks do not end"));
        }
        thread::sleep(Duration::from_millis(1));
    }
    Ok(())
}

pub(crate) fn failed(error: std::io::Error) -> Error {
    Error::new(Code::StoreIo, format!("the benchmark's connection: {error}"))
}

/// The report, for people: each figure, beside the driver in this process, and whether its goal is reached.
pub(crate) fn print(found: &Value) {
    let number = |name: &str| found[name].as_f64().unwrap_or(f64::NAN);
    let inside = |name: &str, what: &str| found[name][what].as_f64().unwrap_or(f64::NAN);
    let (bulk, many) = (inside("in_process_bulk", "tasks_per_s"), inside("in_process_64", "tasks_per_s"));
    let lone = inside("in_process_lone", "p50_ms");
    let rows = [
        ("in process, bulk, tasks/s", bulk, None),
        ("in process, 64 callers, tasks/s", many, None),
        ("in process, a lone task, p50 ms", lone, None),
        ("bulk, tasks/s", number("bulk_per_s"), Some((0.5 * bulk, true))),
        ("64 clients one by one, tasks/s", number("singles_64_per_s"), Some((0.35 * many, true))),
        ("one client one by one, tasks/s", number("singles_1_per_s"), None),
        ("submit to result, p50 ms", number("lone_p50_ms"), Some((lone + 0.5, false))),
        ("submit to result, p99 ms", number("lone_p99_ms"), None),
        ("reads/s, one client", number("reads_1_per_s"), None),
        ("reads/s, 64 clients", number("reads_64_per_s"), None),
        ("events/s heard by 100 listeners", number("fan_out_events_per_s"), None),
        ("memory idle, MB", number("idle_mb"), Some((24.0, false))),
        ("memory loaded, MB", number("loaded_mb"), None),
        ("reads by 4 clients, p99 ms", inside("throng", "alone_p99_ms"), None),
        ("beside 5,000 idle, 500 listening", inside("throng", "beside_p99_ms"), None),
        ("times as long", inside("throng", "ratio"), Some((5.0, false))),
        ("and while tasks are submitted", inside("throng", "beside_submits_p99_ms"), None),
        ("times as long", inside("throng", "ratio_beside_submits"), None),
        ("idle connections at the end", inside("throng", "idle"), Some((5_000.0, true))),
        ("memory for all of them, MB", inside("throng", "more_mb"), Some((256.0, false))),
    ];
    for (what, figure, goal) in rows {
        let verdict = goal.map_or_else(String::new, |(bound, at_least)| {
            let holds = if at_least { figure >= bound } else { figure <= bound };
            format!("  goal {bound:.2}  {}", if holds { "reached" } else { "MISSED" })
        });
        println!("{what:<32} {figure:>10.2}{verdict}");
    }
}
