//! The entries of agents: written, shown, tried and removed by commands, and kept to by whoever runs their steps.

#![allow(clippy::unwrap_used, reason = "a test that cannot go on should stop")]

use crate::common::house::House;
use serde_json::{Value, json};
use std::{
    path::PathBuf,
    time::{Duration, Instant},
};

const PATIENCE: Duration = Duration::from_secs(30);

/// A root with this in its agents.toml.
fn house(agents: &str) -> House {
    let house = House::new();
    assert_eq!(house.run(&["init"]).code, 0);
    std::fs::write(file(&house), agents).unwrap();
    house
}

fn file(house: &House) -> PathBuf {
    house.0.root().join("agents.toml")
}

fn script(house: &House, name: &str, text: &str) {
    use std::os::unix::fs::PermissionsExt as _;
    let path = house.0.folder.path().join(name);
    std::fs::write(&path, format!("#!/bin/sh\n{text}\n")).unwrap();
    std::fs::set_permissions(path, std::fs::Permissions::from_mode(0o755)).unwrap();
}

fn step(house: &House, task: &str) -> Value {
    house.json(&["task", "show", task, "--history"])["steps"][0].clone()
}

/// Waits until the first step of the task has this status.
fn rests(house: &House, task: &str, status: &str) -> Value {
    let end = Instant::now() + PATIENCE;
    loop {
        let step = step(house, task);
        if step["status"] == status {
            return step;
        }
        assert!(Instant::now() < end, "it is {} and not {status}", step["status"]);
        std::thread::yield_now();
    }
}

fn submitted(house: &House, agent: &str, input: &str) -> String {
    let said = house.run(&["submit", "--agent", agent, "--input", input]);
    assert_eq!(said.code, 0, "{}", said.stderr);
    said.stdout.trim().to_owned()
}

#[test]
fn entries_are_written_as_a_person_would_and_what_would_not_load_is_not_written() {
    let house = house("# ours\n[agents.upper] # shouts\ncommand = [\"tr\", \"a-z\", \"A-Z\"]\n");
    let add = ["agent", "add", "lower", "--about", "whispers", "--label", "team=a", "--timeout", "10m"];
    let said = house.run(&[&add[..], &["--max-attempts", "2", "--command", "tr", "-d", "A-Z"]].concat());
    assert_eq!(said.code, 0, "{}", said.stderr);
    let text = std::fs::read_to_string(file(&house)).unwrap();
    assert!(text.starts_with("# ours\n[agents.upper] # shouts\n"), "{text}");
    assert!(text.contains("[agents.lower]") && text.contains("command = [\"tr\", \"-d\", \"A-Z\"]"), "{text}");
    let listed = house.json(&["agent", "list", "--label", "team=a"]);
    assert_eq!((listed.as_array().unwrap().len(), &listed[0]["name"]), (1, &"lower".into()), "{listed}");
    assert_eq!(house.json(&["agent", "list", "--label", "team=b"]), json!([]));

    let again = house.run(&[&add[..], &["--command", "tr", "x", "y"]].concat());
    assert_eq!(again.code, 4, "{}", again.stderr);
    assert!(again.stderr.contains("--replace"), "{}", again.stderr);
    assert_eq!(house.run(&["agent", "add", "lower", "--replace", "--command", "cat"]).code, 0);
    for bad in [
        &["agent", "add", "x", "--tool", "codecs"][..],
        &["agent", "add", "x", "--timeout", "soon", "--command", "cat"],
        &["agent", "add", "x", "--folder", "gone", "--command", "cat"],
        &["agent", "add", "echo", "--command", "cat"],
    ] {
        let before = std::fs::read_to_string(file(&house)).unwrap();
        let said = house.run(bad);
        assert_ne!(said.code, 0, "{bad:?}");
        assert_eq!(std::fs::read_to_string(file(&house)).unwrap(), before, "{bad:?}: {}", said.stderr);
    }
    let wrong = house.run(&["agent", "add", "x", "--timeout", "soon", "--command", "cat"]).stderr;
    assert!(wrong.contains("agents.toml (after the change):") && wrong.contains("is not a duration"), "{wrong}");

    assert_eq!(house.run(&["agent", "remove", "lower"]).code, 0);
    assert_eq!(
        std::fs::read_to_string(file(&house)).unwrap(),
        "# ours\n[agents.upper] # shouts\ncommand = [\"tr\", \"a-z\", \"A-Z\"]\n"
    );
    let gone = house.run(&["agent", "remove", "uper"]);
    assert!(gone.code != 0 && gone.stderr.contains("did you mean `upper`?"), "{}", gone.stderr);
}

