//! The benchmark of the daemon: tasks through its socket, and processes beside the bare cost of starting them.

use crate::Context;
use crate::reference;
use crate::{load, measure::ms};
use relaymesh_api::error::{Code, Error};
use relaymesh_api::local::Client;
use relaymesh_core::{
    id::RequestId,
    task::{Status, request::Request, spec::IdempotencyKey},
};
use relaymesh_runtime::driver::{Answer, Command, Submit, Until};
use serde_json::{Value, json};
use std::{
    io::Write as _,
    path::{Path, PathBuf},
    process::Stdio,
    sync::{
        atomic::{AtomicU64, Ordering},
        mpsc,
    },
    thread,
    time::Instant,
};

/// Clients that each wait for their task before they submit the next.
const CLIENTS: usize = 64;
/// Tasks that one client has under way when it submits in bulk.
const BULK: usize = 1_000;
/// Processes at once, as the daemon has it.
const PROCESSES: usize = 8;
/// Steps of a task whose steps are processes.
const STEPS: u64 = 16;

/// What is run as a process: its name, its words, and how many tasks there are of it. One does nothing at all; the others do what a script agent
/// does, in the smallest language and in the one that most are written in.
const PROGRAMS: [(&str, &[&str], u64); 3] =
    [("true", &["true"], 25), ("script", &["sh", "agent.sh"], 25), ("python", &["python3", "agent.py"], 6)];
const SCRIPT: &str = "read -r input\necho 'half way' >&2\nprintf '{\"got\":%s}\\n' \"$input\"\n";
const PYTHON: &str = "import json, sys\ngiven = json.load(sys.stdin)\nprint('half way', file=sys.stderr)\njson.dump({'got': given}, sys.stdout)\n";

/// The tasks of a benchmark: what each is, and a request id of its own.
pub(crate) struct Tasks<'a> {
    context: &'a Context,
    request: Value,
    sent: AtomicU64,
    /// Whether the first step is given a number of its own.
    is_numbered: bool,
}

impl<'a> Tasks<'a> {
    pub(crate) fn new(context: &'a Context, request: Value) -> Self {
        Self { context, request, sent: AtomicU64::new(rand::random::<u32>().into()), is_numbered: true }
    }

    /// With the input that the request has.
    pub(crate) fn unnumbered(self) -> Self {
        Self { is_numbered: false, ..self }
    }

    pub(crate) fn next(&self) -> Result<Command, Error> {
        let number = self.sent.fetch_add(1, Ordering::Relaxed);
        let mut request = self.request.clone();
        if self.is_numbered {
            request["steps"][0]["input"] = json!({ "n": format!("{number:032}") });
        }
        let request: Request =
            serde_json::from_value(request).map_err(|error| Error::new(Code::Internal, error.to_string()))?;
        let key = IdempotencyKey::RequestId(RequestId::new(relaymesh_api::time::now_ms(), u128::from(number)));
        let prepared = request.prepare(&self.context.namespace, Some(key), 1)?;
        Ok(Command::Submit(Submit::new(self.context.namespace.clone(), prepared, Until::Ended)))
    }
}

/// Measures everything on a root in `dir`.
pub(crate) fn measure(context: &Context, dir: &Path, quick: bool) -> Result<Value, Error> {
    let context = Context { root: dir.join("root"), ..context.clone() };
    let scale = if quick { 1 } else { 4 };
    std::fs::create_dir_all(&context.root).map_err(|error| Error::new(Code::StoreIo, error.to_string()))?;
    let agent = |(name, words, _)| format!("[agents.{name}]\ncommand = {}\nconcurrency = {PROCESSES}\n", json!(words));
    let agents = PROGRAMS.map(agent).concat();
    for (name, text) in [("agents.toml", agents.as_str()), ("agent.sh", SCRIPT), ("agent.py", PYTHON)] {
        let wrote = std::fs::write(context.root.join(name), text);
        wrote.map_err(|error| Error::new(Code::StoreIo, error.to_string()))?;
    }
    let mut one_row = reference::one_row_commit(&dir.join("one-row"), 1_000)?;
    let begun = Instant::now();
    let client = context.daemon()?;
    let echo = Tasks::new(&context, json!({ "name": "one", "steps": [{ "id": "a", "agent": "echo" }] }));
    client.call(echo.next()?)?;
    let start_ms = ms(begun.elapsed());
    let idle_mb = memory_mb(client.pid(), "VmRSS:");
    let measured = rates(&context, &client, &echo, scale);
    let loaded_mb = memory_mb(client.pid(), "VmHWM:");
    client.stop()?;
    client.wait_gone();
    let mut found = measured?;
    found["one_row_p50_ms"] = json!(load::percentile(&mut one_row, 50.0));
    found["one_row_p99_ms"] = json!(load::percentile(&mut one_row, 99.0));
    found["start_ms"] = json!(start_ms);
    found["idle_mb"] = json!(idle_mb);
    found["loaded_mb"] = json!(loaded_mb);
    Ok(found)
}

