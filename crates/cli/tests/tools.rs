//! The real agent tools, run by a real daemon. They talk to a scripted model on loopback, so they always say the same and cost nothing.
//!
//! `cargo xtask tools` installs them. Where they are not, these tests say `SKIPPED`; in the continuous integration they fail.

#![allow(clippy::unwrap_used, reason = "a test that cannot go on should stop")]

use crate::common::{house::House, until};
use relaymesh_fake_model::{FakeModel, Turn};
use serde_json::{Value, json};
use std::path::{Path, PathBuf};

const ALL: [&str; 5] = ["codex", "claude", "gemini", "opencode", "aider"];

/// The folder with the tools' programs, if this one is there.
fn tools(program: &str) -> Option<PathBuf> {
    let given = std::env::var_os("RELAYMESH_TOOLS").map(PathBuf::from);
    let usual = || Path::new(env!("CARGO_MANIFEST_DIR")).join("../../target/tools/node_modules/.bin");
    let folder = given.unwrap_or_else(usual);
    let is_there = if program == "aider" { aider().exists() } else { folder.join(program).exists() };
    if is_there {
        return Some(folder.canonicalize().unwrap());
    }
    assert!(
        std::env::var_os("CI").is_none_or(|value| value != "true"),
        "{program} is not installed: `cargo xtask tools`"
    );
    eprintln!("SKIPPED: {program} is not installed here; `cargo xtask tools` does it");
    None
}

/// Where aider is; it is not of npm.
fn aider() -> PathBuf {
    let usual = || Path::new(env!("CARGO_MANIFEST_DIR")).join("../../target/tools/aider/bin/aider");
    std::env::var_os("RELAYMESH_AIDER").map_or_else(usual, PathBuf::from)
}

/// A model that says this to this agent. All but aider give it tools, and ask besides for titles and the like without them.
fn model(agent: &str, script: Vec<Turn>) -> FakeModel {
    if agent == "aider" { FakeModel::start(script).unwrap() } else { FakeModel::with_tools(script).unwrap() }
}

/// The entries of Gemini CLI, opencode and aider, which talk to the model at this address. Each has its own way to be told.
fn others(home: &Path, common: &str, url: &str, tools: &Path) -> String {
    let gemini =
        json!({ "general": { "maxAttempts": 1 }, "security": { "auth": { "selectedType": "gemini-api-key" } } });
    std::fs::create_dir_all(home.join(".gemini")).unwrap();
    std::fs::write(home.join(".gemini/settings.json"), gemini.to_string()).unwrap();
    let options = json!({ "baseURL": format!("{url}/v1"), "apiKey": "x" });
    let fake = json!({ "npm": "@ai-sdk/openai-compatible", "options": options, "models": { "m": {} } });
    let opencode = json!({ "provider": { "fake": fake }, "model": "fake/m", "autoupdate": false, "share": "disabled" });
    let file = home.join("opencode.json");
    std::fs::write(&file, opencode.to_string()).unwrap();
    format!(
        r#"
[agents.gemini]
tool = "gemini"
command = [{gemini:?}]
model = "gemini-2.5-flash"
args = ["--approval-mode", "yolo"]
set = {{ {common}, GEMINI_API_KEY = "x", GOOGLE_GEMINI_BASE_URL = "{url}" }}

[agents.opencode]
tool = "opencode"
command = [{opencode:?}]
model = "fake/m"
set = {{ {common}, OPENCODE_CONFIG = {file:?}, OPENCODE_DISABLE_MODELS_FETCH = "1" }}

[agents.aider]
tool = "aider"
command = [{aider:?}]
model = "openai/m"
set = {{ {common}, OPENAI_API_BASE = "{url}/v1", OPENAI_API_KEY = "x" }}
"#,
        gemini = tools.join("gemini"),
        opencode = tools.join("opencode"),
        aider = aider(),
    )
}

