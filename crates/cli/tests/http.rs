//! Agents that are reached by HTTP, run by a real daemon. They talk to a scripted model on loopback.

#![allow(clippy::unwrap_used, reason = "a test that cannot go on should stop")]

use crate::common::{Said, house::House, until};
use relaymesh_fake_model::{FakeModel, Turn};
use serde_json::{Value, json};
use std::{
    io::{BufRead as _, BufReader, Write as _},
    path::Path,
    process::{Child, Command, Stdio},
    time::{Duration, Instant},
};

const PATIENCE: Duration = Duration::from_secs(60);

/// The key, which is nowhere but in the memory of the daemon and of the model.
const KEY: &str = "canary-key-5d1f7e90";

/// An agent for each api, all of which reach this model, and all of one provider.
fn agents(url: &str) -> String {
    let agent = |name: &str, path: &str, more: &str| {
        format!(
            "[agents.{name}]\nurl = \"{url}{path}\"\nallow = [\"loopback\"]\nkey = \"k\"\nprovider = \"fake\"\n{more}\n"
        )
    };
    let model = |api: &str| format!("api = \"{api}\"\nmodel = \"m\"\nsystem = \"Be brief.\"");
    [
        agent("chat", "/v1/chat/completions", &model("chat")),
        agent("responses", "/v1/responses", &model("responses")),
        agent("messages", "/v1/messages", &model("messages")),
        agent("own", "/json", "headers = { \"x-team\" = \"a\" }"),
    ]
    .concat()
}

fn house(agents: &str) -> House {
    let house = House::new();
    assert_eq!(house.run(&["init"]).code, 0);
    std::fs::write(house.0.root().join("agents.toml"), agents).unwrap();
    let mut child = house.command(&["secret", "set", "k"]).stdin(Stdio::piped()).spawn().unwrap();
    child.stdin.take().unwrap().write_all(KEY.as_bytes()).unwrap();
    assert!(child.wait().unwrap().success());
    house
}

fn says(words: &str) -> Turn {
    Turn::Say(words.to_owned())
}

fn submit(house: &House, agent: &str, more: &[&str]) -> Said {
    house.run(&[&["submit", "--agent", agent, "--input", "\"Say hello\"", "--new"], more].concat())
}

/// The model is told what its result must be like, and its answer is held to it; so is the answer of a server of one's own.
#[test]
fn a_result_that_is_not_what_the_step_asks_for_is_tried_again() {
    let model = FakeModel::start(Vec::new()).unwrap();
    let house = house(&agents(&model.url()));
    let schema =
        json!({ "type": "object", "required": ["kind"], "properties": { "kind": { "enum": ["bug", "wish"] } } });
    for agent in ["chat", "responses", "messages"] {
        model.set_script(vec![says("{\"kind\": \"neither\"}"), says("```json\n{\"kind\": \"wish\"}\n```")]);
        let retry = json!({ "max_attempts": 2, "base_backoff_ms": 1 });
        let step = json!({ "id": "triage", "agent": agent, "input": agent, "result_schema": schema, "retry": retry });
        house.0.file("flow.json", &json!({ "name": "n", "steps": [step] }).to_string());
        let before = model.asked().len();
        let said = house.run(&["run", "flow.json", "--json"]);
        assert_eq!(said.code, 0, "{agent}: {}{}", said.stdout, said.stderr);
        let task = said.lines()[0]["task"].as_str().unwrap().to_owned();
        let shown = house.json(&["task", "show", &task]);
        assert_eq!(
            (&shown["result"], &shown["steps"][0]["attempt"]),
            (&json!({ "kind": "wish" }), &json!(2)),
            "{agent}"
        );
        let asked = &model.asked()[before..];
        assert!(asked.len() == 2 && asked[0].body.to_string().contains("satisfies this JSON schema"), "{agent}");
    }
    let step =
        json!({ "id": "a", "agent": "own", "input": 1, "result_schema": schema, "retry": { "max_attempts": 1 } });
    house.0.file("flow.json", &json!({ "name": "n", "steps": [step] }).to_string());
    let said = house.run(&["run", "flow.json"]);
    assert!(said.code == 10 && said.stderr.contains("does not match `result_schema`"), "{}", said.stderr);
}

