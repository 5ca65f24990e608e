//! Flows with references, conditions, lists and inputs, and what is said about those that are wrong.

#![allow(clippy::unwrap_used, reason = "a test that cannot go on should stop")]

use crate::common::{Mesh, Said, house::House, normalised};
use insta::assert_snapshot;
use serde_json::{Value, json};

const REVIEW: &str = "\
name: review
input:
  type: object
  required: [files]
  properties: {files: {type: array}, dry: {type: boolean}}
steps:
  - {id: find, agent: echo, input: {files: \"${{ input.files }}\"}}
  - id: fix
    agent: echo
    foreach: ${{ steps.find.result.files }}
    input: \"${{ index }} ${{ item }}\"
  - id: ship
    agent: echo
    when: length(steps.fix.result) > 1 && !default(input.dry, false)
    input: {shipped: \"${{ steps.fix.result }}\"}
  - {id: report, agent: echo, depends_on: [find, ship], input: {was: \"${{ steps.ship.status }}\"}}
";

fn run(mesh: &Mesh, input: &Value) -> Said {
    let flow = mesh.file("review.yaml", REVIEW);
    mesh.run(&["run", flow, "--input", &input.to_string(), "--watch"])
}

/// The names of steps and the status that each ended in, in the order in which they ended.
fn ends(said: &Said) -> String {
    let words =
        |line: &str| line.split_whitespace().map(|word| word.trim_end_matches(':').to_owned()).collect::<Vec<_>>();
    let ended = |line: &str| {
        let words = words(line);
        let at = words.iter().position(|word| word == "SUCCESS" || word == "SKIPPED")?;
        (words.get(1).is_some_and(|word| word == "s")).then(|| format!("{} {}", words[2], words[at]))
    };
    said.stderr.lines().filter_map(ended).collect::<Vec<_>>().join("\n")
}

#[test]
fn a_list_fans_out_and_a_condition_lets_it_through() {
    let mesh = Mesh::new();
    let said = run(&mesh, &json!({ "files": ["a", "b"] }));
    assert_eq!(said.code, 0, "{}", said.stderr);
    assert_eq!(serde_json::from_str::<Value>(&said.stdout).unwrap(), json!({ "was": "SUCCESS" }));
    assert_snapshot!(ends(&said), @"
    find SUCCESS
    fix.0 SUCCESS
    fix.1 SUCCESS
    fix SUCCESS
    ship SUCCESS
    report SUCCESS
    ");
    let task = said.stderr.split_whitespace().find(|word| word.starts_with("tsk_")).unwrap();
    let shown = mesh.show(task);
    assert_eq!(shown["steps"][1]["result"], json!(["0 a", "1 b"]));
    assert_eq!(shown["steps"][1]["items"], 2);
    assert_eq!(shown["steps"][4]["item_of"], "fix");
    assert_eq!(mesh.run(&["log", "verify"]).code, 0);
}

#[test]
fn what_is_not_wanted_is_skipped_and_the_rest_goes_on() {
    let mesh = Mesh::new();
    let said = run(&mesh, &json!({ "files": ["a", "b"], "dry": true }));
    assert_eq!(said.code, 0, "{}", said.stderr);
    assert!(ends(&said).contains("ship SKIPPED"), "{}", said.stderr);
    assert_eq!(serde_json::from_str::<Value>(&said.stdout).unwrap(), json!({ "was": "SKIPPED" }));
}

#[test]
fn the_same_flow_with_another_input_is_another_task() {
    let mesh = Mesh::new();
    let first = run(&mesh, &json!({ "files": [] }));
    let again = run(&mesh, &json!({ "files": [] }));
    let other = run(&mesh, &json!({ "files": ["x"] }));
    assert!(!first.stderr.contains("already submitted") && !other.stderr.contains("already submitted"));
    assert!(again.stderr.contains("already submitted"), "{}", again.stderr);
}

#[test]
fn a_wrong_input_is_refused_with_what_is_asked_for() {
    let mesh = Mesh::new();
    let said = run(&mesh, &json!({ "files": "a" }));
    assert_snapshot!(normalised(&said.stderr), @r#"
    error[bad_input] RM0002: the input does not match the flow's `input` schema: input.files: "a" is not of type "array"
      hint: it has: dry (boolean, optional), files (array)
      hint: pass it with --input '{…}' or --input @FILE
      page: docs/reference/errors.md#bad_input
    "#);
    assert_eq!(said.code, 2);
}

fn refused(flow: &str) -> String {
    let mesh = Mesh::new();
    let file = mesh.file("flow.yaml", flow);
    let said = mesh.run(&["flow", "check", file]);
    assert_eq!((said.code, said.stdout.as_str()), (2, ""));
    normalised(&said.stderr)
}

#[test]
fn a_misspelt_step_is_found_before_anything_runs() {
    assert_snapshot!(refused("name: n\nsteps:\n  - {id: find, agent: echo}\n  - id: fix\n    agent: echo\n    input: ${{ steps.fidn.result }}\n"), @"
    error[bad_flow] RM0003: step `fix`: input: it refers to step `fidn`, but no step has that id
        --> flow.yaml:6:22
      6 |     input: ${{ steps.fidn.result }}
        |                      ^
      hint: did you mean `find`?
      hint: allowed: find
      page: docs/reference/errors.md#bad_flow
    ");
}

#[test]
fn an_expression_that_cannot_be_read_is_shown_where_it_stands() {
    assert_snapshot!(refused("name: n\nsteps:\n  - id: a\n    agent: echo\n    when: input.x = 3\n"), @r"
    error[bad_flow] RM0003: step `a`: when: `input.x = 3`: `=` does not compare: write `==` (character 9)
        --> flow.yaml:5:11
      5 |     when: input.x = 3
        |           ^
      page: docs/reference/errors.md#bad_flow
    ");
}

#[test]
fn a_field_that_the_input_does_not_have_is_found_too() {
    let said = refused(
        "name: n\ninput: {type: object, properties: {repo: {type: string}}}\nsteps:\n  - {id: a, agent: echo, when: input.rpeo}\n",
    );
    assert!(said.contains("it refers to input.rpeo, which the flow's input does not have"), "{said}");
    assert!(said.contains("did you mean `repo`?"), "{said}");
}

#[test]
fn a_flow_that_is_right_is_called_so_and_can_be_drawn() {
    let mesh = Mesh::new();
    let flow = mesh.file("review.yaml", REVIEW);
    assert_eq!(mesh.run(&["flow", "check", flow]).stdout, "review: 4 steps, no errors\n");
    let checked = mesh.run(&["flow", "check", flow, "--json"]).json();
    assert_eq!(checked["steps"][2]["depends_on"], json!(["fix"]));
    assert!(mesh.run(&["flow", "graph", flow]).stdout.contains("for each of steps.find.result.files"));
    assert!(mesh.run(&["flow", "graph", flow, "--format", "svg"]).stdout.starts_with("<svg "));
    let schema: Value = serde_json::from_str(&mesh.run(&["flow", "schema"]).stdout).unwrap();
    assert_eq!(schema["title"], "A RelayMesh flow");
}

#[test]
fn a_text_that_looks_like_an_expression_is_passed_on_as_it_is() {
    let mesh = Mesh::new();
    let said = mesh.run(&["submit", "--agent", "echo", "--input", r#"{"ci":"${{ github.sha }}"}"#, "--wait"]);
    assert_eq!((said.code, said.stdout.trim()), (0, r#"{"ci":"${{ github.sha }}"}"#));
}

#[test]
fn the_demo_draws_its_picture_and_leaves_the_daemon_running() {
    let house = House::new();
    let said = house.run(&["demo"]);
    assert_eq!(said.code, 0, "{}", said.stderr);
    assert!(said.stderr.contains("asks: Publish the picture that was drawn?"), "{}", said.stderr);
    assert!(said.stderr.contains("colours") && said.stderr.contains("RETRYING (attempt 1)"), "{}", said.stderr);
    assert!(said.stderr.contains("apologise") && said.stderr.contains("SKIPPED"), "{}", said.stderr);
    let picture = std::fs::read_to_string(house.0.root().parent().unwrap().join("relaymesh-demo.svg")).unwrap();
    assert_eq!(picture.matches("<rect x=").count(), 5);
    assert!(picture.contains(">second</text>") && picture.contains(">24</text>"), "bars have names: {picture}");
    assert!(said.stderr.contains("(approved automatically)") && !said.stderr.contains("--yes"), "{}", said.stderr);
    assert!(house.pid().is_some());
    let again = house.run(&["demo"]);
    assert_eq!(again.code, 0, "{}", again.stderr);
    let agents = std::fs::read_to_string(house.0.root().join("agents.toml")).unwrap();
    assert_eq!(agents.matches("[agents.demo-texts]").count(), 1);
}