/// A root with all five, which talk to this model.
fn house(model: &FakeModel, tools: &Path) -> House {
    let house = House::new();
    let (root, url) = (house.0.root(), model.url());
    let home = root.join("home");
    std::fs::create_dir_all(home.join(".codex")).unwrap();
    let provider = format!("name = \"fake\"\nbase_url = \"{url}/v1\"\nenv_key = \"KEY\"\nwire_api = \"responses\"");
    let retries = "request_max_retries = 0\nstream_max_retries = 0";
    let config = format!("model = \"m\"\nmodel_provider = \"fake\"\n[model_providers.fake]\n{provider}\n{retries}\n");
    std::fs::write(home.join(".codex/config.toml"), config).unwrap();
    let path = format!("{}:/usr/bin:/bin", tools.display());
    let common = format!("HOME = {home:?}, PATH = {path:?}");
    let agents = format!(
        r#"
[agents.codex]
tool = "codex"
command = [{codex:?}]
args = ["-c", "sandbox_mode=\"danger-full-access\""]
set = {{ {common}, KEY = "x" }}

[agents.claude]
tool = "claude"
command = [{claude:?}]
args = ["--dangerously-skip-permissions"]
set = {{ {common}, ANTHROPIC_BASE_URL = "{url}", ANTHROPIC_API_KEY = "x", CLAUDE_CODE_DISABLE_NONESSENTIAL_TRAFFIC = "1", CLAUDE_CODE_MAX_RETRIES = "0", IS_SANDBOX = "1" }}
"#,
        codex = tools.join("codex"),
        claude = tools.join("claude"),
    );
    std::fs::write(root.join("agents.toml"), agents + &others(&home, &common, &url, tools)).unwrap();
    house
}

/// The words in which each tool runs a command.
fn command(agent: &str, command: &str) -> Turn {
    let (name, arguments) = match agent {
        "codex" => ("exec_command", json!({ "cmd": command })),
        "gemini" => ("run_shell_command", json!({ "command": command })),
        "opencode" => ("bash", json!({ "command": command, "description": "as asked" })),
        _ => ("Bash", json!({ "command": command, "description": "as asked" })),
    };
    Turn::Call { name: name.to_owned(), arguments }
}

#[test]
fn they_call_a_tool_finish_and_their_words_are_the_result() {
    for agent in ["codex", "claude", "gemini", "opencode"] {
        let Some(tools) = tools(agent) else { return };
        let script = vec![command(agent, "echo from-the-tool > made.txt"), Turn::Say("All done.".to_owned())];
        let model = FakeModel::with_tools(script).unwrap();
        let house = house(&model, &tools);
        let said = house.run(&["submit", "--agent", agent, "--input", "\"Make the file\"", "--wait"]);
        assert_eq!((said.stdout.trim(), said.code), ("\"All done.\"", 0), "{agent}: {}", said.stderr);
        let task = house.json(&["task", "list"])["task"].as_str().unwrap().to_owned();
        let made = house.0.root().join("attempts").join(&task).join(format!("{agent}.0/made.txt"));
        assert_eq!(std::fs::read_to_string(made).unwrap(), "from-the-tool\n");
        let logs = house.run(&["task", "logs", &task]).stdout;
        assert!(logs.contains("echo from-the-tool") && logs.contains("All done.") && logs.contains("used "), "{logs}");
        let asked = model.asked();
        assert_eq!(asked.len(), 2, "{agent}");
        assert!(asked[0].body.to_string().contains("Make the file"));
        assert_eq!(house.run(&["down"]).code, 0);
    }
}

#[test]
fn a_stream_that_is_cut_off_is_a_failure_that_says_so() {
    for agent in ALL {
        let words: &[&str] = match agent {
            "codex" => &["stream disconnected"],
            "claude" => &["API Error"],
            // It says what its library says, and that depends on where the stream was cut.
            "gemini" => &["fetch failed", "terminated"],
            "opencode" => &["Cannot connect to API", "terminated", "socket", "Connection reset"],
            _ => &["Connection error"],
        };
        let Some(tools) = tools(agent) else { return };
        let model = model(agent, vec![Turn::Cut("Half a".to_owned()); 40]);
        let house = house(&model, &tools);
        let said = house.run(&["submit", "--agent", agent, "--input", "\"Hello\"", "--max-attempts", "1", "--wait"]);
        assert_ne!(said.code, 0, "{agent}: {}", said.stdout);
        let says_so = words.iter().any(|words| said.stderr.contains(words));
        assert!(says_so, "{agent}: {} says none of {words:?}", said.stderr);
        assert_eq!(house.run(&["down"]).code, 0);
    }
}