fn rates(context: &Context, client: &Client, echo: &Tasks<'_>, scale: u64) -> Result<Value, Error> {
    let chain = |previous: &str, id: &str| json!({ "id": id, "agent": "echo", "depends_on": [previous] });
    let steps = json!([{ "id": "a", "agent": "echo" }, chain("a", "b"), chain("b", "c")]);
    let chains = Tasks::new(context, json!({ "name": "chain", "steps": steps }));
    eprintln!("measuring: a lone client …");
    let mut lone = Vec::new();
    for _ in 0..500 * scale {
        let begun = Instant::now();
        success(&client.call(echo.next()?)?)?;
        lone.push(begun.elapsed());
    }
    eprintln!("measuring: bulk …");
    bulk(client, echo, 2_000)?;
    let bulk_rate = bulk(client, echo, 20_000 * scale)?;
    eprintln!("measuring: {CLIENTS} clients …");
    let single = singles(context, echo, 10_000 * scale)?;
    eprintln!("measuring: chains of three …");
    let chain_rate = bulk(client, &chains, 5_000 * scale)?;
    let mut found = json!({
        "lone_p50_ms": load::percentile(&mut lone, 50.0), "lone_p99_ms": load::percentile(&mut lone, 99.0),
        "bulk_per_s": bulk_rate, "singles_per_s": single, "chains_per_s": chain_rate,
    });
    for (name, words, tasks) in PROGRAMS {
        if relaymesh_agents::program(words[0]).is_none() {
            eprintln!("left out: there is no `{}` here", words[0]);
            continue;
        }
        eprintln!("measuring: processes, `{}` …", words.join(" "));
        let (steps, bare) = processes(context, client, name, words, tasks * scale)?;
        found[name] = json!({ "steps_per_s": steps, "bare_per_s": bare, "of_bare": steps / bare });
    }
    Ok(found)
}

/// Steps a second that are processes, and the same processes bare, in turns; the turn with the median of the ratios.
fn processes(context: &Context, client: &Client, agent: &str, words: &[&str], tasks: u64) -> Result<(f64, f64), Error> {
    let step = |number| json!({ "id": format!("s{number}"), "agent": agent, "input": { "n": number } });
    let steps: Vec<Value> = (0..STEPS).map(step).collect();
    let work = Tasks::new(context, json!({ "name": agent, "steps": steps }));
    let mut turns = Vec::new();
    for _ in 0..3 {
        let bare = bare(words, &context.root, tasks * STEPS)?;
        turns.push((bulk(client, &work, tasks)? * STEPS as f64, bare));
    }
    turns.sort_by(|a, b| (a.0 / a.1).total_cmp(&(b.0 / b.1)));
    Ok(turns[1])
}

/// Tasks a second, many under way at once, through one client.
fn bulk(client: &Client, tasks: &Tasks<'_>, count: u64) -> Result<f64, Error> {
    let (ends, ended) = mpsc::channel();
    let begun = Instant::now();
    let mut open = 0;
    for _ in 0..count {
        if open == BULK {
            success(&ended.recv().map_err(|_| gone())??)?;
            open -= 1;
        }
        let ends = ends.clone();
        client.send(tasks.next()?, move |answer| drop(ends.send(answer)));
        open += 1;
    }
    for _ in 0..open {
        success(&ended.recv().map_err(|_| gone())??)?;
    }
    Ok(count as f64 / begun.elapsed().as_secs_f64())
}

/// Tasks a second of clients that each have one under way.
fn singles(context: &Context, tasks: &Tasks<'_>, count: u64) -> Result<f64, Error> {
    let each = count / CLIENTS as u64;
    let connect = |_| Client::connect(&context.root, &context.caller)?.ok_or_else(gone);
    let clients: Vec<Client> = (0..CLIENTS).map(connect).collect::<Result<_, Error>>()?;
    let begun = Instant::now();
    thread::scope(|scope| {
        let run = |client: Client| move || (0..each).try_for_each(|_| success(&client.call(tasks.next()?)?));
        let running: Vec<_> = clients.into_iter().map(|client| scope.spawn(run(client))).collect();
        running.into_iter().try_for_each(|thread| thread.join().unwrap_or_else(|_| Err(gone())))
    })?;
    Ok((each * CLIENTS as u64) as f64 / begun.elapsed().as_secs_f64())
}

