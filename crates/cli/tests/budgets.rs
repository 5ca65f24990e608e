//! What agents use, what they may use, and what is kept of what their models said.

#![allow(clippy::unwrap_used, reason = "a test that cannot go on should stop")]

use crate::common::{Said, found, house::House};
use serde_json::{Value, json};

/// Says what Codex says of a turn of 100 tokens. With a file `wait` beside the root it goes on after that.
const CODER: &str = r#"cat >/dev/null
echo '{"type":"thread.started","thread_id":"t-1"}'
echo '{"type":"item.completed","item":{"type":"agent_message","text":"it is 4"}}'
echo '{"type":"turn.completed","usage":{"input_tokens":80,"output_tokens":20}}'
while [ -e "$RELAYMESH_ROOT/wait" ]; do sleep 0.02; done
"#;

fn house(toml: &str) -> House {
    let house = House::new();
    std::fs::create_dir_all(house.0.root()).unwrap();
    std::fs::write(house.0.root().join("coder.sh"), CODER).unwrap();
    let coder = "[agents.coder]\ntool = \"codex\"\ncommand = [\"sh\", \"coder.sh\"]\nmodel = \"m-1\"\n";
    std::fs::write(house.0.root().join("agents.toml"), format!("{coder}{toml}")).unwrap();
    house
}

fn ask(house: &House, prompt: &str) -> Said {
    let prompt = json!(prompt).to_string();
    house.run(&["submit", "--agent", "coder", "--input", &prompt, "--wait", "--max-attempts", "1"])
}

fn used(house: &House, by: &str) -> Vec<Value> {
    let said = house.run(&["usage", "--by", by, "--json"]);
    said.stdout.lines().map(|line| serde_json::from_str(line).unwrap()).collect()
}

#[test]
fn a_task_is_stopped_when_it_has_used_what_it_may_and_says_so() {
    let house = house("[budgets]\ntask = { tokens = 150 }\n");
    let step = |id: &str, after: &str| json!({ "id": id, "agent": "coder", "input": "2+2?", "depends_on": after });
    let mut flow = json!({ "name": "f", "steps": [step("a", ""), step("b", "")] });
    flow["steps"][0]["depends_on"] = json!([]);
    flow["steps"][1]["depends_on"] = json!(["a"]);
    let said = house.run(&["run", house.0.file("f.json", &flow.to_string()), "--json"]);
    assert_ne!(said.code, 0);
    let task: Value = serde_json::from_str(said.stdout.lines().last().unwrap()).unwrap();
    let shown = house.json(&["task", "show", task["task"].as_str().unwrap()]);
    assert_eq!((&shown["steps"][0]["status"], &shown["steps"][1]["status"]), (&json!("SUCCESS"), &json!("FAILED")));
    let error = shown["steps"][1]["error"].as_str().unwrap_or_else(|| panic!("{shown}"));
    assert_eq!(error, "over budget: the budget of the task: 200 of 150 tokens are used");
    // What it used is counted all the same, and nothing more is dispatched for it.
    let of_task = used(&house, "task");
    assert_eq!((of_task[0]["tokens"].as_u64(), of_task[0]["turns"].as_u64()), (Some(200), Some(2)));
    assert_eq!(ask(&house, "3+3?").code, 0, "another task has a budget of its own");
}

