//! Settings: four places, one table, changed while the daemon runs (R18).

#![allow(clippy::unwrap_used, reason = "a test that cannot go on should stop")]

use crate::common::{Mesh, Said, found, house::House};
use serde_json::{Value, json};

fn write(house: &House, text: &str) {
    std::fs::create_dir_all(house.0.root()).unwrap();
    // Whole at once, as an editor does it: the daemon may look at any moment.
    let new = house.0.root().join("settings.new");
    std::fs::write(&new, text).unwrap();
    std::fs::rename(new, house.0.root().join("relaymesh-settings.json")).unwrap();
}

/// The row of `settings show --json`.
fn setting(rows: &Value, name: &str) -> Value {
    rows.as_array().unwrap().iter().find(|row| row["name"] == name).unwrap().clone()
}

fn log(house: &House) -> String {
    std::fs::read_to_string(house.0.root().join("daemon.log")).unwrap()
}

#[test]
fn a_setting_comes_from_the_last_place_that_has_it_and_the_others_say_they_do_nothing_yet() {
    let house = House::new();
    write(&house, r#"{"queue_capacity": 11, "max_attempts": 12, "thread_pool_max": 13}"#);
    let mut up = house.command(&["up", "--detach", "--set", "thread_pool_max=33", "--set", "llm_parallel_limit=3"]);
    up.env("RELAYMESH_MAX_ATTEMPTS", "22").env("RELAYMESH_THREAD_POOL_MAX", "23");
    let up = Said::of(up.output().unwrap());
    assert_eq!(up.code, 0, "{}", up.stderr);
    let rows = house.json(&["settings", "show"]);
    let shown = |name: &str| {
        let row = setting(&rows, name);
        (row["value"].as_u64().unwrap(), row["source"].as_str().unwrap().to_owned())
    };
    assert_eq!(shown("lease_timeout_ms"), (15_000, "default".to_owned()));
    assert_eq!(shown("queue_capacity"), (11, "file".to_owned()));
    assert_eq!(shown("max_attempts"), (22, "environment".to_owned()));
    assert_eq!(shown("thread_pool_max"), (33, "flag".to_owned()));
    assert_eq!(shown("llm_parallel_limit"), (3, "flag".to_owned()));
    assert_eq!(setting(&rows, "gossip_sync_sample_size")["effect"], "no effect yet: for several nodes");
    let text = house.run(&["settings", "show"]).stdout;
    assert!(text.lines().any(|line| line.starts_with("mesh_prune_limit") && line.contains("no effect yet")), "{text}");
}

#[test]
fn the_daemon_takes_up_a_changed_file_by_itself() {
    let house = House::new();
    let task = house.json(&["submit", "--agent", "echo", "--input", "1"])["task"].as_str().unwrap().to_owned();
    house.run(&["task", "wait", &task]);
    write(
        &house,
        r#"{"lease_timeout_ms": 123457, "queue_capacity": 7, "done_retention_days": 0, "idempotency_ttl_days": 0}"#,
    );
    found("the lease is another", || {
        (setting(&house.json(&["settings", "show"]), "lease_timeout_ms")["value"] == 123_457).then_some(())
    });
    // What is over is forgotten at once, because nothing is kept any more.
    found("the task is swept", || house.run(&["task", "list", "--json"]).stdout.is_empty().then_some(()));
    let next = house.json(&["submit", "--agent", "echo", "--input", "2"])["task"].as_str().unwrap().to_owned();
    let claim = found("its claim is on the log", || {
        let shown = house.run(&["log", "show", "--json"]).stdout;
        shown.lines().find(|line| line.contains(&next) && line.contains("ClaimWork")).map(str::to_owned)
    });
    assert!(claim.contains("123457"), "{claim}");
}

#[test]
fn a_bad_file_changes_nothing_and_is_said_loudly_until_it_is_mended() {
    let house = House::new();
    write(&house, r#"{"queue_capacity": 50}"#);
    house.run(&["up", "--detach"]);
    write(&house, "{\n  \"queue_capacity\": 60,\n  \"lease_timout_ms\": 20000\n}\n");
    let refused = house.run(&["reload-settings"]);
    assert_eq!(refused.code, 2, "{}", refused.stderr);
    for words in ["bad_settings", "there is no setting `lease_timout_ms`", ":3:3", "did you mean `lease_timeout_ms`?"] {
        assert!(refused.stderr.contains(words), "{words}: {}", refused.stderr);
    }
    assert_eq!(setting(&house.json(&["settings", "show"]), "queue_capacity")["value"], 50, "never half of it");
    let status = house.json(&["status"]);
    assert!(status["settings_problem"].as_str().unwrap().contains("lease_timout_ms"), "{status}");
    assert!(house.run(&["status"]).stdout.contains("REFUSED"));
    house.0.until("it is in the log", |_| log(&house).contains("error reload_refused"));
    // Work goes on meanwhile.
    assert_eq!(house.run(&["submit", "--agent", "echo", "--input", "1", "--wait"]).code, 0);
    write(&house, r#"{"queue_capacity": 60}"#);
    let taken = house.run(&["reload-settings", "--json"]);
    assert_eq!(taken.code, 0, "{}", taken.stderr);
    assert_eq!(house.json(&["status"])["settings_problem"], Value::Null);
    assert_eq!(setting(&house.json(&["settings", "show"]), "queue_capacity")["value"], 60);
}

#[test]
fn a_daemon_does_not_start_with_settings_that_are_wrong() {
    let house = House::new();
    write(&house, r#"{"queue_capacity": 0}"#);
    let up = house.run(&["up", "--detach"]);
    assert_eq!(up.code, 2, "{}", up.stderr);
    assert!(up.stderr.contains("it must be an integer from 1 to 100000"), "{}", up.stderr);
    write(&house, "{}");
    let flag = house.run(&["up", "--set", "queue_capacty=5"]);
    assert!(flag.code == 2 && flag.stderr.contains("did you mean `queue_capacity`?"), "{}", flag.stderr);
    let mut bad = house.command(&["up"]);
    let bad = Said::of(bad.env("RELAYMESH_QUEUE_CAPACITY", "many").output().unwrap());
    assert!(
        bad.code == 2 && bad.stderr.contains("RELAYMESH_QUEUE_CAPACITY: must be an integer from 1 to 100000"),
        "{}",
        bad.stderr
    );
}

/// A node that was meant to be one of several, and is alone, says so before it takes work.
#[test]
fn v11_who_asks_for_a_mesh_is_told_that_there_is_none() {
    let house = House::new();
    let up = |name: &str, value: &str| Said::of(house.command(&["up", "--detach"]).env(name, value).output().unwrap());
    for (name, value) in
        [("RELAYMESH_MESH_ENABLED", "1"), ("RELAYMESH_MESH_ENABLED", "true"), ("RELAYMESH_DB_URL", "libsql://x")]
    {
        let said = up(name, value);
        assert!(said.code == 2 && said.stderr.contains(&format!("{name} is set")), "{}", said.stderr);
        assert!(house.pid().is_none());
    }
    let page = include_str!("../../../docs/reference/settings.md");
    let all = [
        "MESH_ENABLED",
        "MESH_NODE_ID",
        "MESH_CONTROL_ADDR",
        "MESH_SCOPE_ID",
        "DB_URL",
        "DB_TOKEN",
        "DB_PATH",
        "DB_CIRCUIT_BREAKER",
        "MESH_TOKEN",
    ];
    assert!(all.iter().all(|name| page.contains(&format!("| `RELAYMESH_{name}` | "))));
    assert_eq!(up("RELAYMESH_MESH_ENABLED", "false").code, 0);
}

#[test]
fn the_history_has_names_and_never_values() {
    let house = House::new();
    write(&house, r#"{"lease_timeout_ms": 987654}"#);
    house.run(&["up", "--detach"]);
    write(&house, r#"{"lease_timeout_ms": 987655, "queue_capacity": 4321}"#);
    // Whoever is first, the watch or the command, writes it down; only one of them does.
    assert_eq!(house.run(&["settings", "reload"]).code, 0);
    assert_eq!(house.run(&["reload-settings"]).stdout, "nothing changed\n");
    let entries = house.json(&["settings-history", "--limit", "10"]);
    let fields: Vec<&Value> = entries.as_array().unwrap().iter().map(|entry| &entry["changed_fields"]).collect();
    assert_eq!(fields, [&json!(["lease_timeout_ms", "queue_capacity"]), &json!(["lease_timeout_ms"])]);
    assert_eq!(entries[1]["source"], "start");
    assert_eq!(house.json(&["settings", "history", "--limit", "1"]).as_array().unwrap().len(), 1);
    house.0.until("both are in the log", |_| log(&house).matches("lease_timeout_ms").count() >= 2);
    let everything = [
        house.run(&["settings-history"]).stdout,
        std::fs::read_to_string(house.0.root().join("settings-history.jsonl")).unwrap(),
        log(&house),
    ];
    for text in everything {
        assert!(text.contains("lease_timeout_ms"), "{text}");
        assert!(!text.contains("98765") && !text.contains("4321"), "{text}");
    }
}

#[test]
fn a_step_that_says_nothing_about_retries_is_tried_as_the_settings_say_and_stays_the_same_request() {
    let mesh = Mesh::new();
    let submit = |attempts: &str, more: &[&str]| {
        let arguments = [&["submit", "--agent", "echo", "--input", "1", "--json"], more].concat();
        let mut command = mesh.command(&arguments);
        let said = Said::of(command.env("RELAYMESH_MAX_ATTEMPTS", attempts).output().unwrap());
        assert_eq!(said.code, 0, "{}", said.stderr);
        said.json()
    };
    let attempts = |answer: &Value| mesh.show(answer["task"].as_str().unwrap())["steps"][0]["max_attempts"].clone();
    let first = submit("7", &[]);
    assert_eq!(attempts(&first), 7);
    let again = submit("9", &[]);
    assert_eq!(
        (&again["task"], &again["merged"]),
        (&first["task"], &json!(true)),
        "the setting is no part of the request"
    );
    let own = submit("9", &["--max-attempts", "2"]);
    assert_eq!((attempts(&own), &own["merged"]), (json!(2), &json!(false)));
}

#[test]
fn a_payload_is_no_longer_than_the_settings_say() {
    let mesh = Mesh::new();
    let input = format!("\"{}\"", "x".repeat(2_000));
    let mut command = mesh.command(&["submit", "--agent", "echo", "--input", &input]);
    let said = Said::of(command.env("RELAYMESH_PAYLOAD_MAX_BYTES", "1024").output().unwrap());
    assert!(said.code == 4 && said.stderr.contains("2002 bytes; the maximum is 1024"), "{}", said.stderr);
    assert_eq!(mesh.run(&["submit", "--agent", "echo", "--input", &input]).code, 0);
}

#[test]
fn r20_agents_that_use_a_language_model_share_its_places() {
    let house = House::new();
    write(&house, r#"{"llm_parallel_limit": 1}"#);
    let script = "#!/bin/sh\ncd \"$RELAYMESH_ROOT/on\"\ntouch $RELAYMESH_AGENT\nls | grep -c .\nread x\nsleep 0.05\nrm $RELAYMESH_AGENT\n";
    std::fs::create_dir(house.0.root().join("on")).unwrap();
    std::fs::write(house.0.root().join("llm.sh"), script).unwrap();
    let common = "command = [\"sh\", \"llm.sh\"]\nllm = true\nconcurrency = 1\nwritable = [\"on\"]\n";
    let agent = |name: &str| format!("[agents.{name}]\n{common}");
    std::fs::write(house.0.root().join("agents.toml"), agent("a") + &agent("b")).unwrap();
    let tasks: Vec<String> = (0..6)
        .map(|index| {
            let (agent, input) = (if index % 2 == 0 { "a" } else { "b" }, index.to_string());
            let said = house.json(&["submit", "--agent", agent, "--input", &input]);
            said["task"].as_str().unwrap().to_owned()
        })
        .collect();
    for task in tasks {
        let waited = house.run(&["task", "wait", &task]);
        assert_eq!((waited.code, waited.stdout.trim()), (0, "1"), "how many ran at once: {}", waited.stderr);
    }
}

#[test]
fn r18_longer_payloads_pass_once_the_setting_is_raised() {
    let house = House::new();
    std::fs::create_dir_all(house.0.root()).unwrap();
    let long = house.0.file("long.json", &format!("\"{}\"", "x".repeat(12 << 20)));
    let input = format!("@{long}");
    let submit = ["submit", "--agent", "echo", "--wait", "--json", "--input", &input];
    let refused = house.run(&submit);
    assert!(refused.code != 0 && refused.stderr.contains("10485760"), "{}", refused.stderr);
    std::fs::write(house.0.root().join("relaymesh-settings.json"), r#"{"payload_max_bytes": 16777216}"#).unwrap();
    assert_eq!(house.run(&["reload-settings"]).code, 0);
    let passed = house.run(&submit);
    assert_eq!(passed.code, 0, "{}", passed.stderr);
}