#[test]
fn an_agent_that_is_waited_for_is_removed_only_by_force() {
    let house = house("[agents.ask]\ncommand = [\"cat\"]\nconfirm = true\n");
    let task = submitted(&house, "ask", "1");
    let refused = house.run(&["agent", "remove", "ask"]);
    assert_eq!(refused.code, 4, "{}", refused.stderr);
    assert!(refused.stderr.contains(&task) && refused.stderr.contains("--force"), "{}", refused.stderr);
    assert_eq!(house.run(&["agent", "remove", "ask", "--force"]).code, 0);
    assert_eq!(house.run(&["agent", "show", "ask"]).code, 2);
}

#[test]
fn a_high_risk_agent_runs_only_what_a_person_has_agreed_to() {
    let house = house("[agents.deploy]\ncommand = [\"cat\"]\nconfirm = [\"prod\"]\n");
    let said = house.run(&["submit", "--agent", "deploy", "--input", "\"test\"", "--wait"]);
    assert_eq!((said.stdout.trim(), said.code), ("\"test\"", 0), "no rule speaks of it: {}", said.stderr);

    let task = submitted(&house, "deploy", "{\"to\":\"Prod\"}");
    let asked = rests(&house, &task, "WAITING");
    let text = asked["asks"].as_str().unwrap();
    assert!(text.starts_with("Agent deploy runs cat with {\"to\":\"Prod\"} (13 bytes, "), "{text}");
    assert_eq!(asked["attempt"], 0, "{asked}");
    assert_eq!(house.run(&["approve", &task, "deploy", "--yes"]).code, 0);
    rests(&house, &task, "SUCCESS");
    assert_eq!(house.json(&["task", "show", &task])["result"], json!({ "to": "Prod" }));

    // Whoever agreed did not agree to another program.
    let task = submitted(&house, "deploy", "{\"to\":\"prod\",\"n\":2}");
    rests(&house, &task, "WAITING");
    std::fs::write(file(&house), "[agents.deploy]\ncommand = [\"sh\", \"-c\", \"echo owned\"]\nconfirm = true\n")
        .unwrap();
    assert_eq!(house.run(&["approve", &task, "deploy", "--yes"]).code, 0);
    let step = rests(&house, &task, "FAILED");
    assert!(step["error"].as_str().unwrap().contains("has changed since the approval"), "{step}");
    assert_eq!(step["attempt"], 1, "and it is not tried again: {step}");
}

#[test]
fn what_a_step_does_not_say_its_agent_says() {
    let house = house(
        "[agents.slow]\ncommand = [\"sleep\", \"600\"]\ntimeout = \"200ms\"\nretry = { max_attempts = 2, base_backoff = \"1ms\" }\ngrace_ms = 0\n",
    );
    let task = submitted(&house, "slow", "1");
    let step = rests(&house, &task, "DEAD_LETTER");
    assert_eq!((&step["attempt"], &step["max_attempts"]), (&2.into(), &2.into()), "{step}");
    assert!(step["history"].to_string().contains("TIMEOUT"), "{step}");
    let said = house.run(&["submit", "--agent", "slow", "--input", "2", "--max-attempts", "1"]);
    assert_eq!(rests(&house, said.stdout.trim(), "DEAD_LETTER")["max_attempts"], 1, "the step's own word counts");
}

#[test]
fn an_agent_works_in_the_folder_that_its_entry_names() {
    let house = house("");
    std::fs::create_dir(house.0.folder.path().join("app")).unwrap();
    let added =
        house.run(&["agent", "add", "here", "--folder", "../app", "--command", "sh", "-c", "pwd; echo x > made"]);
    assert_eq!(added.code, 0, "{}", added.stderr);
    let said = house.run(&["submit", "--agent", "here", "--wait"]);
    let app = house.0.folder.path().canonicalize().unwrap().join("app");
    let (shown, app) = (said.stdout.trim().trim_matches('"'), app.as_path());
    assert_eq!(std::path::Path::new(shown).canonicalize().unwrap(), app, "{}", said.stderr);
    assert!(app.join("made").exists());
    assert_eq!(house.json(&["agent", "show", "here"])["places"], 1, "two at once would step on each other");
}

