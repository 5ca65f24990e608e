//! What strangers cut themselves on: the first agent, the first flow, and looking at what they did.

use crate::common::{Mesh, house::House};
use serde_json::{Value, json};
use std::io::BufRead as _;

#[test]
fn agent_add_makes_the_root_and_agent_test_says_that_there_is_none() {
    let mesh = Mesh::new();
    let said = mesh.run(&["agent", "test", "codex", "--json"]);
    assert_eq!((said.code, &said.error()["code"]), (3, &json!("no_root")), "{}", said.stderr);
    let added = mesh.run(&["agent", "add", "upper", "--command", "tr", "a-z", "A-Z"]);
    assert_eq!(added.code, 0, "{}", added.stderr);
    assert!(added.stderr.contains("created a new root"), "{}", added.stderr);
    let tested = mesh.run(&["agent", "test", "upper", "--input", "\"hello\""]);
    assert!(tested.code == 0 && tested.stdout.contains("HELLO"), "{}{}", tested.stdout, tested.stderr);
}

#[test]
fn an_inbox_agent_is_added_like_any_other() {
    let mesh = Mesh::new();
    let added = mesh.run(&["agent", "add", "reviews", "--inbox", "--about", "a program elsewhere"]);
    assert!(
        added.code == 0 && added.stdout.contains("relaymesh agent token create"),
        "{}{}",
        added.stdout,
        added.stderr
    );
    let agents: Value = mesh.run(&["agent", "list", "--json"]).json();
    let kind = agents.as_array().unwrap().iter().find(|agent| agent["name"] == "reviews").map(|agent| &agent["kind"]);
    assert_eq!(kind, Some(&json!("inbox")));
    for also in [&["--tool", "codex"][..], &["--url", "http://127.0.0.1:1/"], &["--command", "cat"]] {
        assert_eq!(mesh.run(&[&["agent", "add", "two", "--inbox"], also].concat()).code, 2, "{also:?}");
    }
}

#[test]
fn agent_test_shows_what_the_agent_writes_and_ctrl_c_cancels_its_task() {
    let house = House::new();
    let script = "echo Reconnecting 1/5 >&2; exec tail -f /dev/null";
    assert_eq!(house.run(&["agent", "add", "stuck", "--command", "sh", "-c", script]).code, 0);
    let mut test = house.start(&["agent", "test", "stuck"]);
    let mut heard = String::new();
    while !heard.contains(".1 | Reconnecting 1/5") {
        assert_ne!(test.stderr.read_line(&mut heard).unwrap(), 0, "it ended: {heard}");
    }
    let task = house.json(&["task", "list"])["task"].as_str().unwrap().to_owned();
    let running = house.json(&["task", "show", &task]);
    assert_eq!(running["steps"][0]["ran"]["stderr_bytes"], "Reconnecting 1/5\n".len(), "while it runs");
    test.signal("INT");
    assert_eq!(test.end(), 130);
    assert_eq!(house.json(&["task", "show", &task])["status"], "CANCELLED");
}

#[test]
fn the_examples_of_the_program_are_written_and_run() {
    let mesh = Mesh::new();
    let missing = mesh.run(&["run", "nothing.yaml"]);
    assert!(missing.stderr.contains("`relaymesh flow new` writes a flow"), "{}", missing.stderr);
    let written = mesh.run(&["flow", "new"]);
    assert_eq!((written.code, written.stdout.as_str()), (0, "hello.yaml\n"), "{}", written.stderr);
    assert!(written.stderr.contains("relaymesh run hello.yaml"), "{}", written.stderr);
    let again = mesh.run(&["flow", "new"]);
    assert!(again.code == 4 && again.stderr.contains("already exists"), "{}", again.stderr);
    let unknown = mesh.run(&["flow", "new", "helo"]);
    assert!(unknown.code == 2 && unknown.stderr.contains("did you mean `hello`?"), "{}", unknown.stderr);
    let listed = mesh.run(&["flow", "new", "--list", "--json"]).json();
    let names: Vec<&str> = listed.as_array().unwrap().iter().map(|flow| flow["name"].as_str().unwrap()).collect();
    for (name, code) in [("retry", 0), ("compensate", 10), ("foreach", 0), ("approval", 12)] {
        assert!(names.contains(&name), "{names:?}");
        assert_eq!(mesh.run(&["flow", "new", name, "--out", "flow.yaml"]).code, 0);
        let ran = mesh.run(&["run", "flow.yaml"]);
        assert_eq!(ran.code, code, "{name}: {}", ran.stderr);
        std::fs::remove_file(mesh.folder.path().join("flow.yaml")).unwrap();
    }
    assert!(mesh.run(&["flow", "new", "hello", "--print"]).stdout.contains("name: hello"));
}