/// What a provider answers that has enough for now; `reset_s`: and until when, where there is a way to say so.
fn enough(agent: &str, reset_s: Option<u64>) -> Turn {
    let words = match reset_s {
        Some(_) => "You exceeded your current quota. Usage limit reached, try again in 2 hours.",
        None => "Rate limit reached, slow down.",
    };
    let body = match (agent, reset_s) {
        ("codex", Some(reset_s)) => {
            json!({ "error": { "type": "usage_limit_reached", "message": words, "resets_at": reset_s } })
        }
        ("claude", Some(reset_s)) => {
            let words = format!("Claude AI usage limit reached|{reset_s}");
            json!({ "type": "error", "error": { "type": "rate_limit_error", "message": words } })
        }
        ("claude", None) => json!({ "type": "error", "error": { "type": "rate_limit_error", "message": words } }),
        ("gemini", _) => {
            let detail = json!({ "@type": "type.googleapis.com/google.rpc.RetryInfo", "retryDelay": "7200s" });
            let details = reset_s.map_or_else(|| json!([]), |_| json!([detail]));
            let error = json!({ "code": 429, "message": words, "status": "RESOURCE_EXHAUSTED", "details": details });
            json!({ "error": error })
        }
        _ => json!({ "error": { "type": "requests", "code": "rate_limit_exceeded", "message": words } }),
    };
    Turn::Status { code: 429, headers: Vec::new(), body }
}

/// Turned away, each is held and no other is; the step rests and has cost no attempt.
#[test]
fn a_provider_that_has_enough_holds_each_of_them() {
    for agent in ALL {
        let Some(tools) = tools(agent) else { return };
        let model = model(agent, vec![enough(agent, None); 40]);
        let house = house(&model, &tools);
        let task = house.run(&["submit", "--agent", agent, "--input", "\"Hello\"", "--max-attempts", "1"]).stdout;
        rests_held(&house, agent, task.trim());
        assert_eq!(house.run(&["down"]).code, 0);
    }
}

/// Each is held until the window opens, as its provider says.
#[test]
fn a_closed_window_holds_each_of_them_until_it_opens() {
    for agent in ALL {
        let Some(tools) = tools(agent) else { return };
        let begun_s = now_s();
        let model = model(agent, vec![enough(agent, Some(begun_s + 7_200)); 40]);
        let house = house(&model, &tools);
        let task = house.run(&["submit", "--agent", agent, "--input", "\"Hello\"", "--max-attempts", "1"]).stdout;
        rests_held(&house, agent, task.trim());
        let listed = house.json(&["agent", "list"]);
        let entry = listed.as_array().unwrap().iter().find(|entry| entry["name"] == agent).unwrap();
        let until_s = entry["held_until_ms"].as_u64().unwrap() / 1_000;
        // Some say the minute alone.
        let window = begun_s + 7_200 - 60..=now_s() + 7_200;
        assert!(window.contains(&until_s), "{agent}: {until_s} is not in {window:?}");
        assert_eq!(house.run(&["down"]).code, 0);
    }
}

fn rests_held(house: &House, agent: &str, task: &str) {
    until(&format!("the hold of {agent}"), || !held(house).is_empty());
    let [(name, reason)] = &held(house)[..] else { panic!("{agent} alone is held: {:?}", held(house)) };
    assert!(name == agent && reason.contains("the provider refused the request"), "{name} {reason}");
    // The hold is written down before the step is given back.
    let step = || house.json(&["task", "show", task])["steps"][0].clone();
    until("the step's rest", || step()["status"] == "PENDING");
    assert_eq!(step()["attempt"], 0, "{agent}: it costs no attempt");
}