/// Every agent that is held, and why.
fn held(house: &House) -> Vec<(String, String)> {
    let text = |value: &Value| value.as_str().unwrap_or_default().to_owned();
    let listed = house.json(&["agent", "list"]);
    let agents = listed.as_array().unwrap().iter().filter(|agent| agent["held_until"].is_string());
    agents.map(|agent| (text(&agent["name"]), text(&agent["held_because"]))).collect()
}

#[test]
fn every_api_streams_its_words_to_a_result() {
    let model = FakeModel::start(Vec::new()).unwrap();
    let house = house(&agents(&model.url()));
    for agent in ["chat", "responses", "messages"] {
        model.set_script(vec![Turn::Pieces(["Hello", " from", " afar."].map(str::to_owned).to_vec())]);
        let said = submit(&house, agent, &["--wait"]);
        assert_eq!((said.stdout.trim(), said.code), ("\"Hello from afar.\"", 0), "{agent}: {}", said.stderr);
        let asked = model.asked().pop().unwrap();
        assert!(asked.body["stream"] == true && asked.body["model"] == "m", "{}", asked.body);
        let words = asked.body.to_string();
        assert!(words.contains("Say hello") && words.contains("Be brief."), "{agent}: {words}");
        let (header, value) = match agent {
            "messages" => ("x-api-key", KEY.to_owned()),
            _ => ("authorization", format!("Bearer {KEY}")),
        };
        assert_eq!(asked.header(header), Some(value.as_str()), "{agent}");
        assert_eq!(asked.header("x-relaymesh-task"), None, "{agent}: a model's maker need not know");
        let task = house.json(&["task", "list", "--limit", "1"])["task"].as_str().unwrap().to_owned();
        let logs = house.run(&["task", "logs", &task]).stdout;
        assert!(logs.contains("Hello from afar.") && logs.contains("20 out"), "{agent}: {logs}");
    }
    let listed = house.run(&["agent", "list"]).stdout;
    assert!(listed.lines().any(|line| line.contains("chat") && line.contains("http")), "{listed}");
    assert_eq!(house.run(&["down"]).code, 0);
}

#[test]
fn a_server_of_ones_own_gets_the_input_and_can_know_a_repeat() {
    let model = FakeModel::start(vec![
        Turn::Status { code: 500, headers: Vec::new(), body: json!({ "error": "not today" }) },
        says("done"),
        Turn::Pieces(vec!["half way".to_owned()]),
    ])
    .unwrap();
    let house = house(&agents(&model.url()));
    let input = "{\"a\":[1,2]}";
    let said = house.run(&["submit", "--agent", "own", "--input", input, "--max-attempts", "2", "--wait"]);
    assert_eq!((said.stdout.trim(), said.code), ("{\"said\":\"done\"}", 0), "{}", said.stderr);
    let asked = model.asked();
    assert_eq!(asked.len(), 2, "the first one failed");
    assert_eq!(asked[0].body, json!({ "a": [1, 2] }));
    assert_eq!(asked[0].header("x-team"), Some("a"));
    let names = ["idempotency-key", "x-relaymesh-task", "x-relaymesh-step"];
    for name in names {
        assert!(asked[0].header(name).is_some(), "{name}");
        assert_eq!(asked[0].header(name), asked[1].header(name), "{name}");
    }
    assert_eq!(
        (asked[0].header("x-relaymesh-attempt"), asked[1].header("x-relaymesh-attempt")),
        (Some("1"), Some("2"))
    );
    // It may stream, too.
    let said = house.run(&["submit", "--agent", "own", "--input", "3", "--wait"]);
    assert_eq!((said.stdout.trim(), said.code), ("{\"said\":\"half way\"}", 0), "{}", said.stderr);
    let task = house.json(&["task", "list", "--limit", "1"])["task"].as_str().unwrap().to_owned();
    assert!(house.run(&["task", "logs", &task]).stdout.contains("half way"));
    assert_eq!(house.run(&["down"]).code, 0);
}

