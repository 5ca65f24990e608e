//! What came to nothing: listed, shown, tried again, exported, forgotten.

use crate::common::Mesh;
use insta::assert_snapshot;
use serde_json::Value;

/// Submits a task that fails for good and gives its id. Each `n` is another request.
fn fail(mesh: &Mesh, name: &str, n: u32, retryable: bool) -> String {
    let input = format!("{{\"message\":\"no luck {n}\",\"retryable\":{retryable}}}");
    let attempts = ["--max-attempts", "1", "--name", name, "--agent", "fail", "--input", &input];
    let said = mesh.run(&[&["submit", "--wait", "--json"], &attempts[..]].concat());
    assert_eq!(said.code, 10, "{}", said.stderr);
    said.lines()[0]["task"].as_str().unwrap_or_default().to_owned()
}

/// Sends a message that its recipient refuses for good, and gives thread and message.
fn refuse(mesh: &Mesh, to: &str, n: u32) -> (String, String) {
    let sent = mesh.run(&["message", "send", "--to", to, "--input", &n.to_string(), "--json"]).json();
    let held = mesh.run(&["message", "take", "--agent", to, "--json"]).json()["held"].take();
    let held = held.as_str().unwrap_or_default();
    assert_eq!(mesh.run(&["message", "fail", held, "--final", "--error", "not for me"]).code, 0);
    let text = |name: &str| sent[name].as_str().unwrap_or_default().to_owned();
    (text("thread"), text("message"))
}

fn ids(lines: &[Value]) -> Vec<String> {
    let id = |line: &Value| line["task"].as_str().or_else(|| line["message"].as_str()).unwrap_or_default().to_owned();
    lines.iter().map(id).collect()
}

#[test]
fn what_came_to_nothing_is_listed_by_agent_flow_and_time() {
    let mesh = Mesh::new();
    let (first, second) = (fail(&mesh, "nightly", 1, false), fail(&mesh, "weekly", 2, true));
    let (_, message) = refuse(&mesh, "reviewer", 3);
    mesh.submit(&["--agent", "echo", "--wait"]);
    let listed = |arguments: &[&str]| ids(&mesh.run(&[&["dead", "list", "--json"], arguments].concat()).lines());
    assert_eq!(listed(&[]), [&message[..], &second, &first]);
    assert_eq!(listed(&["--flow", "nightly"]), [&first[..]]);
    assert_eq!(listed(&["--agent", "fail"]), [&second[..], &first]);
    assert_eq!(listed(&["--agent", "reviewer"]), [&message[..]]);
    assert_eq!(listed(&["--since", "1h"]).len(), 3);
    assert!(listed(&["--older-than", "1h"]).is_empty());
    assert!(listed(&["--before", "1h"]).is_empty(), "its older spelling");
    assert!(listed(&["--namespace", "other"]).is_empty());
    let limited = mesh.run(&["dead", "list", "--limit", "1"]);
    assert!(limited.stdout.contains("not for me") && limited.stderr.contains("3 in total"), "{}", limited.stderr);
    let ends: Vec<Value> =
        mesh.run(&["dead", "list", "--json"]).lines().iter().map(|line| line["end"].clone()).collect();
    assert_eq!(ends, ["FAILED", "DEAD_LETTER", "FAILED"]);
    assert_eq!(mesh.run(&["dead", "list", "--since", "yesterday"]).code, 2);
}

#[test]
fn it_is_tried_again_in_the_order_in_which_it_came() {
    let mesh = Mesh::new();
    let tasks: Vec<String> = (1..=3).map(|n| fail(&mesh, "nightly", n, false)).collect();
    let (_, message) = refuse(&mesh, "reviewer", 4);
    // The first one dies once more, after all others.
    assert_eq!(mesh.run(&["task", "retry", &tasks[0], "--wait"]).code, 10);
    let said = mesh.run(&["dead", "redrive", "--all", "--json"]);
    assert_eq!(said.code, 0, "{}", said.stderr);
    assert_eq!(ids(&said.lines()), [tasks.clone(), vec![message]].concat());
    assert!(said.stderr.contains("retried 4"), "{}", said.stderr);
    assert_eq!(mesh.show(&tasks[1])["steps"][0]["status"], "PENDING");
    assert_eq!(mesh.run(&["dead", "list", "--json"]).stdout, "");
    let again = mesh.run(&["dead", "redrive", &tasks[0]]);
    assert!(again.code == 4 && again.stderr.contains("it has not failed"), "{}", again.stderr);
    assert_eq!(mesh.run(&["log", "verify"]).code, 0);
}