/// A usage limit of Codex's provider that ends at this time, in seconds since 1970.
fn usage_limit(resets_at: u64) -> Turn {
    let error =
        json!({ "type": "usage_limit_reached", "message": "The usage limit has been reached", "resets_at": resets_at });
    Turn::Status { code: 429, headers: Vec::new(), body: json!({ "error": error }) }
}

fn now_s() -> u64 {
    std::time::SystemTime::now().duration_since(std::time::UNIX_EPOCH).unwrap().as_secs()
}

/// Every agent that is held: its name, and why.
fn held(house: &House) -> Vec<(String, String)> {
    let text = |value: &Value| value.as_str().unwrap_or_default().to_owned();
    let listed = house.json(&["agent", "list"]);
    let agents = listed.as_array().unwrap().iter().filter(|agent| agent["held_until"].is_string());
    agents.map(|agent| (text(&agent["name"]), text(&agent["held_because"]))).collect()
}

#[test]
fn a_closed_window_holds_the_agent_and_costs_no_attempt() {
    let Some(tools) = tools("codex") else { return };
    let model = FakeModel::with_tools(vec![usage_limit(now_s() + 7_200)]).unwrap();
    let house = house(&model, &tools);
    let task = house.run(&["submit", "--agent", "codex", "--input", "\"Hello\"", "--max-attempts", "1"]).stdout;
    until("the hold", || !held(&house).is_empty());
    let [(name, reason)] = &held(&house)[..] else { panic!("only Codex is held") };
    assert!(name == "codex" && reason.contains("usage limit"), "{name} {reason}");
    // The hold is written down before the step is given back.
    let step = || house.json(&["task", "show", task.trim()])["steps"][0].clone();
    until("the step's rest", || step()["status"] == "PENDING");
    assert_eq!(step()["attempt"], 0);
    // A restart remembers it, and does not ask.
    assert_eq!(house.run(&["down"]).code, 0);
    assert_eq!(house.run(&["up", "--detach"]).code, 0);
    assert_eq!((held(&house).len(), model.asked().len()), (1, 1));
    assert_eq!(house.run(&["down"]).code, 0);
}

#[test]
fn when_the_window_opens_the_work_goes_on_by_itself() {
    let Some(tools) = tools("codex") else { return };
    let model = FakeModel::with_tools(vec![usage_limit(now_s()), Turn::Say("Back again.".to_owned())]).unwrap();
    let house = house(&model, &tools);
    let said = house.run(&["submit", "--agent", "codex", "--input", "\"Hello\"", "--max-attempts", "1", "--wait"]);
    assert_eq!((said.stdout.trim(), said.code), ("\"Back again.\"", 0), "{}", said.stderr);
    assert_eq!((held(&house).len(), model.asked().len()), (0, 2));
    assert_eq!(house.run(&["down"]).code, 0);
}

/// The daemon dies while the agent waits for its model; the next one goes on with the same conversation, and nobody of the first life is left.
#[test]
fn after_a_kill_the_conversation_goes_on() {
    for agent in ["codex", "claude", "gemini", "opencode"] {
        let Some(tools) = tools(agent) else { return };
        let script = vec![
            command(agent, "echo first > made.txt"),
            Turn::Hang("I am".to_owned()),
            Turn::Say("Done at last.".to_owned()),
        ];
        let model = FakeModel::with_tools(script).unwrap();
        let house = house(&model, &tools);
        let task =
            house.run(&["submit", "--agent", agent, "--input", "\"Remember the parrot\""]).stdout.trim().to_owned();
        until("the second request", || model.asked().len() == 2);
        house.kill();
        let said = house.run(&["task", "wait", &task]);
        assert_eq!((said.stdout.trim(), said.code), ("\"Done at last.\"", 0), "{agent}: {}", said.stderr);
        let last = model.asked().pop().unwrap().body.to_string();
        assert!(last.contains("Remember the parrot") && last.contains("This was interrupted"), "{agent}: {last}");
        assert_eq!(house.run(&["down"]).code, 0);
    }
}