#[test]
fn half_an_answer_is_shown_while_it_comes_and_a_cancel_reaches_the_connection() {
    let model = FakeModel::start(vec![Turn::Hang("I am thinking about".to_owned())]).unwrap();
    let house = house(&agents(&model.url()));
    let task = submit(&house, "messages", &[]).stdout.trim().to_owned();
    until("its words are live", || house.run(&["task", "logs", &task]).stdout.contains("thinking about"));
    assert_eq!((model.waiting(), model.left()), (1, 0));
    let said = house.run(&["task", "cancel", &task]);
    assert_eq!(said.code, 0, "{}", said.stderr);
    until("the connection is gone", || model.left() == 1);
    assert_eq!(house.json(&["task", "show", &task])["status"], "CANCELLED");
    assert_eq!(house.run(&["down"]).code, 0);
}

#[test]
fn what_is_cut_off_is_no_result_and_is_tried_again() {
    let model = FakeModel::start(Vec::new()).unwrap();
    let house = house(&agents(&model.url()));
    for agent in ["chat", "responses", "messages", "own"] {
        model.set_script(vec![Turn::Cut("Half a".to_owned()), Turn::Pieces(vec!["Whole.".to_owned()])]);
        let before = model.asked().len();
        let said = submit(&house, agent, &["--max-attempts", "2", "--wait"]);
        assert!(said.stdout.contains("Whole.") && said.code == 0, "{agent}: {}{}", said.stdout, said.stderr);
        assert_eq!(model.asked().len() - before, 2, "{agent}");
        model.set_script(vec![Turn::Cut("Half a".to_owned())]);
        let said = submit(&house, agent, &["--max-attempts", "1", "--wait"]);
        assert!(said.code != 0 && said.stderr.contains("cut off"), "{agent}: {}", said.stderr);
    }
    assert_eq!(house.run(&["down"]).code, 0);
}

#[test]
fn a_provider_that_has_enough_holds_all_its_agents_and_costs_no_attempt() {
    let refusal = json!({ "error": { "type": "rate_limit_error", "message": "Slow down" } });
    let headers = vec![("retry-after".to_owned(), "7200".to_owned())];
    let model = FakeModel::start(vec![Turn::Status { code: 429, headers, body: refusal }]).unwrap();
    let house = house(&agents(&model.url()));
    let task = submit(&house, "chat", &["--max-attempts", "1"]).stdout.trim().to_owned();
    until("the hold", || !held(&house).is_empty());
    let names: Vec<String> = held(&house).into_iter().map(|(name, _)| name).collect();
    assert_eq!(names, ["chat", "messages", "own", "responses"], "all of one provider");
    assert!(held(&house)[0].1.contains("429: Slow down"), "{:?}", held(&house));
    let shown = house.json(&["task", "show", &task]);
    assert_eq!(
        (&shown["steps"][0]["status"], &shown["steps"][0]["attempt"]),
        (&"PENDING".into(), &0.into()),
        "{shown}"
    );
    // Others of the same provider wait behind it, and so they do after a restart.
    submit(&house, "messages", &[]);
    assert_eq!(house.run(&["down"]).code, 0);
    assert_eq!(house.run(&["up", "--detach"]).code, 0);
    assert_eq!((held(&house).len(), model.asked().len()), (4, 1));
    assert_eq!(house.run(&["down"]).code, 0);
}

