//! Approvals: what is asked, who decides, and that the first decision counts.

use crate::common::{Mesh, house::House};
use insta::assert_snapshot;

const ASKS: &str = "name: release\nsteps:\n  - {id: build, agent: echo, input: {version: 7}}\n  - {id: deploy, agent: echo, depends_on: [build], approve: {text: \"Deploy to production?\\nIt cannot be undone.\", deadline_ms: 600000}}\n";
const TWO: &str = "name: two\nsteps:\n  - {id: a, agent: echo, input: 1, approve: {text: first?}}\n  - {id: b, agent: echo, input: 2, approve: {text: second?}}\n";

/// Runs the flow until it asks, and gives its id.
fn asking(mesh: &Mesh, flow: &str) -> String {
    let said = mesh.run(&["run", mesh.file("flow.yaml", flow), "--new", "--json"]);
    assert_eq!(said.code, 12, "{}", said.stderr);
    said.lines()[0]["task"].as_str().unwrap_or_default().to_owned()
}

#[test]
fn what_is_asked_is_listed_and_shown_in_full() {
    let mesh = Mesh::new();
    let (first, second) = (asking(&mesh, TWO), asking(&mesh, ASKS));
    let listed = mesh.run(&["approvals", "list", "--json"]).lines();
    let steps: Vec<(&str, &str)> =
        listed.iter().map(|line| (line["task"].as_str().unwrap(), line["step"].as_str().unwrap())).collect();
    assert_eq!(steps, [(&second[..], "deploy"), (&first[..], "a"), (&first[..], "b")], "the most urgent first");
    assert!(mesh.run(&["approvals", "list", "--json", "--namespace", "other"]).stdout.is_empty());
    assert!(mesh.run(&["approvals", "list"]).stdout.contains("Deploy to production?…"));
    assert_snapshot!(mesh.run(&["approvals", "show", &second]).seen(), @r#"
    exit 0
    --- stdout
    step `deploy` of tsk_… asks:
      Deploy to production?
      It cannot be undone.
    task   tsk_… (release, namespace default)
    from   tester/cli, submitted TIME
    agent  echo
    input  {"build":{"version":7}}
    until  TIME; denied after that
    hash   HASH
    --- stderr
      next: `relaymesh approve tsk_… deploy` or `relaymesh deny tsk_… deploy`
    "#);
    let shown = mesh.run(&["approvals", "show", &second, "deploy", "--json"]).json();
    assert_eq!(
        (&shown["asks"], &shown["author"]),
        (&"Deploy to production?\nIt cannot be undone.".into(), &"tester".into())
    );
    assert_eq!(shown["input"]["build"]["version"], 7);
    let several = mesh.run(&["approvals", "show", &first]);
    assert!(several.code == 2 && several.stderr.contains("waiting: a, b"), "{}", several.stderr);
}

#[test]
fn a_decision_cites_what_was_read_and_no_other_ask() {
    let mesh = Mesh::new();
    let id = asking(&mesh, ASKS);
    let other = "0".repeat(64);
    let refused = mesh.run(&["approve", &id, "--ask", &other]);
    assert_eq!(refused.code, 4);
    assert!(refused.stderr.contains("but the decision is for 0000"), "{}", refused.stderr);
    assert!(refused.stderr.contains("approvals show"), "{}", refused.stderr);
    assert_eq!(mesh.show(&id)["steps"][1]["status"], "WAITING");
    assert_eq!(mesh.run(&["approve", &id, "--ask", "abc"]).code, 2);
    let shown = mesh.run(&["approvals", "show", &id, "--json"]).json();
    let said = mesh.run(&["approve", &id, "deploy", "--ask", shown["ask"].as_str().unwrap(), "--json"]);
    assert_eq!(said.code, 0, "{}", said.stderr);
    assert_eq!(said.json()["event"], "approved");
    assert_eq!(mesh.run(&["task", "wait", &id]).code, 0);
    assert_eq!(mesh.run(&["approvals", "list", "--json"]).stdout, "");
}

#[test]
fn the_first_decision_counts_and_the_second_hears_whose_it_was() {
    let mesh = Mesh::new();
    let id = asking(&mesh, ASKS);
    assert_eq!(mesh.run(&["deny", &id, "--reason", "not on a Friday", "--yes"]).code, 0);
    let late = mesh.run(&["approve", &id, "deploy", "--yes"]);
    assert_eq!(late.code, 4);
    assert!(late.stderr.contains("it is FAILED (decided by tester)"), "{}", late.stderr);
    assert_snapshot!(mesh.run(&["approve", &id]).seen(), @"
    exit 4
    --- stdout
    --- stderr
    error[refused] RM0011: no step of tsk_… waits for an approval: the task is FAILED
      hint: list requests with `relaymesh approvals list`
      page: docs/reference/errors.md#refused
    ");
    let shown = mesh.show(&id);
    assert_eq!(shown["steps"][1]["error"], "denied: not on a Friday");
}

#[test]
fn of_two_who_decide_at_once_one_is_refused() {
    let house = House::new();
    let flow = house.0.file("flow.yaml", ASKS);
    let id = house.run(&["submit", "--file", flow]).stdout.trim().to_owned();
    house.0.until("it asks", |_| house.json(&["task", "show", &id])["steps"][1]["status"] == "WAITING");
    let mut both = [house.start(&["approve", &id, "--yes"]), house.start(&["deny", &id, "--yes"])];
    let codes = both.each_mut().map(crate::common::Running::end);
    assert!(codes == [0, 4] || codes == [4, 0], "{codes:?}");
    let waited = house.run(&["task", "wait", &id]);
    assert_eq!(waited.code, if codes[0] == 0 { 0 } else { 10 }, "what was decided is what happens: {}", waited.stderr);
}

#[test]
fn the_input_that_is_asked_about_is_shown_as_the_step_will_get_it() {
    let mesh = Mesh::new();
    let flow = "name: publish\nsteps:\n  - {id: draft, agent: echo, input: {title: Relay, parts: [1, 2]}}\n  \
                - {id: publish, agent: echo, approve: Publish?, input: {text: 'Load ${{ length(steps.draft.result.parts) }} \
                parts of ${{ steps.draft.result.title }}'}}\n";
    let id = asking(&mesh, flow);
    let shown = mesh.run(&["approvals", "show", &id, "--json"]).json();
    assert_eq!(shown["input"]["text"], "Load 2 parts of Relay", "{shown}");
    assert!(shown["input_note"].is_null(), "{shown}");
    assert_eq!(mesh.run(&["approve", &id, "--yes"]).code, 0);
    assert_eq!(mesh.run(&["task", "wait", &id]).json()["text"], "Load 2 parts of Relay");
}
