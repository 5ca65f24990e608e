//! Traces (R30): one a task, from whoever asked to whatever an agent does, in collectors that are real, slow or not there.

#![allow(clippy::unwrap_used, reason = "a test that cannot go on should stop")]

use crate::common::{collector::Collector, found, house::House, until, web::Web};
use relaymesh_fake_model::{FakeModel, Turn};
use serde_json::{Value, json};
use std::{
    fs,
    io::{BufReader, Write as _},
    net::{TcpListener, TcpStream},
    path::{Path, PathBuf},
    process::{Child, Command, Stdio},
};

const CALLER: &str = "00-0af7651916cd43dd8448eb211c80319c-b7ad6b7169203331-01";
const TRACE: &str = "0af7651916cd43dd8448eb211c80319c";

/// A root whose daemon sends traces there, with a script that tells where in a trace it is.
fn house(endpoint: &str) -> House {
    let house = House::new();
    let root = house.0.root();
    fs::create_dir_all(&root).unwrap();
    let settings = json!({ "otlp_endpoint": endpoint });
    fs::write(root.join("relaymesh-settings.json"), settings.to_string()).unwrap();
    let tells = r#"["/bin/sh", "-c", "cat >/dev/null; echo \"$TRACEPARENT\""]"#;
    let fails = r#"["/bin/sh", "-c", "cat >/dev/null; echo no >&2; exit 3"]"#;
    let agents = format!("[agents.tells]\ncommand = {tells}\n[agents.fails]\ncommand = {fails}\n");
    fs::write(root.join("agents.toml"), agents).unwrap();
    house
}

fn up(house: &House) {
    let said = house.run(&["up", "--detach"]);
    assert_eq!(said.code, 0, "{}", said.stderr);
}

/// The span of this name, once it is there.
fn span(collector: &Collector, name: &str) -> Value {
    found(&format!("there is a span `{name}`"), || collector.spans().into_iter().find(|span| span["name"] == name))
}

fn is_child(child: &Value, parent: &Value) {
    assert_eq!((&child["trace"], &child["parent"]), (&parent["trace"], &parent["id"]), "{child} of {parent}");
}

#[test]
fn r30_a_trace_goes_from_whoever_asked_to_the_agent() {
    let collector = Collector::start();
    let house = house(&collector.url);
    up(&house);
    let web = Web::of(&house);
    let chain = json!({ "name": "two", "steps": [
        { "id": "a", "agent": "tells" }, { "id": "b", "agent": "tells", "depends_on": ["a"] },
    ] });
    let headers = [("Content-Type", "application/json"), ("traceparent", CALLER)];
    let submitted = web.send("POST", "/tasks", &headers, Some(&json!({ "flow": chain }).to_string()));
    let task = submitted.expect(201)["task"].as_str().unwrap().to_owned();
    let shown = web.get(&format!("/tasks/{task}/wait?timeout_ms=60000")).expect(200);
    let (submit, whole) = (span(&collector, "submit two"), span(&collector, "two"));
    let (a, b) = (span(&collector, "a"), span(&collector, "b"));
    assert_eq!((submit["trace"].as_str(), submit["parent"].as_str()), (Some(TRACE), Some("b7ad6b7169203331")));
    is_child(&whole, &submit);
    is_child(&a, &whole);
    is_child(&b, &whole);
    assert_eq!(b["links"], json!([a["id"]]), "what it waited for");
    assert_eq!(whole["attributes"]["relaymesh.task.id"], json!(task));
    let attempts: Vec<Value> = collector.spans().into_iter().filter(|span| span["name"] == "attempt tells").collect();
    assert_eq!(attempts.len(), 2, "{attempts:?}");
    let of = |step: &Value| attempts.iter().find(|attempt| attempt["parent"] == step["id"]).unwrap();
    // The agent was told where it is, and its span is the one that arrived.
    let told = format!("00-{TRACE}-{}-01", of(&b)["id"].as_str().unwrap());
    assert_eq!(shown["result"].as_str(), Some(told.as_str()));
    let line = |attempt: &Value| {
        let log = fs::read_to_string(house.0.root().join("daemon.log")).unwrap();
        let ids = [format!("trace_id={TRACE}"), format!("span_id={}", attempt["id"].as_str().unwrap())];
        log.lines().any(|line| line.contains("step_succeeded") && ids.iter().all(|id| line.contains(id)))
    };
    until("both attempts are in the log", || line(of(&a)) && line(of(&b)));
    let sent = web.get("/metrics").body;
    assert!(sent.contains("relaymesh_spans_sent_total 6\n"), "{sent}");
}