#[test]
fn when_the_provider_is_back_the_work_goes_on_by_itself() {
    let limited = |name: &str, value: String| Turn::Status {
        code: 429,
        headers: vec![(name.to_owned(), value)],
        body: json!({ "error": { "message": "Slow down" } }),
    };
    let model = FakeModel::start(vec![
        limited("retry-after", "1".to_owned()),
        limited("x-ratelimit-reset-tokens", "20ms".to_owned()),
        limited("anthropic-ratelimit-requests-reset", "2020-01-01T00:00:00Z".to_owned()),
        says("Back again."),
    ])
    .unwrap();
    let house = house(&agents(&model.url()));
    let begun = Instant::now();
    let said = submit(&house, "messages", &["--max-attempts", "1", "--wait"]);
    assert_eq!((said.stdout.trim(), said.code), ("\"Back again.\"", 0), "{}", said.stderr);
    // Without what the headers say, each of the three would have taken a minute or more.
    assert!(begun.elapsed() < PATIENCE);
    assert_eq!((held(&house).len(), model.asked().len()), (0, 4));
    assert_eq!(house.run(&["down"]).code, 0);
}

#[test]
fn an_overload_in_the_middle_of_an_answer_holds_the_provider() {
    let model = FakeModel::start(vec![Turn::Overload("I was just".to_owned())]).unwrap();
    let house = house(&agents(&model.url()));
    let task = submit(&house, "messages", &["--max-attempts", "1"]).stdout.trim().to_owned();
    until("the hold", || held(&house).len() == 4);
    assert!(held(&house)[0].1.contains("Overloaded"), "{:?}", held(&house));
    assert_eq!(house.json(&["task", "show", &task])["steps"][0]["status"], "PENDING");
    assert_eq!(house.run(&["down"]).code, 0);
}

#[test]
fn what_a_model_is_asked_is_kept_and_a_budget_ends_it_in_the_middle() {
    let model = FakeModel::start(vec![says("Hello."), Turn::Hang("I am".to_owned())]).unwrap();
    let house =
        house(&agents(&model.url()).replace("provider = ", "budget = { task = { tokens = 130 } }\nprovider = "));
    assert_eq!(submit(&house, "chat", &["--wait"]).code, 0, "120 tokens are enough");
    let task = house.json(&["task", "list", "--limit", "1"])["task"].as_str().unwrap().to_owned();
    let kept = house.run(&["audit", "inference", &task, "--full"]).stdout;
    assert!(kept.contains("Say hello") && kept.contains("Hello.") && !kept.contains(KEY), "{kept}");
    assert!(house.run(&["usage"]).stdout.contains("120"), "{}", house.run(&["usage"]).stdout);
    let said = submit(&house, "messages", &["--wait"]);
    assert!(said.code != 0 && said.stderr.contains("tokens"), "{}", said.stderr);
    until("the connection is given up", || model.left() == 1);
    assert_eq!(model.asked().len(), 2, "and nobody tries again");
    assert_eq!(house.run(&["down"]).code, 0);
}

/// Every file below the folder.
fn files(folder: &Path, found: &mut Vec<std::path::PathBuf>) {
    for entry in std::fs::read_dir(folder).unwrap() {
        let (path, kind) = entry.map(|entry| (entry.path(), entry.file_type().unwrap())).unwrap();
        match () {
            () if kind.is_dir() => files(&path, found),
            () if kind.is_file() => found.push(path),
            () => {}
        }
    }
}

