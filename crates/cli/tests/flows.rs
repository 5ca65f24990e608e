//! Flows that fail, are tried again, undone, cancelled or asked about.

use crate::common::{Mesh, example};
use insta::assert_snapshot;
use serde_json::Value;

/// The part of a line after its time.
fn changes(stderr: &str) -> Vec<String> {
    let changed =
        |line: &str| line.split_once(" s  ").map(|(_, rest)| rest.split_whitespace().collect::<Vec<_>>().join(" "));
    stderr.lines().filter_map(changed).collect()
}

#[test]
fn watch_without_a_terminal_is_one_line_per_change() {
    let mesh = Mesh::new();
    let flow = mesh.file(
        "flow.yaml",
        "name: n\nsteps:\n  - {id: a, agent: echo, input: 1}\n  - {id: b, agent: hash, depends_on: [a]}\n",
    );
    let said = mesh.run(&["run", flow, "--watch"]);
    assert_eq!(said.code, 0);
    assert_snapshot!(changes(&said.stderr).join("\n"), @"
    a ▸ RUNNING (attempt 1)
    a ✓ SUCCESS (attempt 1)
    b ▸ RUNNING (attempt 1)
    b ✓ SUCCESS (attempt 1)
    ");
}

#[test]
fn the_retry_example_is_tried_three_times() {
    let mesh = Mesh::new();
    let said = mesh.run(&["run", &example("retry.yaml"), "--watch"]);
    assert_eq!(said.code, 0, "{}", said.stderr);
    assert_snapshot!(changes(&said.stderr).join("\n"), @"
    flaky ▸ RUNNING (attempt 1)
    flaky ↻ RETRYING (attempt 1): the other side did not answer
    flaky ▸ RUNNING (attempt 2)
    flaky ↻ RETRYING (attempt 2): the other side did not answer
    flaky ▸ RUNNING (attempt 3)
    flaky ✓ SUCCESS (attempt 3)
    report ▸ RUNNING (attempt 1)
    report ✓ SUCCESS (attempt 1)
    ");
    assert_snapshot!(said.stdout, @r#"{"flaky":{"attempts":2,"message":"the other side did not answer"}}"#);
}

#[test]
fn the_compensate_example_is_undone_latest_first() {
    let mesh = Mesh::new();
    let said = mesh.run(&["run", &example("compensate.yaml"), "--watch"]);
    assert_eq!((said.code, said.stdout.as_str()), (10, ""));
    assert_snapshot!(changes(&said.stderr).join("\n"), @"
    book-train ▸ RUNNING (attempt 1)
    book-train ✓ SUCCESS (attempt 1)
    book-hotel ▸ RUNNING (attempt 1)
    book-hotel ✓ SUCCESS (attempt 1)
    pay ▸ RUNNING (attempt 1)
    pay ✗ FAILED (attempt 1): the card was declined
    cancel-hotel ▸ RUNNING (attempt 1)
    cancel-hotel ✓ SUCCESS (attempt 1)
    cancel-train ▸ RUNNING (attempt 1)
    cancel-train ✓ SUCCESS (attempt 1)
    ");
    let last: Vec<String> = said.stderr.lines().rev().take(3).map(crate::common::normalised).collect();
    assert_snapshot!(last.into_iter().rev().collect::<String>(), @"
    ✗ FAILED tsk_… (compensate) in SPAN
      step `pay` is FAILED: the card was declined
      details: `relaymesh task show tsk_… --history`; retry: `relaymesh task retry tsk_…`
    ");
}

#[test]
fn a_dead_letter_can_be_tried_again() {
    let mesh = Mesh::new();
    let input = r#"{"message":"no luck","attempts":1}"#;
    let arguments = ["--agent", "fail", "--input", input, "--max-attempts", "1"];
    let said = mesh.run(&[&["submit", "--wait", "--json"], &arguments[..]].concat());
    assert_eq!(said.code, 10, "{}", said.stderr);
    let lines = said.lines();
    let ended = lines.last().unwrap();
    assert_eq!((&ended["event"], &ended["status"]), (&"ended".into(), &"DEAD_LETTER".into()));
    assert_eq!((&ended["error"], &ended["result"]), (&"no luck".into(), &Value::Null));
    let id = ended["task"].as_str().unwrap();
    let waited = mesh.run(&["task", "wait", id]);
    assert_eq!(waited.code, 10);
    let retried = mesh.run(&["task", "retry", id]);
    assert_snapshot!(retried.seen(), @"
    exit 0
    --- stdout
    --- stderr
    redriven tsk_…; the task is RUNNING
      next: `relaymesh task wait tsk_…`
    ");
    assert_eq!(mesh.run(&["task", "retry", id]).code, 4, "it has not ended");
    // The count of attempts starts over, so it fails once more.
    assert_eq!(mesh.run(&["task", "wait", id]).code, 10);
    assert_eq!(mesh.run(&["task", "retry", id, "--wait"]).code, 10);
    let shown = mesh.show(id);
    assert_eq!(shown["steps"][0]["epoch"], 3);
    assert_eq!(shown["steps"][0]["history"].as_array().unwrap().len(), 3);
}

#[test]
fn cancel_and_what_is_refused_afterwards() {
    let mesh = Mesh::new();
    let id = mesh.submit(&["--agent", "sleep", "--input", r#"{"ms":60000}"#]);
    assert_snapshot!(mesh.run(&["task", "cancel", &id, "--reason", "wrong data"]).seen(), @"
    exit 0
    --- stdout
    --- stderr
    cancelled tsk_…; the task is CANCELLED
    ");
    assert_snapshot!(mesh.run(&["task", "cancel", &id]).seen(), @"
    exit 4
    --- stdout
    --- stderr
    error[refused] RM0011: the task has already ended: CANCELLED
      page: docs/reference/errors.md#refused
    ");
    let waited = mesh.run(&["task", "wait", &id]);
    assert_eq!((waited.code, waited.stdout.as_str()), (11, ""));
    assert_eq!(mesh.show(&id)["steps"][0]["error"], "wrong data");
}

#[test]
fn a_timeout_is_a_failed_attempt() {
    let mesh = Mesh::new();
    let arguments = [
        "submit",
        "--agent",
        "sleep",
        "--input",
        r#"{"ms":60000}"#,
        "--timeout-ms",
        "30",
        "--max-attempts",
        "1",
        "--wait",
    ];
    let said = mesh.run(&arguments);
    assert_eq!(said.code, 10);
    assert!(said.stderr.contains("timed out"), "{}", said.stderr);
}

const ASKS: &str =
    "name: n\nsteps:\n  - id: deploy\n    agent: echo\n    input: done\n    approve: {text: Deploy to production?}\n";

#[test]
fn an_approval_is_asked_for_shown_and_given() {
    let mesh = Mesh::new();
    let flow = mesh.file("flow.yaml", ASKS);
    let said = mesh.run(&["run", flow]);
    assert_snapshot!(said.seen(), @"
    exit 12
    --- stdout
    --- stderr
    note: created a new root in root
    accepted tsk_… (n, 1 step)
    tsk_… waits for an approval
      step `deploy` asks: Deploy to production?
      decide with `relaymesh approve tsk_… deploy` or `relaymesh deny tsk_… deploy`
      then continue with `relaymesh task wait tsk_…`
    ");
    let id = said.stderr.split_whitespace().find(|word| word.starts_with("tsk_")).unwrap().to_owned();
    assert_snapshot!(mesh.run(&["task", "approve", &id, "deploy"]).seen(), @r#"
    exit 4
    --- stdout
    --- stderr
    step `deploy` of tsk_… asks:
      Deploy to production?
    task   tsk_… (n, namespace default)
    from   tester/cli, submitted TIME
    agent  echo
    input  "done"
    until  -
    hash   HASH
    error[not_confirmed] RM0014: cannot ask for confirmation: this is not a terminal
      hint: use `--yes` to approve without confirmation
      page: docs/reference/errors.md#not_confirmed
    "#);
    assert_eq!(mesh.run(&["task", "approve", &id, "nosuch", "--yes"]).code, 3);
    assert_snapshot!(mesh.run(&["task", "approve", &id, "deploy", "--yes"]).seen(), @r#"
    exit 0
    --- stdout
    --- stderr
    step `deploy` of tsk_… asks:
      Deploy to production?
    task   tsk_… (n, namespace default)
    from   tester/cli, submitted TIME
    agent  echo
    input  "done"
    until  -
    hash   HASH
    approved tsk_… step `deploy`; the task is PENDING
      next: `relaymesh task wait tsk_…`
    "#);
    assert_eq!(mesh.run(&["task", "deny", &id, "deploy", "--yes"]).code, 4, "the first decision counts");
    assert_eq!(mesh.run(&["task", "wait", &id]).stdout, "\"done\"\n");
    assert_eq!(mesh.show(&id)["steps"][0]["decided_by"], "tester");
}

#[test]
fn a_denied_step_fails() {
    let mesh = Mesh::new();
    let id = mesh.submit(&["--file", mesh.file("flow.yaml", ASKS)]);
    let said = mesh.run(&["task", "deny", &id, "deploy", "--reason", "not on a Friday", "--yes", "--json"]);
    assert_eq!(said.code, 0, "{}", said.stderr);
    assert_eq!((&said.json()["event"], &said.json()["step"]), (&"denied".into(), &"deploy".into()));
    let waited = mesh.run(&["task", "wait", &id, "--json"]);
    assert_eq!(waited.code, 10);
    assert_eq!(waited.lines().last().unwrap()["error"], "denied: not on a Friday");
}

#[test]
fn several_last_steps_give_an_object() {
    let mesh = Mesh::new();
    let flow = mesh.file(
        "flow.json",
        r#"{"name":"n","steps":[{"id":"a","agent":"echo","input":1},{"id":"b","agent":"echo","input":2}]}"#,
    );
    assert_eq!(mesh.run(&["run", flow]).stdout, "{\"a\":1,\"b\":2}\n");
}

#[test]
fn json_lines_tell_the_whole_story() {
    let mesh = Mesh::new();
    let said = mesh.run_with_input(&["run", "-", "--json"], "name: n\nsteps:\n  - {id: a, agent: echo, input: x}\n");
    assert_eq!(said.code, 0, "{}", said.stderr);
    let lines = said.lines();
    let story: Vec<String> = lines
        .iter()
        .map(|line| format!("{} {} {}", line["event"], line["step"], line["status"]).replace('"', ""))
        .collect();
    assert_eq!(
        story,
        ["accepted null null", "step a PENDING", "step a RUNNING", "step a SUCCESS", "ended null SUCCESS"]
    );
    assert_eq!(lines[0]["merged"], false);
    assert_eq!(lines[4]["result"], "x");
    let again = mesh.run_with_input(&["run", "-", "--json"], "name: n\nsteps:\n  - {id: a, agent: echo, input: x}\n");
    assert_eq!(again.lines()[0]["merged"], true);
    assert_eq!(again.lines().last().unwrap()["event"], "ended");
}

#[test]
fn flows_that_cannot_be_run_are_refused_with_their_place() {
    let mesh = Mesh::new();
    let bad = |name: &'static str, text: &str| mesh.run(&["run", mesh.file(name, text)]).seen();
    assert_snapshot!(bad("field.yaml", "name: n\nsteps:\n  - id: a\n    agnet: echo\n"), @"
    exit 2
    --- stdout
    --- stderr
    error[bad_flow] RM0003: unknown field `agnet`
        --> field.yaml:4:5
      4 |     agnet: echo
        |     ^
      hint: did you mean `agent`?
      hint: allowed: id, agent, input, priority, depends_on, when, foreach, retry, timeout, timeout_ms, compensate, approve, result_schema, workspace
      page: docs/reference/errors.md#bad_flow
    ");
    assert_snapshot!(bad("indent.yaml", "name: n\nsteps:\n  - id: a\n   agent: echo\n"), @"
    exit 2
    --- stdout
    --- stderr
    error[bad_flow] RM0003: missing field `agent`
        --> indent.yaml:3:5
      3 |   - id: a
        |     ^
      page: docs/reference/errors.md#bad_flow
    ");
    assert_snapshot!(bad("twice.yaml", "name: n\nname: m\nsteps: []\n"), @"
    exit 2
    --- stdout
    --- stderr
    error[bad_flow] RM0003: the key `name` occurs twice in one mapping
        --> twice.yaml:2:1
      2 | name: m
        | ^
      page: docs/reference/errors.md#bad_flow
    ");
    assert_snapshot!(bad("cycle.yaml", "name: n\nsteps:\n  - {id: a, agent: echo, depends_on: [b]}\n  - {id: b, agent: echo, depends_on: [a]}\n"), @"
    exit 2
    --- stdout
    --- stderr
    error[bad_flow] RM0003: the steps depend on each other in a circle: a → b → a
      page: docs/reference/errors.md#bad_flow
    ");
    assert_snapshot!(bad("twice.json", "{\"name\":\"n\",\n\"name\":\"m\"}"), @r#"
    exit 2
    --- stdout
    --- stderr
    error[bad_flow] RM0003: the key `name` occurs twice in one object, the second time at line 2 column 6
        --> twice.json:2:6
      2 | "name":"m"}
        |      ^
      page: docs/reference/errors.md#bad_flow
    "#);
    assert_snapshot!(mesh.run(&["run", "nosuch.yaml"]).seen(), @"
    exit 3
    --- stdout
    --- stderr
    error[no_file] RM0007: there is no file nosuch.yaml
      hint: `relaymesh flow new` writes a flow to start from
      page: docs/reference/errors.md#no_file
    ");
}