#[test]
fn r30_the_command_line_and_the_file_bus_go_on_in_the_traces_of_their_callers() {
    let collector = Collector::start();
    let house = house(&collector.url);
    up(&house);
    let mut command = house.command(&["submit", "--agent", "tells", "--wait", "--name", "cli"]);
    let said = crate::common::Said::of(command.env("TRACEPARENT", CALLER).output().unwrap());
    assert!(said.code == 0 && said.stdout.contains(TRACE), "{}{}", said.stdout, said.stderr);
    assert_eq!(span(&collector, "submit cli")["parent"], "b7ad6b7169203331");
    // From elsewhere as well.
    let web = Web::of(&house);
    let mut command = house.command(&["submit", "--agent", "tells", "--new", "--wait", "--name", "far"]);
    command.env("RELAYMESH_URL", format!("http://{}", web.host)).env("RELAYMESH_TOKEN", web.token.unwrap());
    let said = crate::common::Said::of(command.env("TRACEPARENT", CALLER).output().unwrap());
    assert!(said.code == 0 && said.stdout.contains(TRACE), "{}{}", said.stdout, said.stderr);
    assert_eq!(span(&collector, "submit far")["parent"], "b7ad6b7169203331");
    // What cannot be read is as good as nothing.
    let mut command = house.command(&["submit", "--agent", "tells", "--wait", "--name", "alone"]);
    assert_eq!(command.env("TRACEPARENT", "nonsense").output().unwrap().status.code(), Some(0));
    let alone = span(&collector, "submit alone");
    assert!(alone["parent"] == "" && alone["trace"] != TRACE, "{alone}");
    let root = house.0.root();
    let put = |folder: &str, name: &str, text: &str| {
        fs::write(root.join(folder).join(".being-written"), text).unwrap();
        fs::rename(root.join(folder).join(".being-written"), root.join(folder).join(name)).unwrap();
    };
    put("payload", "one.payload.json", "1");
    put("inbox/normal", "one.meta.json", &json!({ "agent": "tells", "traceparent": CALLER }).to_string());
    assert_eq!(span(&collector, "submit tells")["parent"], "b7ad6b7169203331");
    // And whoever is a folder is told.
    fs::create_dir(root.join("processing/folder")).unwrap();
    let mut command = house.command(&["msg", "send", "--to", "folder", "--from", "me", "--input", "1"]);
    assert_eq!(command.env("TRACEPARENT", CALLER).output().unwrap().status.code(), Some(0));
    let meta = found("the message is in its folder", || {
        let files = fs::read_dir(root.join("processing/folder")).unwrap().flatten();
        let mut metas = files.filter(|file| file.file_name().to_string_lossy().ends_with(".meta.json"));
        serde_json::from_slice::<Value>(&fs::read(metas.next()?.path()).ok()?).ok()
    });
    assert!(meta["traceparent"].as_str().unwrap().starts_with(&format!("00-{TRACE}-")), "{meta}");
}