#[test]
fn the_key_is_in_no_file_and_in_nothing_that_is_printed() {
    let echo = json!({ "error": { "message": format!("bad key: {KEY} (Bearer {KEY})") } });
    let pieces = |cut: usize| vec![format!("It is {}", &KEY[..cut]), format!("{} indeed.", &KEY[cut..])];
    let model = FakeModel::start(vec![
        Turn::Status { code: 400, headers: vec![("x-echo".to_owned(), KEY.to_owned())], body: echo },
        says(&format!("Your key is {KEY}.")),
        Turn::Status {
            code: 429,
            headers: vec![("retry-after".to_owned(), "1".to_owned())],
            body: json!({ "error": KEY }),
        },
        Turn::Pieces(pieces(9)),
    ])
    .unwrap();
    let house = house(&agents(&model.url()));
    let mut printed = Vec::new();
    for agent in ["chat", "own", "messages"] {
        let said = submit(&house, agent, &["--max-attempts", "1", "--wait"]);
        printed.extend([said.stdout, said.stderr]);
    }
    assert_eq!(model.asked().len(), 4);
    assert!(printed[1].contains("bad key: ***"), "{}", printed[1]);
    assert!(printed[2].contains("Your key is ***."), "{}", printed[2]);
    assert!(printed[4].contains("It is *** indeed."), "{}", printed[4]);
    for command in [&["log", "show"][..], &["agent", "list"], &["audit", "query"], &["task", "list"]] {
        let said = house.run(command);
        printed.extend([said.stdout, said.stderr]);
    }
    assert_eq!(house.run(&["down"]).code, 0);
    assert!(printed.iter().all(|text| !text.contains(KEY)), "{printed:?}");
    let mut found = Vec::new();
    files(&house.0.root(), &mut found);
    assert!(found.len() > 5, "{found:?}");
    let pieces = found.iter().filter(|file| std::fs::read_to_string(file).is_ok_and(|text| text.contains(&KEY[9..])));
    assert_eq!(pieces.count(), 0, "what came in pieces is not kept in pieces");
    for file in found {
        let text = String::from_utf8_lossy(&std::fs::read(&file).unwrap()).into_owned();
        assert!(!text.contains(KEY), "{}", file.display());
    }
}

#[test]
fn nobody_is_followed_and_nobody_is_reached_who_was_not_let_in() {
    let elsewhere = FakeModel::start(vec![says("You should not be here.")]).unwrap();
    let location = format!("{}/v1/chat/completions", elsewhere.url().replace("127.0.0.1", "localhost"));
    let model = FakeModel::start(vec![Turn::Status {
        code: 307,
        headers: vec![("location".to_owned(), location)],
        body: Value::Null,
    }])
    .unwrap();
    let port = model.url().rsplit(':').next().unwrap().to_owned();
    let named = format!(
        "[agents.named]\nurl = \"https://localhost:{port}/json\"\n[agents.plain]\nurl = \"http://localhost:{port}/json\"\nallow = [\"private\"]\n"
    );
    let house = house(&(agents(&model.url()) + &named));
    let said = submit(&house, "chat", &["--wait"]);
    assert!(
        said.code != 0 && said.stderr.contains("redirects are not followed") && said.stderr.contains("localhost"),
        "{}",
        said.stderr
    );
    assert_eq!((model.asked().len(), elsewhere.asked().len()), (1, 0));
    for agent in ["named", "plain"] {
        let said = submit(&house, agent, &["--wait"]);
        assert!(said.code != 0 && said.stderr.contains("allow = [\"loopback\"]"), "{agent}: {}", said.stderr);
        let task = house.json(&["task", "list", "--limit", "1"])["task"].as_str().unwrap().to_owned();
        assert_eq!(
            house.json(&["task", "show", &task])["steps"][0]["attempt"],
            1,
            "another attempt would find the same"
        );
    }
    assert_eq!(model.asked().len(), 1, "nobody has come to the port");
    // An address in the url is refused when the file is read.
    let bad = format!("[agents.a]\nurl = \"http://127.0.0.1:{port}/json\"\nallow = [\"private\"]\n");
    std::fs::write(house.0.root().join("agents.toml"), bad).unwrap();
    let said = house.run(&["agent", "list"]);
    assert!(
        said.code != 0 && said.stderr.contains("allow = [\"loopback\"]") && said.stderr.contains("agents.toml:1"),
        "{}",
        said.stderr
    );
    assert_eq!(house.run(&["down"]).code, 0);
}