#[test]
fn an_agent_that_has_used_its_day_is_held_and_its_steps_wait() {
    let other = "[agents.other]\ntool = \"codex\"\ncommand = [\"sh\", \"coder.sh\"]\n";
    let house = house(&format!("budget = {{ day = {{ turns = 1 }} }}\n{other}"));
    assert_eq!(ask(&house, "one").code, 0);
    let second = house.json(&["submit", "--agent", "coder", "--input", "\"two\""]);
    let task = second["task"].as_str().unwrap();
    let agent = found("it", || {
        let agents = house.json(&["agent", "list"]);
        let coder = agents.as_array().unwrap().iter().find(|agent| agent["name"] == "coder").cloned().unwrap();
        coder["held_because"].is_string().then_some(coder)
    });
    let why = "over budget: the budget of agent `coder` for the day: 1 of 1 turns are used";
    assert_eq!(agent["held_because"], why);
    assert!(agent["held_until"].as_str().unwrap().ends_with("T00:00:00.000Z"), "{agent}");
    let shown = found("it", || {
        let shown = house.json(&["task", "show", task]);
        (shown["steps"][0]["status"] == "PENDING" && !shown["steps"][0]["error"].is_null()).then_some(shown)
    });
    assert_eq!(shown["steps"][0]["attempt"], 0, "no attempt was spent: {shown}");
    assert!(house.run(&["status"]).stdout.contains("agent coder until "));
    let said = house.run(&["submit", "--agent", "other", "--input", "1", "--wait"]);
    assert_eq!(said.code, 0, "it shares the provider, not the budget: {}", said.stderr);
    let by_agent = used(&house, "agent");
    assert_eq!((&by_agent[0]["name"], &by_agent[0]["budget"]["turns"]), (&json!("coder"), &json!(1)));
    // Whoever is given more goes on at once.
    let agents = house.0.root().join("agents.toml");
    let text = std::fs::read_to_string(&agents).unwrap().replace("turns = 1", "turns = 100");
    std::fs::write(&agents, text).unwrap();
    assert_eq!(house.run(&["task", "wait", task]).code, 0);
}

#[test]
fn what_was_reported_is_counted_even_if_the_daemon_is_killed() {
    let house = house("budget = { task = { tokens = 150 } }\n");
    std::fs::write(house.0.root().join("wait"), "").unwrap();
    let task = house.json(&["submit", "--agent", "coder", "--input", "1"])["task"].as_str().unwrap().to_owned();
    found("it", || (used(&house, "task").first()?["tokens"] == 100).then_some(()));
    house.kill();
    std::fs::remove_file(house.0.root().join("wait")).unwrap();
    let waited = house.run(&["task", "wait", &task]);
    assert_ne!(waited.code, 0);
    let shown = house.json(&["task", "show", &task]);
    let error = shown["steps"][0]["error"].as_str().unwrap_or_else(|| panic!("{shown}"));
    assert_eq!(error, "over budget: the budget of agent `coder` for the task: 200 of 150 tokens are used");
}

#[test]
fn every_attempt_that_asks_a_model_leaves_what_was_asked_and_said() {
    let house = house("");
    assert_eq!(ask(&house, "2+2?").code, 0);
    let task = house.json(&["task", "list"])["task"].as_str().unwrap().to_owned();
    let kept = house.json(&["audit", "inference", &task]);
    let snapshot = &kept["snapshot"];
    assert_eq!(
        (&snapshot["model"], &snapshot["prompt"], &snapshot["output"]),
        (&json!("m-1"), &json!("2+2?"), &json!("it is 4"))
    );
    assert_eq!((&kept["about"]["input_tokens"], &kept["about"]["output_tokens"]), (&json!(80), &json!(20)));
    assert_eq!(snapshot["source_job"]["task"], task.as_str());
    let table = house.run(&["audit", "inference", &task]).stdout;
    assert!(table.contains("coder.1") && table.contains("m-1") && table.contains("80"), "{table}");
    let full = house.run(&["audit", "inference", &task, "--full"]).stdout;
    assert!(full.contains("--- prompt\n2+2?\n--- output\nit is 4\n"), "{full}");
    assert_eq!(house.run(&["log", "verify"]).code, 0);
}

#[test]
fn an_agent_with_hashes_alone_leaves_no_words() {
    let house = house("audit = \"hashes\"\n");
    assert_eq!(ask(&house, "2+2?").code, 0);
    let task = house.json(&["task", "list"])["task"].as_str().unwrap().to_owned();
    let kept = house.json(&["audit", "inference", &task]);
    assert_eq!((&kept["snapshot"]["prompt"]["bytes"], &kept["snapshot"]["output"]["bytes"]), (&json!(4), &json!(7)));
    assert!(!kept.to_string().contains("2+2?") && !kept.to_string().contains("it is 4"));
}