#[test]
fn items_stand_below_their_step_which_took_as_long_as_they_did() {
    let mesh = Mesh::new();
    let flow = "name: f\nsteps:\n  - {id: each, agent: sleep, foreach: [120, 120], input: {ms: '${{ item }}'}}\n  \
                - {id: last, agent: echo, depends_on: [each], input: 1}\n";
    assert_eq!(mesh.run(&["run", mesh.file("flow.yaml", flow)]).code, 0);
    let id = mesh.run(&["task", "list", "--json"]).json()["task"].as_str().unwrap().to_owned();
    let shown = mesh.run(&["task", "show", &id]).stdout;
    let table = shown.split_once("\n\n").unwrap().1;
    let order: Vec<&str> = table.lines().skip(1).filter_map(|line| line.split_whitespace().next()).collect();
    assert_eq!(order, ["each", "each.0", "each.1", "last"]);
    assert!(mesh.show(&id)["steps"][0]["took_ms"].as_u64().unwrap() >= 120, "{shown}");
    assert_eq!(mesh.run(&["task", "list", "--json"]).json()["steps_done"], 4);
}

#[test]
fn the_result_of_a_task_or_a_step_is_printed_whole() {
    let mesh = Mesh::new();
    let long = "long ".repeat(40);
    let flow = json!({ "name": "f", "steps": [
        { "id": "a", "agent": "echo", "input": long },
        { "id": "b", "agent": "hash", "depends_on": ["a"] },
        { "id": "c", "agent": "fail", "depends_on": ["b"], "input": { "message": long, "retryable": false } },
    ]});
    assert_eq!(mesh.run(&["run", mesh.file("flow.json", &flow.to_string())]).code, 10);
    let id = mesh.run(&["task", "list", "--json"]).json()["task"].as_str().unwrap().to_owned();
    assert_eq!(mesh.run(&["task", "result", &id, "a"]).json(), json!(long));
    assert_eq!(mesh.run(&["task", "result", &id, "1"]).json()["bytes"], long.len() + 8);
    let failed = mesh.run(&["task", "result", &id, "c"]);
    assert!(failed.code == 4 && failed.stderr.contains(long.trim_end()), "{}", failed.stderr);
    let whole = mesh.run(&["task", "result", &id]);
    assert!(whole.code == 4 && whole.stderr.contains("it is FAILED"), "{}", whole.stderr);
    let shown = mesh.run(&["task", "show", &id]);
    assert!(shown.stdout.contains('…') && shown.stderr.contains(&format!("`relaymesh task result {id} STEP`")));
    let done = mesh.submit(&["--agent", "echo", "--input", "[1]", "--wait"]);
    assert_eq!(done, "[1]");
    let newest = mesh.run(&["task", "list", "--json", "--limit", "1"]).json()["task"].as_str().unwrap().to_owned();
    assert_eq!(mesh.run(&["task", "result", &newest]).json(), json!([1]));
}

