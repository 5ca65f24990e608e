//! `--json` everywhere: every line of stdout is JSON, and an error is one line of JSON on stderr.

use crate::common::{Mesh, Said};
use serde_json::Value;

fn is_json(said: &Said, arguments: &[&str]) {
    let parses = |line: &str| serde_json::from_str::<Value>(line).is_ok();
    for line in said.stdout.lines() {
        assert!(parses(line), "{arguments:?} printed a line that is no JSON: {line}");
    }
    if ![0, 10, 11, 12].contains(&said.code) {
        assert!(said.error()["code"].is_string(), "{arguments:?}: {}", said.stderr);
    }
}

/// A root with something of everything in it.
fn mesh() -> Mesh {
    let mesh = Mesh::new();
    mesh.submit(&["--agent", "echo", "--input", "1", "--wait"]);
    assert_eq!(mesh.run(&["submit", "--agent", "fail", "--input", "{\"retryable\":false}", "--wait"]).code, 10);
    let asks = "name: release\nsteps:\n  - {id: deploy, agent: echo, approve: Deploy?}\n";
    assert_eq!(mesh.run(&["run", mesh.file("asks.yaml", asks)]).code, 12);
    assert_eq!(mesh.run(&["message", "send", "--to", "ben", "--input", "1"]).code, 0);
    assert_eq!(mesh.run(&["lock", "acquire", "a", "--ttl-ms", "600000"]).code, 0);
    mesh
}

/// Without arguments most of them do something, and the others say what is missing.
#[test]
fn every_command_speaks_json() {
    let mesh = mesh();
    let commands = mesh.run(&["reference", "--commands"]).stdout;
    // These go on until they are stopped, or measure for minutes.
    let goes_on = |path: &str| path == "up" || path == "demo";
    for path in commands.lines().filter_map(|line| line.strip_prefix("relaymesh ")).filter(|path| !goes_on(path)) {
        let arguments: Vec<&str> = path.split(' ').chain(["--json"]).collect();
        is_json(&mesh.run(&arguments), &arguments);
    }
}

#[test]
fn so_do_commands_with_arguments() {
    let mesh = mesh();
    let tasks = mesh.run(&["task", "list", "--json"]).lines();
    let id = |name: &str| {
        let task = tasks.iter().find(|task| task["name"] == name);
        task.and_then(|task| task["task"].as_str()).unwrap_or_default()
    };
    let (done, dead, asks) = (id("echo"), id("fail"), id("release"));
    let commands: [&[&str]; 24] = [
        &["completions", "bash"],
        &["dead", "export", "--all"],
        &["dead", "show", dead],
        &["dead", "redrive", "--all"],
        &["explain", "--list"],
        &["explain", "RM0001"],
        &["explain", "nonsense"],
        &["flow", "check", "asks.yaml"],
        &["flow", "graph", "asks.yaml"],
        &["flow", "graph", "asks.yaml", "--format", "svg"],
        &["man", "--out", "pages"],
        &["message", "take", "--agent", "ben"],
        &["run", "asks.yaml", "--watch"],
        &["task", "export", done],
        &["task", "logs", done, "--follow"],
        &["task", "show", done, "--history"],
        &["task", "wait", done],
        &["task", "retry", done],
        &["approvals", "show", asks],
        &["task", "approve", asks],
        &["task", "deny", asks, "--yes"],
        &["task", "cancel", asks],
        &["purge", done, "--yes"],
        &["log", "compact"],
    ];
    for arguments in commands {
        let arguments = [arguments, &["--json"]].concat();
        let said = mesh.run(&arguments);
        is_json(&said, &arguments);
        assert!(!said.stdout.is_empty() || !said.stderr.is_empty() || arguments.contains(&"logs"), "{arguments:?}");
    }
}