#[test]
fn a_test_shows_the_process_its_words_its_exit_code_and_its_bytes() {
    let house = house(
        "[agents.five]\ncommand = [\"sh\", \"-c\", \"cat > /dev/null; printf 12345; printf no >&2; exit 3\", \"two words\"]\n",
    );
    let said = house.run(&["agent", "test", "five", "--json"]);
    assert_eq!(said.code, 10, "{}", said.stderr);
    let found: Value = serde_json::from_str(&said.stdout).unwrap();
    let ran = &found["ran"];
    assert_eq!(
        (&ran["exit_code"], &ran["stdout_bytes"], &ran["stderr_bytes"]),
        (&3.into(), &5.into(), &2.into()),
        "{found}"
    );
    assert!(
        ran["pid"].as_u64().unwrap() > 1 && ran["program"] == "/usr/bin/sh" || ran["program"] == "/bin/sh",
        "{found}"
    );
    assert_eq!((&ran["arguments"][2], &found["error"]), (&"two words".into(), &"exit code 3: no".into()), "{found}");
    let text = house.run(&["agent", "test", "five"]).stdout;
    assert!(text.contains("exit code 3") && text.contains("5 bytes on stdout, 2 on stderr"), "{text}");
    let shown = house.run(&["task", "show", found["task"].as_str().unwrap()]).stdout;
    assert!(shown.contains("exit code 3") && shown.contains("'two words'"), "{shown}");
}

#[test]
fn everything_about_an_agent_is_shown_and_nothing_secret() {
    let house = house(
        "[agents.a]\ncommand = [\"cat\"]\nset = { LEVEL = \"hush\" }\nsecrets = { KEY = \"openai\", OTHER = \"gone\" }\nlabels = { team = \"a\" }\n",
    );
    assert_eq!(house.0.run_with_input(&["secret", "set", "openai"], "hunter2-hunter2").code, 0);
    let shown = house.json(&["agent", "show", "a"]);
    assert_eq!(shown["secrets"]["KEY"], "openai, which is set");
    assert!(shown["secrets"]["OTHER"].as_str().unwrap().contains("is not set"), "{shown}");
    let named: Vec<&str> = shown["environment"].as_array().unwrap().iter().filter_map(Value::as_str).collect();
    assert!(named.contains(&"KEY") && named.contains(&"LEVEL") && named.contains(&"USER"), "{shown}");
    assert!(!shown.to_string().contains("hunter2"), "{shown}");
    assert!(shown["program"].as_str().unwrap().ends_with("bin/cat") && shown["places_in_use"] == 0, "{shown}");
}

#[test]
fn a_result_is_held_to_its_schema() {
    let house = house("[agents.say]\ncommand = [\"cat\"]\nretry = { max_attempts = 1 }\n");
    let flow = |input: Value| {
        let schema =
            json!({ "type": "object", "required": ["files"], "properties": { "files": { "type": "integer" } } });
        let steps = json!([{ "id": "find", "agent": "say", "input": input, "result_schema": schema }]);
        house.0.file("flow.json", &json!({ "name": "n", "steps": steps }).to_string());
        house.run(&["run", "flow.json"])
    };
    let good = flow(json!({ "files": 3 }));
    assert_eq!(good.code, 0, "{}", good.stderr);
    let bad = flow(json!({ "files": "three" }));
    assert_eq!(bad.code, 10, "{}", bad.stdout);
    assert!(bad.stderr.contains("does not match `result_schema`: /files: "), "{}", bad.stderr);
    house.0.file("bad.yaml", "name: n\nsteps:\n  - id: a\n    agent: say\n    result_schema: { type: nonsense }\n");
    let said = house.run(&["flow", "check", "bad.yaml"]);
    assert!(
        said.code == 2 && said.stderr.contains("bad.yaml:5:5") && said.stderr.contains("not a valid JSON schema"),
        "{}",
        said.stderr
    );
}