/// Processes a second without anything around them: the same program, as many at once, each given its input and heard to its end.
fn bare(words: &[&str], folder: &Path, count: u64) -> Result<f64, Error> {
    let failed = |error: std::io::Error| Error::new(Code::StoreIo, format!("cannot start `{}`: {error}", words[0]));
    let each = count / PROCESSES as u64;
    let input = json!({ "n": format!("{:032}", 0) }).to_string();
    // Found once: looking through PATH each time is no part of what a process costs.
    let program = relaymesh_agents::program(words[0]).unwrap_or_else(|| words[0].into());
    let arguments: Vec<PathBuf> = words[1..].iter().map(|file| folder.join(file)).collect();
    let begun = Instant::now();
    thread::scope(|scope| {
        let run = || {
            (0..each).try_for_each(|_| {
                let mut command = std::process::Command::new(&program);
                command.args(&arguments).stdin(Stdio::piped()).stdout(Stdio::piped()).stderr(Stdio::piped());
                let mut child = command.spawn().map_err(failed)?;
                if let Some(mut stdin) = child.stdin.take() {
                    // `true` reads nothing, and may be gone already.
                    let _ = stdin.write_all(input.as_bytes());
                }
                child.wait_with_output().map(drop).map_err(failed)
            })
        };
        let running: Vec<_> = (0..PROCESSES).map(|_| scope.spawn(run)).collect();
        running.into_iter().try_for_each(|thread| thread.join().unwrap_or_else(|_| Err(gone())))
    })?;
    Ok((each * PROCESSES as u64) as f64 / begun.elapsed().as_secs_f64())
}

pub(crate) fn success(answer: &Answer) -> Result<(), Error> {
    if matches!(answer, Answer::Ended { status: Status::Success, .. }) {
        return Ok(());
    }
    Err(crate::unexpected(answer))
}

pub(crate) fn gone() -> Error {
    Error::new(Code::DaemonGone, "the daemon went away")
}

pub(crate) fn memory_mb(pid: u32, what: &str) -> Option<f64> {
    let status = std::fs::read_to_string(format!("/proc/{pid}/status")).ok()?;
    let line = status.lines().find_map(|line| line.strip_prefix(what))?;
    line.trim().trim_end_matches("kB").trim().parse::<f64>().ok().map(|kb| kb / 1024.0)
}

/// The report, for people: each figure, its goal, and whether it is reached.
pub(crate) fn print(found: &Value) {
    let number = |name: &str| found[name].as_f64().unwrap_or(f64::NAN);
    let process = |name: &str, what: &str| found[name][what].as_f64().unwrap_or(f64::NAN);
    let lone_goal = 3.0 * number("one_row_p99_ms") + 2.0;
    let rows = [
        ("bulk, tasks/s", number("bulk_per_s"), Some((12_000.0, true))),
        ("64 clients, tasks/s", number("singles_per_s"), Some((8_000.0, true))),
        ("chains of three, chains/s", number("chains_per_s"), Some((4_000.0, true))),
        ("lone task, p50 in ms", number("lone_p50_ms"), None),
        ("lone task, p99 in ms", number("lone_p99_ms"), Some((lone_goal, false))),
        ("Python scripts, steps/s", process("python", "steps_per_s"), None),
        ("the same bare, /s", process("python", "bare_per_s"), None),
        ("Python scripts, share of bare", process("python", "of_bare"), Some((1.0 / 1.3, true))),
        ("shell scripts, steps/s", process("script", "steps_per_s"), None),
        ("the same bare, /s", process("script", "bare_per_s"), None),
        ("shell scripts, share of bare", process("script", "of_bare"), Some((1.0 / 1.3, true))),
        ("`true`, steps/s", process("true", "steps_per_s"), None),
        ("`true` bare, /s", process("true", "bare_per_s"), None),
        ("`true`, share of bare", process("true", "of_bare"), Some((1.0 / 1.3, true))),
        ("start to the first task, ms", number("start_ms"), Some((60.0, false))),
        ("memory idle, MB", number("idle_mb"), Some((24.0, false))),
        ("memory loaded, MB", number("loaded_mb"), Some((64.0, false))),
    ];
    for (what, figure, goal) in rows {
        let verdict = goal.map_or_else(String::new, |(bound, at_least)| {
            let holds = if at_least { figure >= bound } else { figure <= bound };
            format!("  goal {bound:.2}  {}", if holds { "reached" } else { "MISSED" })
        });
        println!("{what:<30} {figure:>10.2}{verdict}");
    }
    println!(
        "one row, one synced commit: p50 {:.2} ms, p99 {:.2} ms",
        number("one_row_p50_ms"),
        number("one_row_p99_ms")
    );
}