#[test]
fn a_refused_write_names_the_path_and_writable() {
    use relaymesh_agents::confine::{Level, machine};
    if machine().level == Level::None {
        assert!(std::env::var_os("CI").is_none_or(|value| value != "true"), "agents are not confined");
        eprintln!("SKIPPED: agents are not confined here");
        return;
    }
    let mesh = Mesh::new();
    let outside = mesh.folder.path().canonicalize().unwrap().join("outside");
    std::fs::create_dir(&outside).unwrap();
    let file = outside.join("out.txt").display().to_string();
    let script = format!("echo x > {file}");
    assert_eq!(mesh.run(&["agent", "add", "writer", "--max-attempts", "1", "--command", "sh", "-c", &script]).code, 0);
    let said = mesh.run(&["submit", "--agent", "writer", "--wait"]);
    assert_ne!(said.code, 0);
    assert!(said.stderr.contains("`writable` in agents.toml") && said.stderr.contains(&file), "{}", said.stderr);
    let agents = mesh.root().join("agents.toml");
    let text = std::fs::read_to_string(&agents).unwrap();
    std::fs::write(&agents, format!("{text}writable = [\"../outside\"]\n")).unwrap();
    let said = mesh.run(&["submit", "--agent", "writer", "--wait", "--new"]);
    assert_eq!(said.code, 0, "{}", said.stderr);
    assert_eq!(std::fs::read_to_string(&file).unwrap(), "x\n");
}

#[test]
fn the_model_of_codex_is_the_one_of_its_configuration() {
    let mesh = Mesh::new();
    let home = mesh.folder.path().canonicalize().unwrap().join("codex");
    std::fs::create_dir(&home).unwrap();
    std::fs::write(home.join("config.toml"), "model = \"gpt-of-the-config\"\n").unwrap();
    assert_eq!(mesh.run(&["init"]).code, 0);
    let script = "cat > /dev/null\n\
        echo '{\"type\":\"thread.started\",\"thread_id\":\"t\"}'\n\
        echo '{\"type\":\"item.completed\",\"item\":{\"id\":\"i\",\"type\":\"agent_message\",\"text\":\"pong\"}}'\n\
        echo '{\"type\":\"turn.completed\",\"usage\":{\"input_tokens\":1,\"cached_input_tokens\":0,\"output_tokens\":1}}'\n";
    std::fs::write(mesh.root().join("codex.sh"), script).unwrap();
    let set = format!("CODEX_HOME={}", home.display());
    let added = mesh.run(&["agent", "add", "codex", "--tool", "codex", "--set", &set, "--command", "sh", "codex.sh"]);
    assert_eq!(added.code, 0, "{}", added.stderr);
    assert_eq!(mesh.run(&["agent", "test", "codex"]).code, 0);
    let id = mesh.run(&["task", "list", "--json"]).json()["task"].as_str().unwrap().to_owned();
    let found = mesh.run(&["audit", "inference", &id, "--json"]).json();
    assert_eq!(found["snapshot"]["model"], "gpt-of-the-config", "{found}");
}

#[test]
fn a_watch_without_a_terminal_says_that_it_still_waits_and_how_to_approve() {
    let house = House::new();
    let flow = "name: release\nsteps:\n  - {id: deploy, agent: echo, input: 1, approve: Deploy?}\n";
    let mut run = house.start(&["run", house.0.file("flow.yaml", flow), "--watch"]);
    let mut heard = String::new();
    while !heard.contains("still waiting; Ctrl-C stops waiting, not the task") {
        assert_ne!(run.stderr.read_line(&mut heard).unwrap(), 0, "it ended: {heard}");
    }
    let task = house.json(&["task", "list"])["task"].as_str().unwrap().to_owned();
    assert!(heard.contains(&format!("`relaymesh approve {task} deploy`")), "{heard}");
    assert_eq!(house.run(&["approve", &task, "--yes"]).code, 0);
    assert_eq!(run.end(), 0);
}

#[test]
fn a_wait_for_an_ended_task_says_how_long_the_task_took() {
    let mesh = Mesh::new();
    let id = mesh.submit(&["--agent", "sleep", "--input", "{\"ms\": 120}"]);
    assert_eq!(mesh.run(&["task", "wait", &id]).code, 0);
    let again = mesh.run(&["task", "wait", &id]);
    let took = again.stderr.trim_end().rsplit_once(" in ").unwrap().1;
    let ms = took.strip_suffix(" ms").map(|ms| ms.parse::<u64>().unwrap());
    assert!(ms.is_none_or(|ms| ms >= 120), "{}", again.stderr);
}