#[test]
fn nothing_is_chosen_by_accident() {
    let mesh = Mesh::new();
    fail(&mesh, "nightly", 1, false);
    for verb in ["redrive", "purge"] {
        assert_eq!(mesh.run(&["dead", verb]).code, 2, "{verb}");
        assert_eq!(mesh.run(&["dead", verb, "--all", "tsk_01HF7YAT000000000000000007"]).code, 2, "{verb}");
    }
    assert_eq!(mesh.run(&["dead", "redrive", "msg_01HF7YAT000000000000000007"]).code, 3);
    assert_snapshot!(mesh.run(&["dead", "purge", "--all"]).seen(), @"
    exit 4
    --- stdout
    --- stderr
    error[not_confirmed] RM0014: this would purge 1 task and 0 threads with all their messages for good, and needs confirmation
      hint: confirm with `--yes`
      page: docs/reference/errors.md#not_confirmed
    ");
    assert_eq!(mesh.run(&["dead", "list", "--json"]).lines().len(), 1);
}

#[test]
fn an_export_has_the_request_the_reasons_and_the_results() {
    let mesh = Mesh::new();
    let flow = mesh.file("flow.yaml", "name: trip\nsteps:\n  - {id: a, agent: echo, input: {x: 1}}\n  - {id: b, agent: fail, depends_on: [a], input: {message: no luck, retryable: true}, retry: {max_attempts: 2, base_backoff_ms: 1, max_backoff_ms: 1}}\n");
    assert_eq!(mesh.run(&["run", flow]).code, 10);
    let (thread, message) = refuse(&mesh, "reviewer", 7);
    let lines = mesh.run(&["dead", "export"]).lines();
    let (task, said) = (&lines[0], &lines[1]);
    assert_eq!((&task["status"], &task["failed_step"]), (&"DEAD_LETTER".into(), &"b".into()));
    assert_eq!(task["request"]["steps"][0]["input"]["x"], 1);
    assert_eq!(task["steps"][0]["result"]["x"], 1);
    let reasons: Vec<&str> = task["steps"][1]["history"]
        .as_array()
        .map(|attempts| attempts.iter().filter_map(|attempt| attempt["error"].as_str()).collect())
        .unwrap_or_default();
    assert_eq!(reasons, ["no luck", "no luck"]);
    assert_eq!((said["message"].as_str(), said["thread"].as_str()), (Some(&message[..]), Some(&thread[..])));
    assert_eq!((&said["content"], &said["error"]), (&7.into(), &"not for me".into()));
    assert!(!lines.iter().any(|line| line.to_string().contains("lse_")), "no lease token leaves the store");
    let shown = mesh.run(&["dead", "show", &message]);
    assert!(shown.stdout.contains("not for me") && shown.stdout.contains("content"), "{}", shown.stdout);
    let id = task["task"].as_str().unwrap();
    assert!(mesh.run(&["dead", "show", id]).stdout.contains("OUTCOME"));
    assert_eq!(mesh.run(&["dead", "show", id, "--json"]).json(), *task);
}

#[test]
fn a_purge_that_was_cut_short_goes_on_with_what_is_left() {
    let mesh = Mesh::new();
    let [first, second] = ["a", "b"].map(|flow| fail(&mesh, flow, 1, false));
    assert_eq!(mesh.run(&["dead", "purge", &first, "--yes"]).code, 0);
    let again = mesh.run(&["dead", "purge", &first, &second, "--yes", "--json"]);
    assert_eq!(
        (again.code, again.json()),
        (0, serde_json::json!({ "purged": 1, "gone": [first] })),
        "{}",
        again.stderr
    );
    assert_eq!(mesh.run(&["dead", "list", "--json"]).stdout, "");
}

#[test]
fn what_is_purged_is_gone_and_a_thread_goes_once() {
    let mesh = Mesh::new();
    let id = fail(&mesh, "nightly", 1, false);
    let (thread, _) = refuse(&mesh, "reviewer", 2);
    let sent = mesh.run(&["message", "send", "--to", "reviewer", "--thread", &thread, "--input", "3"]);
    assert_eq!(sent.code, 0, "{}", sent.stderr);
    // Something waits in the thread: it stays, and the task goes all the same.
    let said = mesh.run(&["dead", "purge", "--all", "--yes"]);
    assert!(said.code == 4 && said.stderr.contains("1 of 2 could not be purged"), "{}", said.stderr);
    assert_eq!(mesh.run(&["task", "show", &id]).code, 3);
    let held = mesh.run(&["message", "take", "--agent", "reviewer", "--json"]).json()["held"].take();
    assert_eq!(mesh.run(&["message", "fail", held.as_str().unwrap(), "--final", "--error", "no"]).code, 0);
    let said = mesh.run(&["dead", "purge", &thread, "--yes", "--json"]);
    assert_eq!(said.json()["purged"], 1, "two dead messages, one thread: {}", said.stderr);
    assert_eq!(mesh.run(&["dead", "list", "--json"]).stdout, "");
    assert_eq!(mesh.run(&["log", "verify"]).code, 0);
}