#[test]
fn an_answer_that_is_too_long_or_too_late_is_ended() {
    let model = FakeModel::start(vec![
        says(&"x".repeat(100_000)),
        says(&"y".repeat(2_000)),
        Turn::Silent,
        Turn::Hang("Half".to_owned()),
    ])
    .unwrap();
    let limits =
        "output_bytes_max = 1000\nconnect_timeout = \"1s\"\nfirst_byte_timeout = \"2s\"\nidle_timeout = 2000\n";
    let house = house(&agents(&model.url()).replace("allow = ", &format!("{limits}allow = ")));
    let failed = |agent: &str, words: &str| {
        let said = submit(&house, agent, &["--max-attempts", "1", "--wait"]);
        assert!(said.code != 0 && said.stderr.contains(words), "{agent}: {}{}", said.stdout, said.stderr);
    };
    failed("own", "answer is longer than 1000 bytes");
    failed("chat", "result is longer than 1000 bytes");
    failed("chat", "first_byte_timeout");
    failed("messages", "idle_timeout");
    until("both connections are given up", || model.left() == 2);
    // Nobody is there.
    drop(model);
    failed("chat", "cannot connect");
    assert_eq!(house.run(&["down"]).code, 0);
}

#[test]
fn after_a_kill_in_the_middle_of_an_answer_it_is_asked_again_and_the_result_lands_once() {
    for is_killed in [true, false] {
        let model = FakeModel::start(vec![Turn::Hang("I am".to_owned()), says("Done at last.")]).unwrap();
        let house = house(&agents(&model.url()));
        let task = submit(&house, "chat", &[]).stdout.trim().to_owned();
        until("it speaks", || house.run(&["task", "logs", &task]).stdout.contains("I am"));
        if is_killed {
            house.kill();
        } else {
            assert_eq!(house.run(&["down"]).code, 0);
        }
        until("the connection is gone with the daemon", || model.left() == 1);
        let said = house.run(&["task", "wait", &task]);
        assert_eq!((said.stdout.trim(), said.code), ("\"Done at last.\"", 0), "{}", said.stderr);
        assert_eq!(model.asked().len(), 2);
        let log = house.run(&["log", "show", "--json"]);
        let results = log.lines().iter().filter(|op| op["body"]["result"].is_object()).count();
        assert_eq!(results, 1, "{}", log.stdout);
        assert_eq!(house.run(&["down"]).code, 0);
    }
}

#[test]
fn many_wait_at_once_on_one_thread_and_none_is_there_before_the_first() {
    const AT_ONCE: usize = 40;
    let model = FakeModel::start(vec![Turn::Hang("Wait".to_owned()); AT_ONCE]).unwrap();
    let house =
        house(&agents(&model.url()).replace("provider = \"fake\"\n", "provider = \"fake\"\nconcurrency = 100\n"));
    assert_eq!(house.run(&["up", "--detach"]).code, 0);
    let threads = || -> Vec<String> {
        let tasks = std::fs::read_dir(format!("/proc/{}/task", house.pid().unwrap())).unwrap();
        let name =
            |task: std::io::Result<std::fs::DirEntry>| std::fs::read_to_string(task.unwrap().path().join("comm")).ok();
        tasks.filter_map(name).map(|name| name.trim().to_owned()).collect()
    };
    assert!(!threads().contains(&"http".to_owned()), "nothing is started before it is needed");
    let before = threads().len();
    let tasks: Vec<String> = (0..AT_ONCE).map(|_| submit(&house, "own", &[]).stdout.trim().to_owned()).collect();
    until("all of them wait", || model.waiting() == AT_ONCE);
    let more = threads().len() - before;
    assert!(more < 15, "{more} more threads for {AT_ONCE} attempts: {:?}", threads());
    for task in &tasks {
        assert_eq!(house.run(&["task", "cancel", task]).code, 0);
    }
    until("all connections are gone", || model.left() == AT_ONCE);
    assert_eq!(house.run(&["down"]).code, 0);
}

/// A program in Python, until the test ends.
struct Server(Child);

impl Server {
    /// Starts it; it says its port first. `None`: there is no Python here.
    fn start(program: &str, arguments: &[&str]) -> Option<(Self, String)> {
        if Command::new("python3").arg("--version").output().is_err() {
            eprintln!("SKIPPED: there is no python3");
            return None;
        }
        let mut command = Command::new("python3");
        command.args(["-c", program]).args(arguments).stdout(Stdio::piped()).stderr(Stdio::null());
        let mut child = command.spawn().unwrap();
        let mut port = String::new();
        BufReader::new(child.stdout.take().unwrap()).read_line(&mut port).unwrap();
        Some((Self(child), port.trim().to_owned()))
    }
}