#[test]
fn r30_failures_and_what_a_crash_cut_off_have_their_spans() {
    let collector = Collector::start();
    let house = house(&collector.url);
    up(&house);
    let said = house.run(&["submit", "--agent", "fails", "--wait", "--name", "bad", "--max-attempts", "2"]);
    assert_ne!(said.code, 0);
    let bad = span(&collector, "bad");
    assert!(bad["error"].is_string() && bad["attributes"]["relaymesh.status"] == "DEAD_LETTER", "{bad}");
    let attempts: Vec<Value> = collector.spans().into_iter().filter(|span| span["name"] == "attempt fails").collect();
    assert!(attempts.len() == 2 && attempts.iter().all(|span| span["attributes"]["error.type"] == "failed"));
    let waits =
        "[agents.waits]\ncommand = [\"/bin/sh\", \"-c\", \"cat >/dev/null; test -e ../../../go || exec sleep 600\"]\n";
    fs::write(house.0.root().join("agents.toml"), waits).unwrap();
    let task = house.0.root();
    let submitted = house.run(&["submit", "--agent", "waits", "--name", "cut", "--max-attempts", "2"]);
    let id = submitted.stdout.trim().to_owned();
    house.0.until("it runs", |_| house.json(&["task", "show", &id])["steps"][0]["status"] == "RUNNING");
    house.kill();
    fs::write(task.join("go"), "").unwrap();
    up(&house);
    let cut = span(&collector, "cut");
    assert_eq!(cut["attributes"]["relaymesh.status"], "SUCCESS", "{cut}");
    let attempts: Vec<Value> = collector.spans().into_iter().filter(|span| span["name"] == "attempt waits").collect();
    let outcomes: Vec<&str> =
        attempts.iter().map(|span| span["attributes"]["relaymesh.outcome"].as_str().unwrap()).collect();
    assert!(outcomes.contains(&"ABANDONED") && outcomes.contains(&"SUCCESS"), "{attempts:?}");
    assert!(attempts.iter().all(|attempt| attempt["parent"] == attempts[0]["parent"]));
    // What an earlier life had left is in the log and in the metrics of the next one, too.
    until("it is in the log", || {
        let log = fs::read_to_string(house.0.root().join("daemon.log")).unwrap();
        log.lines().any(|line| line.contains("step_reclaimed") && line.contains(&id))
    });
    let metrics = Web::of(&house).get("/metrics").body;
    assert!(metrics.contains("relaymesh_abandoned_total 1\n"), "{metrics}");
}

#[test]
fn r30_a_collector_that_is_down_costs_a_counter_and_one_that_comes_back_is_used() {
    let gone = TcpListener::bind("127.0.0.1:0").unwrap().local_addr().unwrap();
    let house = house(&format!("http://{gone}"));
    up(&house);
    for _ in 0..3 {
        let said = house.run(&["submit", "--agent", "echo", "--new", "--wait"]);
        assert_eq!(said.code, 0, "{}", said.stderr);
    }
    let web = Web::of(&house);
    let counted = |name: &str| {
        let text = web.get("/metrics").body;
        let line = text.lines().find(|line| line.starts_with(&format!("{name} "))).unwrap().to_owned();
        line.rsplit(' ').next().unwrap().parse::<u64>().unwrap()
    };
    until("the spans are given up", || counted("relaymesh_spans_dropped_total") >= 12);
    assert_eq!(counted("relaymesh_spans_sent_total"), 0);
    // The log has a thread of its own, and may be behind the counter.
    let log = || fs::read_to_string(house.0.root().join("daemon.log")).unwrap();
    until("an operator hears of it", || log().contains("traces_not_sent"));
    assert_eq!(house.run(&["down"]).code, 0);
    assert_eq!(log().matches("traces_not_sent").count(), 1, "{}", log());
    drop(house);
    // One that says no is not asked again; one that is busy is.
    for (status, requests) in [(400, 1), (503, 3)] {
        let collector = Collector::start();
        collector.answer(status);
        let house = self::house(&collector.url);
        up(&house);
        assert_eq!(house.run(&["submit", "--agent", "echo", "--wait"]).code, 0);
        let web = Web::of(&house);
        until("the spans are given up", || web.get("/metrics").body.contains("relaymesh_spans_dropped_total 4\n"));
        assert_eq!(collector.requests(), requests, "{status}");
        collector.answer(200);
        assert_eq!(house.run(&["submit", "--agent", "echo", "--new", "--wait", "--name", "again"]).code, 0);
        span(&collector, "again");
        let log = || fs::read_to_string(house.0.root().join("daemon.log")).unwrap();
        until("an operator hears of it", || log().contains("traces_sent_again"));
    }
}