#[test]
fn a_tool_that_nobody_knows_is_understood_by_what_its_entry_says() {
    let house = house("");
    let says = r#"read prompt
case "$*" in
  *--go-on*) echo '{"id":"c-1"}'; echo '{"answer":{"text":"went on: '"$3 $prompt"'"}}' ;;
  *) echo '{"id":"c-1"}'; echo 'what is this'; echo '{"tokens":{"in":7,"out":2}}'; exit 1 ;;
esac"#;
    script(&house, "tool.sh", says);
    let program = house.0.folder.path().join("tool.sh");
    let entry = format!(
        "[agents.t]\ncommand = [{program:?}, \"run\"]\nretry = {{ max_attempts = 2, base_backoff = \"1ms\" }}\n[agents.t.cli]\noutput = \"jsonl\"\ntext = \"/answer/text\"\nsession = \"/id\"\nresume = [\"--go-on\", \"{{session}}\"]\nusage = {{ input = \"/tokens/in\", output = \"/tokens/out\" }}\n"
    );
    std::fs::write(file(&house), entry).unwrap();
    let said = house.run(&["submit", "--agent", "t", "--input", "\"hello\"", "--wait"]);
    assert_eq!(said.code, 0, "{}", said.stderr);
    assert!(said.stdout.starts_with("\"went on: c-1 This was interrupted."), "{}", said.stdout);
    let task = house.json(&["task", "list"])["task"].as_str().unwrap().to_owned();
    let logs = house.run(&["task", "logs", &task]).stdout;
    assert!(logs.contains("went on: c-1"), "{logs}");
    let first = house.0.root().join("attempts").join(&task).join("t.1.stderr");
    assert!(std::fs::read_to_string(first).unwrap().contains("used 7 tokens in (0 cached), 2 out"));
}

#[test]
fn tools_that_are_installed_are_found_and_written_down() {
    let mut house = house("[agents.mine]\ntool = \"claude\"\n");
    std::fs::create_dir(house.0.folder.path().join("bin")).unwrap();
    script(&house, "bin/codex", "echo codex-cli 9.9");
    script(&house, "bin/claude", "echo 8.8");
    house.0.variables.push(("PATH", house.0.folder.path().join("bin").into()));
    let found = house.json(&["agent", "detect", "--write"]);
    let tool = |name: &str| found.as_array().unwrap().iter().find(|one| one["tool"] == name).unwrap().clone();
    assert_eq!((&tool("codex")["version"], &tool("codex")["written"]), (&"codex-cli 9.9".into(), &true.into()));
    assert_eq!((&tool("claude")["agent"], &tool("claude")["written"]), (&"mine".into(), &false.into()));
    assert_eq!((&tool("aider")["program"], &tool("aider")["agent"]), (&Value::Null, &Value::Null));
    let text = std::fs::read_to_string(file(&house)).unwrap();
    assert!(text.contains("[agents.codex]\ntool = \"codex\"") && !text.contains("aider"), "{text}");
    assert_eq!(house.json(&["agent", "detect", "--write"])[0]["written"], false, "once is enough");
}

#[test]
fn a_token_is_shown_once_and_kept_as_its_hash() {
    let house = house("");
    let made = house.run(&["agent", "token", "create"]);
    let token = made.stdout.trim().to_owned();
    assert!(token.starts_with("rmat_") && token.len() == 69, "{token}");
    let kept = std::fs::read_to_string(house.0.root().join("agent-token.json")).unwrap();
    assert!(!kept.contains(&token[5..]), "{kept}");
    assert_eq!(house.run(&["agent", "token", "create"]).code, 4);
    assert_ne!(house.run(&["agent", "token", "rotate", "--overlap", "1h"]).stdout.trim(), token);
    let shown = house.json(&["agent", "token", "show"]);
    assert_eq!((shown.as_array().unwrap().len(), shown[0]["until"].is_null()), (2, true), "{shown}");
    assert_eq!(house.run(&["agent", "token", "revoke", "--previous"]).code, 0);
    assert_eq!(house.json(&["agent", "token", "show"]).as_array().unwrap().len(), 1);
    assert_eq!(house.run(&["agent", "token", "revoke"]).code, 0);
    assert_eq!(house.json(&["agent", "token", "show"]), json!([]));
}