impl Drop for Server {
    fn drop(&mut self) {
        let _ = self.0.kill();
        let _ = self.0.wait();
    }
}

/// The blocks of the guide in this language that have this in them.
fn guide(language: &str, with: &str) -> String {
    let path = Path::new(env!("CARGO_MANIFEST_DIR")).join("../../docs/how-to/http-agents.md");
    let text = std::fs::read_to_string(path).unwrap();
    let mut blocks = text.split("```").filter_map(|block| block.strip_prefix(language)?.strip_prefix('\n'));
    blocks.find(|block| block.contains(with)).unwrap_or_else(|| panic!("no {language} block with {with}")).to_owned()
}

/// The server of the guide, on any port, which it says.
fn shouting() -> String {
    let said = "print(server.server_port, flush=True)\nserver.serve_forever()";
    guide("python", "http.server").replace("8080", "0").replace("server.serve_forever()", said)
}

#[test]
fn the_server_in_the_guide_works_as_it_stands_there() {
    let Some((_server, port)) = Server::start(&shouting(), &[]) else { return };
    let house = house(&guide("toml", "8080").replace("8080", &port));
    let said = house.run(&["submit", "--agent", "shout", "--input", "{\"text\": \"hello\"}", "--wait"]);
    assert_eq!((said.stdout.trim(), said.code), ("{\"text\":\"HELLO\"}", 0), "{}", said.stderr);
    assert_eq!(house.run(&["down"]).code, 0);
}

#[test]
fn a_certificate_is_checked_against_those_of_the_system() {
    let folder = tempfile::tempdir().unwrap();
    let certificate = |name: &str| {
        let made = rcgen::generate_simple_self_signed(["localhost".to_owned()]).unwrap();
        let file = folder.path().join(name);
        std::fs::write(&file, made.cert.pem()).unwrap();
        std::fs::write(file.with_extension("key"), made.signing_key.serialize_pem()).unwrap();
        file
    };
    let (ours, another) = (certificate("ours.pem"), certificate("another.pem"));
    let encrypted = "import ssl, sys\ncontext = ssl.SSLContext(ssl.PROTOCOL_TLS_SERVER)\ncontext.load_cert_chain(sys.argv[1], sys.argv[2])\n\
                     server.socket = context.wrap_socket(server.socket, server_side=True)\nprint(";
    let program = shouting().replace("print(", encrypted);
    let key = ours.with_extension("key");
    let Some((_server, port)) = Server::start(&program, &[ours.to_str().unwrap(), key.to_str().unwrap()]) else {
        return;
    };
    let agent = format!("[agents.shout]\nurl = \"https://localhost:{port}/\"\nallow = [\"loopback\"]\n");
    for (known, is_ours) in [(ours, true), (another, false)] {
        let mut house = House::new();
        house.0.variables.push(("SSL_CERT_FILE", known.into()));
        assert_eq!(house.run(&["init"]).code, 0);
        std::fs::write(house.0.root().join("agents.toml"), &agent).unwrap();
        let said = house.run(&["submit", "--agent", "shout", "--input", "{\"text\": \"hello\"}", "--wait"]);
        if is_ours {
            assert_eq!((said.stdout.trim(), said.code), ("{\"text\":\"HELLO\"}", 0), "{}", said.stderr);
        } else {
            assert!(said.code != 0 && said.stderr.contains("cannot connect safely"), "{}", said.stderr);
            let task = house.json(&["task", "list"])["task"].as_str().unwrap().to_owned();
            assert_eq!(house.json(&["task", "show", &task])["steps"][0]["attempt"], 1, "it will be no other");
        }
        assert_eq!(house.run(&["down"]).code, 0);
    }
}