#[test]
fn r30_some_traces_are_kept_and_agents_are_told_which() {
    let collector = Collector::start();
    let house = house(&collector.url);
    let settings = json!({ "otlp_endpoint": format!("{}/own/path", collector.url), "trace_sample_per_mille": 500, "otlp_headers_secret": "otlp" });
    fs::write(house.0.root().join("relaymesh-settings.json"), settings.to_string()).unwrap();
    assert_eq!(house.run(&["init"]).code, 0);
    let mut child = house.command(&["secret", "set", "otlp"]).stdin(Stdio::piped()).spawn().unwrap();
    child.stdin.take().unwrap().write_all(b"x-key=canary-7b1e,x-team=a").unwrap();
    assert!(child.wait().unwrap().success());
    up(&house);
    // The lower half of the id decides.
    let traces = ["00000000000000010000000000000001", "0000000000000001f000000000000001"];
    for (trace, flag) in traces.iter().zip(["01", "00"]) {
        let mut command = house.command(&["submit", "--agent", "tells", "--new", "--wait"]);
        command.env("TRACEPARENT", format!("00-{trace}-b7ad6b7169203331-01"));
        let said = crate::common::Said::of(command.output().unwrap());
        assert!(
            said.stdout.contains(trace) && said.stdout.trim_end().ends_with(&format!("-{flag}\"")),
            "{}",
            said.stdout
        );
    }
    assert_eq!(house.run(&["down"]).code, 0);
    let spans = collector.spans();
    assert!(spans.len() == 4 && spans.iter().all(|span| span["trace"] == traces[0]), "{spans:?}");
    let headers = collector.headers();
    for wanted in ["x-key: canary-7b1e", "x-team: a", "POST /own/path HTTP/1.1"] {
        assert!(headers.iter().any(|line| line == wanted), "{wanted}: {headers:?}");
    }
    let log = fs::read_to_string(house.0.root().join("daemon.log")).unwrap();
    assert!(!log.contains("canary-7b1e"));
}

/// The programs of `cargo xtask tools`, if these are there.
fn tools() -> Option<(PathBuf, PathBuf)> {
    let folder = Path::new(env!("CARGO_MANIFEST_DIR")).join("../../target/tools");
    let (codex, phoenix) = (folder.join("node_modules/.bin/codex"), folder.join("phoenix/bin/phoenix"));
    if let (Ok(codex), Ok(phoenix)) = (std::path::absolute(&codex), std::path::absolute(&phoenix))
        && codex.exists()
        && phoenix.exists()
    {
        return Some((codex, phoenix));
    }
    let is_ci = std::env::var_os("CI").is_some_and(|value| value == "true");
    assert!(!is_ci, "codex or phoenix is not installed: `cargo xtask tools`");
    eprintln!("SKIPPED: codex or phoenix is not installed here; `cargo xtask tools` does it");
    None
}

/// Phoenix, which takes OTLP and shows it. It is ended by its id.
struct Phoenix {
    child: Child,
    address: String,
    _folder: tempfile::TempDir,
}

impl Phoenix {
    fn start(program: &Path) -> Self {
        let folder = tempfile::tempdir().unwrap();
        let free = || TcpListener::bind("127.0.0.1:0").unwrap().local_addr().unwrap().port().to_string();
        let (port, grpc) = (free(), free());
        let mut command = Command::new(program);
        command.arg("serve").env("PHOENIX_WORKING_DIR", folder.path()).env("PHOENIX_HOST", "127.0.0.1");
        command.env("PHOENIX_PORT", &port).env("PHOENIX_GRPC_PORT", grpc).env("PHOENIX_TELEMETRY_ENABLED", "false");
        let child = command.stdout(Stdio::null()).stderr(Stdio::null()).spawn().unwrap();
        let phoenix = Self { child, address: format!("127.0.0.1:{port}"), _folder: folder };
        found("phoenix answers", || phoenix.get("/healthz"));
        phoenix
    }

    fn get(&self, path: &str) -> Option<Value> {
        let mut stream = TcpStream::connect(&self.address).ok()?;
        let host = &self.address;
        write!(stream, "GET {path} HTTP/1.1\r\nHost: {host}\r\nConnection: close\r\n\r\n").ok()?;
        let got = crate::common::web::read(&mut BufReader::new(stream))?;
        (got.status == 200).then(|| serde_json::from_str(&got.body).unwrap_or(Value::Null))
    }
}

impl Drop for Phoenix {
    fn drop(&mut self) {
        let _ = self.child.kill();
        let _ = self.child.wait();
    }
}