/// It ends with 0 whatever happened, so its words decide.
#[test]
fn aider_edits_and_its_errors_are_failures() {
    let Some(tools) = tools("aider") else { return };
    let broken = json!({ "error": { "message": "broken on purpose", "type": "invalid_request_error" } });
    let edit = "made.txt\n```\nfrom the model\n```\n".to_owned();
    let model = FakeModel::start(vec![Turn::Say(edit), Turn::Say("made a file".to_owned())]).unwrap();
    let house = house(&model, &tools);
    let said =
        house.run(&["submit", "--agent", "aider", "--input", "\"Make the file\"", "--max-attempts", "1", "--wait"]);
    assert_eq!(said.code, 0, "{}", said.stderr);
    assert!(!said.stdout.contains("git") && !said.stdout.contains("attempts"), "about itself: {}", said.stdout);
    let task = house.json(&["task", "list"])["task"].as_str().unwrap().to_owned();
    let made = house.0.root().join("attempts").join(&task).join("aider.0/made.txt");
    assert_eq!(std::fs::read_to_string(made).unwrap(), "from the model\n");
    let logs = house.run(&["task", "logs", &task]).stdout;
    assert!(logs.contains("> edit: made.txt") && logs.contains("used 100 tokens in"), "{logs}");
    model.set_script(vec![Turn::Status { code: 400, headers: Vec::new(), body: broken }]);
    let said = house.run(&["submit", "--agent", "aider", "--input", "\"Again\"", "--max-attempts", "1", "--wait"]);
    assert!(said.code == 10 && said.stderr.contains("broken on purpose"), "{}{}", said.stdout, said.stderr);
    assert_eq!(house.run(&["down"]).code, 0);
}

#[test]
fn a_request_that_is_refused_is_a_failure_that_says_why() {
    let broken = json!({ "error": { "code": 400, "message": "broken on purpose", "status": "INVALID_ARGUMENT", "type": "invalid_request_error" } });
    for agent in ["codex", "claude", "gemini", "opencode"] {
        let Some(tools) = tools(agent) else { return };
        let refusal = Turn::Status { code: 400, headers: Vec::new(), body: broken.clone() };
        let model = FakeModel::with_tools(vec![refusal; 20]).unwrap();
        let house = house(&model, &tools);
        let said = house.run(&["submit", "--agent", agent, "--input", "\"Hello\"", "--max-attempts", "1", "--wait"]);
        assert!(
            said.code == 10 && said.stderr.contains("broken on purpose"),
            "{agent}: {}{}",
            said.stdout,
            said.stderr
        );
        assert_eq!(house.run(&["down"]).code, 0);
    }
}

/// The schema is told to the tools that know how, and the result is JSON that satisfies it.
#[test]
fn a_step_gets_its_result_in_the_form_that_it_asks_for() {
    let properties = json!({ "kind": { "type": "string", "enum": ["bug", "wish"] } });
    let schema =
        json!({ "type": "object", "required": ["kind"], "properties": properties, "additionalProperties": false });
    for agent in ["codex", "claude", "gemini"] {
        let Some(tools) = tools(agent) else { return };
        let answer = json!({ "kind": "bug" });
        let script = match agent {
            // It is given a tool for it, and must use it.
            "claude" => vec![
                Turn::Call { name: "StructuredOutput".to_owned(), arguments: answer.clone() },
                Turn::Say("Done.".to_owned()),
            ],
            _ => vec![Turn::Say(answer.to_string())],
        };
        let model = FakeModel::with_tools(script).unwrap();
        let house = house(&model, &tools);
        let step = json!({ "id": "triage", "agent": agent, "input": "Triage it", "result_schema": schema, "retry": { "max_attempts": 1 } });
        house.0.file("flow.json", &json!({ "name": "n", "steps": [step] }).to_string());
        let said = house.run(&["run", "flow.json", "--json"]);
        assert_eq!(said.code, 0, "{agent}: {}{}", said.stdout, said.stderr);
        let task = house.json(&["task", "list"])["task"].as_str().unwrap().to_owned();
        assert_eq!(house.json(&["task", "show", &task])["result"], answer, "{agent}");
        let asked = model.asked()[0].body.to_string();
        assert!(asked.contains("wish"), "{agent} was not told: {asked}");
        assert_eq!(house.run(&["down"]).code, 0);
    }
}
