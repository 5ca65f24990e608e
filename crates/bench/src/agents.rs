//! The benchmark of the adapters: what an attempt costs through the daemon, beside the same call without it, in turns.
//!
//! The model is a scripted one on loopback, so what is measured is the tools and us, and it costs nothing. A lone task waits for its claim
//! and its completion to be on the disk: that is part of what the daemon adds, and is the larger part of it.

use crate::Context;
use crate::{
    load, runtime,
    tools::{self, Kit},
};
use relaymesh_api::error::{Code, Error};
use relaymesh_api::local::Client;
use relaymesh_core::task::Status;
use relaymesh_runtime::driver::Answer;
use relaymesh_store::Reader as _;
use serde_json::{Value, json};
use std::{
    io::{Read as _, Write as _},
    net::TcpStream,
    path::{Path, PathBuf},
    process::{Command, Stdio},
    thread,
    time::{Duration, Instant},
};

/// Agents that run at once in the part that looks at memory.
const CROWD: u64 = 100;
/// How long they are watched.
const WATCHED: Duration = Duration::from_secs(2);
/// How long anything here may take.
const PATIENCE: Duration = Duration::from_secs(60);
/// What a script agent does.
const SCRIPT: &str = "read -r input\necho 'half way' >&2\nprintf '{\"got\":%s}\\n' \"$input\"\n";
const PROMPT: &str = "Say that you are done.";

/// Where the scripted models and the tools are.
#[derive(Debug, Clone, clap::Args)]
pub(crate) struct Models {
    /// A scripted model that says one thing to every request
    #[arg(long, value_name = "URL")]
    model: String,
    /// One that takes no notice of requests without tools
    #[arg(long, value_name = "URL")]
    tools_model: String,
    /// The folder with `codex`, `claude`, `gemini` and `opencode`; what is not there is left out
    #[arg(long, value_name = "DIR")]
    tools: Option<PathBuf>,
}

/// Measures everything on a root in `dir`.
pub(crate) fn measure(context: &Context, dir: &Path, models: &Models) -> Result<Value, Error> {
    let context = Context { root: dir.join("root"), ..context.clone() };
    write_root(&context.root, models).map_err(failed)?;
    let client = context.daemon()?;
    let measured = adapters(&context, &client, models);
    let crowd = measured.and_then(|found| Ok((found, crowd(&context, &client)?)));
    client.stop()?;
    client.wait_gone();
    let (adapters, crowd) = crowd?;
    Ok(json!({ "adapters": adapters, "crowd": crowd }))
}

fn adapters(context: &Context, client: &Client, models: &Models) -> Result<Vec<Value>, Error> {
    let kits = kits(&context.root, models);
    let wanted = [("script", 200), ("http", 100)].into_iter().chain(kits.iter().map(|kit| (kit.name, 5)));
    let mut found = Vec::new();
    for (agent, times) in wanted {
        eprintln!("measuring: {agent} …");
        let input = if agent == "script" { json!({ "n": 1 }) } else { json!(PROMPT) };
        let step = json!({ "id": "a", "agent": agent, "input": input, "retry": { "max_attempts": 1 } });
        let tasks = runtime::Tasks::new(context, json!({ "name": agent, "steps": [step] })).unnumbered();
        let (mut through, mut bare) = (Vec::new(), Vec::new());
        for _ in 0..times {
            let begun = Instant::now();
            let answer = client.call(tasks.next()?)?;
            through.push(begun.elapsed());
            success(context, agent, &answer)?;
            let begun = Instant::now();
            let bare_call = match (agent, kits.iter().find(|kit| kit.name == agent)) {
                (_, Some(kit)) => run(&mut kit.command(), PROMPT, &context.root),
                ("script", None) => {
                    run(Command::new("sh").arg(context.root.join("agent.sh")), "{\"n\":1}\n", &context.root)
                }
                _ => post(&models.model),
            };
            bare_call.map_err(failed)?;
            bare.push(begun.elapsed());
        }
        let (through, bare) = (load::percentile(&mut through, 50.0), load::percentile(&mut bare, 50.0));
        found.push(json!({ "agent": agent, "through_ms": through, "bare_ms": bare, "added_ms": through - bare }));
    }
    Ok(found)
}

/// An attempt that failed is told with its reason: the root is gone when this is over.
fn success(context: &Context, agent: &str, answer: &Answer) -> Result<(), Error> {
    let Answer::Ended { task, status, .. } = answer else { return Err(crate::unexpected(answer)) };
    if *status == Status::Success {
        return Ok(());
    }
    let rows = relaymesh_daemon::root::read(&context.root)?.task(*task)?;
    let why = rows.and_then(|rows| rows.steps.first()?.error.clone()).unwrap_or_default();
    Err(Error::new(Code::Internal, format!("the attempt of {agent} ended as {status}: {why}")))
}

/// The tools that are there.
fn kits(root: &Path, models: &Models) -> Vec<Kit> {
    let all = |tools: &PathBuf| Kit::all(tools, &root.join("home"), &models.tools_model);
    models.tools.as_ref().map(all).unwrap_or_default()
}