#[test]
fn r30_a_script_an_agent_tool_and_a_model_arrive_in_phoenix_with_their_parents() {
    let Some((codex, program)) = tools() else { return };
    let (phoenix, model) =
        (Phoenix::start(&program), FakeModel::with_tools(vec![Turn::Say("Reviewed.".to_owned())]).unwrap());
    let chat = FakeModel::start(vec![Turn::Say("Written.".to_owned())]).unwrap();
    let house = house(&format!("http://{}", phoenix.address));
    let (root, url) = (house.0.root(), model.url());
    let home = root.join("home");
    fs::create_dir_all(home.join(".codex")).unwrap();
    let provider = format!("name = \"fake\"\nbase_url = \"{url}/v1\"\nenv_key = \"KEY\"\nwire_api = \"responses\"");
    let config = format!("model = \"m\"\nmodel_provider = \"fake\"\n[model_providers.fake]\n{provider}\n");
    fs::write(home.join(".codex/config.toml"), config).unwrap();
    let path = format!("{}:/usr/bin:/bin", codex.parent().unwrap().display());
    let agents = format!(
        "[agents.script]\ncommand = [\"/bin/sh\", \"-c\", \"cat >/dev/null; echo 1\"]\n\
         [agents.codex]\ntool = \"codex\"\ncommand = [{codex:?}]\nargs = [\"-c\", \"sandbox_mode=\\\"danger-full-access\\\"\"]\n\
         set = {{ HOME = {home:?}, PATH = {path:?}, KEY = \"x\" }}\n\
         [agents.model]\nurl = \"{}/v1/chat/completions\"\nallow = [\"loopback\"]\napi = \"chat\"\nmodel = \"m\"\n",
        chat.url()
    );
    fs::write(root.join("agents.toml"), agents).unwrap();
    let steps = json!([
        { "id": "prepare", "agent": "script" },
        { "id": "review", "agent": "codex", "input": "Review it", "depends_on": ["prepare"] },
        { "id": "write", "agent": "model", "input": "Write it up", "depends_on": ["review"] },
    ]);
    house.0.file("flow.json", &json!({ "name": "report", "steps": steps }).to_string());
    let said = house.run(&["run", "flow.json"]);
    assert_eq!(said.code, 0, "{}{}", said.stdout, said.stderr);
    let task = house.json(&["task", "list"])["task"].as_str().unwrap().to_owned();
    let trace = house.json(&["task", "show", &task])["trace_id"].as_str().unwrap().to_owned();
    let spans = found("all spans are in phoenix", || {
        let spans = phoenix.get("/v1/projects/default/spans?limit=100")?["data"].as_array()?.clone();
        (spans.len() >= 8).then_some(spans)
    });
    let named =
        |name: &str| spans.iter().find(|span| span["name"] == name).unwrap_or_else(|| panic!("{name}: {spans:?}"));
    let parents = [
        ("report", "submit report"),
        ("prepare", "report"),
        ("review", "report"),
        ("write", "report"),
        ("attempt script", "prepare"),
        ("invoke_agent codex", "review"),
        ("invoke_agent model", "write"),
    ];
    for (child, parent) in parents {
        let (child, parent) = (named(child), named(parent));
        assert_eq!(child["parent_id"], parent["context"]["span_id"], "{child} of {parent}");
        assert_eq!(child["context"]["trace_id"], json!(trace));
    }
    assert_eq!(named("submit report")["parent_id"], Value::Null);
    let model = &named("invoke_agent model")["attributes"];
    assert_eq!(model["gen_ai.agent.name"], "model", "{model}");
    let models = (&model["gen_ai.request.model"], &model["gen_ai.response.model"]);
    assert_eq!(models, (&json!("m"), &json!("fake")), "what was asked for, and what answered: {model}");
    assert!(model["gen_ai.usage.output_tokens"].as_i64().unwrap() > 0, "{model}");
    assert_eq!(named("invoke_agent codex")["attributes"]["gen_ai.provider.name"], "openai");
    // The model was told where in the trace it is asked.
    let told = format!("00-{trace}-{}-01", named("invoke_agent model")["context"]["span_id"].as_str().unwrap());
    assert_eq!(chat.asked()[0].header("traceparent"), Some(told.as_str()));
}