fn run(command: &mut Command, input: &str, root: &Path) -> std::io::Result<()> {
    let home = root.join("home");
    command.stdin(Stdio::piped()).stdout(Stdio::piped()).stderr(Stdio::piped()).env("HOME", &home).current_dir(&home);
    let mut child = command.spawn()?;
    if let Some(mut stdin) = child.stdin.take() {
        stdin.write_all(input.as_bytes())?;
    }
    let output = child.wait_with_output()?;
    if output.status.success() {
        return Ok(());
    }
    Err(std::io::Error::other(format!("{}: {}", output.status, String::from_utf8_lossy(&output.stderr))))
}

fn post(url: &str) -> std::io::Result<()> {
    let host = url.trim_start_matches("http://");
    let body = json!({ "model": "m", "stream": true, "messages": [{ "role": "user", "content": PROMPT }] }).to_string();
    let mut stream = TcpStream::connect(host)?;
    stream.set_read_timeout(Some(PATIENCE))?;
    write!(
        stream,
        "POST /v1/chat/completions HTTP/1.1\r\nhost: {host}\r\ncontent-type: application/json\r\nconnection: close\r\ncontent-length: {}\r\n\r\n{body}",
        body.len()
    )?;
    let mut answer = String::new();
    stream.read_to_string(&mut answer)?;
    if answer.contains(" 200 ") { Ok(()) } else { Err(std::io::Error::other(answer)) }
}

/// Many agents at once that do nothing but live: what does the daemon need for them?
fn crowd(context: &Context, client: &Client) -> Result<Value, Error> {
    eprintln!("measuring: {CROWD} agents at once …");
    let before_mb = runtime::memory_mb(client.pid(), "VmRSS:");
    let step = |number| json!({ "id": format!("s{number}"), "agent": "waits", "input": number });
    let steps: Vec<Value> = (0..CROWD).map(step).collect();
    let tasks = runtime::Tasks::new(context, json!({ "name": "crowd", "steps": steps }));
    let (ends, ended) = std::sync::mpsc::channel();
    client.send(tasks.next()?, move |answer| drop(ends.send(answer)));
    let until = Instant::now() + PATIENCE;
    while client.status()?.running < CROWD {
        if Instant::now() > until {
            return Err(Error::new(Code::Internal, format!("{CROWD} agents never ran at once")));
        }
        thread::yield_now();
    }
    let (ticks, begun) = (ticks(client.pid()), Instant::now());
    // It is the daemon that is looked at: nothing happens here meanwhile.
    thread::sleep(WATCHED);
    let used = self::ticks(client.pid()).saturating_sub(ticks);
    let cpu = used as f64 / begun.elapsed().as_secs_f64();
    let mb = runtime::memory_mb(client.pid(), "VmRSS:");
    std::fs::write(context.root.join("go"), "").map_err(failed)?;
    runtime::success(&ended.recv_timeout(PATIENCE).map_err(|_| runtime::gone())??)?;
    Ok(json!({ "agents": CROWD, "idle_mb": before_mb, "mb": mb, "cpu_percent": cpu }))
}

/// Hundredths of a second that the process has used.
fn ticks(pid: u32) -> u64 {
    let stat = std::fs::read_to_string(format!("/proc/{pid}/stat")).unwrap_or_default();
    let words: Vec<&str> = stat.rsplit(") ").next().unwrap_or_default().split(' ').collect();
    [11, 12].iter().filter_map(|place| words.get(*place)?.parse::<u64>().ok()).sum()
}

fn write_root(root: &Path, models: &Models) -> std::io::Result<()> {
    let home = root.join("home");
    tools::settle(&home, &models.tools_model)?;
    std::fs::write(root.join("agent.sh"), SCRIPT)?;
    std::fs::write(root.join("wait.sh"), "until [ -e \"$RELAYMESH_ROOT/go\" ]; do sleep 1; done\n")?;
    std::fs::write(root.join("relaymesh-settings.json"), "{\"thread_pool_max\": 128}\n")?;
    let mut agents = format!(
        "[agents.script]\ncommand = [\"sh\", \"agent.sh\"]\n\n[agents.waits]\ncommand = [\"sh\", \"wait.sh\"]\nconcurrency = {CROWD}\n\n\
         [agents.http]\nurl = \"{}/v1/chat/completions\"\napi = \"chat\"\nmodel = \"m\"\nallow = [\"loopback\"]\n",
        models.model
    );
    agents.extend(kits(root, models).iter().map(Kit::entry));
    std::fs::write(root.join("agents.toml"), agents)
}

fn failed(error: std::io::Error) -> Error {
    Error::new(Code::StoreIo, format!("the benchmark: {error}"))
}

/// The report, for people.
pub(crate) fn print(found: &Value) {
    println!("{:<10} {:>12} {:>10} {:>10}", "one after", "through ms", "bare ms", "added ms");
    for row in found["adapters"].as_array().into_iter().flatten() {
        let number = |name: &str| row[name].as_f64().unwrap_or(f64::NAN);
        let agent = row["agent"].as_str().unwrap_or_default();
        println!("{agent:<10} {:>12.2} {:>10.2} {:>10.2}", number("through_ms"), number("bare_ms"), number("added_ms"));
    }
    let crowd = |name: &str| found["crowd"][name].as_f64().unwrap_or(f64::NAN);
    println!(
        "{CROWD} at once: daemon {:.1} MB (before {:.1} MB), {:.1} % of one processor",
        crowd("mb"),
        crowd("idle_mb"),
        crowd("cpu_percent")
    );
}
