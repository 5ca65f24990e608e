//! What a newcomer sees: init, submit, run, and the errors of the first hour.

use crate::common::{Mesh, example};
use insta::assert_snapshot;

#[test]
fn init_twice_is_no_error() {
    let mesh = Mesh::new();
    assert_snapshot!(mesh.run(&["init"]).seen(), @"
    exit 0
    --- stdout
    nod_…
    --- stderr
    created a root in root
      next: `relaymesh demo`, or `relaymesh submit --help`
    ");
    assert_snapshot!(mesh.run(&["init"]).seen(), @"
    exit 0
    --- stdout
    nod_…
    --- stderr
    root is already a root; nothing changed
    ");
    let again = mesh.run(&["init", "--json"]);
    assert_eq!(again.json()["created"], false);
    assert!(again.json()["node"].as_str().unwrap().starts_with("nod_"));
    let other = Mesh::new();
    assert_eq!(other.run(&["init", "--json"]).json()["created"], true);
}

#[test]
fn submit_prints_the_id_and_runs_nothing() {
    let mesh = Mesh::new();
    let said = mesh.run(&["submit", "--agent", "echo", "--input", r#"{"a":1}"#]);
    assert_snapshot!(said.seen(), @"
    exit 0
    --- stdout
    tsk_…
    --- stderr
    note: created a new root in root
    ");
    let id = said.stdout.trim();
    assert_eq!(mesh.show(id)["status"], "PENDING");
    let waited = mesh.run(&["task", "wait", id]);
    assert_eq!((waited.code, waited.stdout.as_str()), (0, "{\"a\":1}\n"), "{}", waited.stderr);
    assert_eq!(mesh.show(id)["status"], "SUCCESS");
}

/// More than 8 KiB is a file in `blobs`, checked when it is read, and nothing else changes for the user.
#[test]
fn a_long_input_is_kept_in_a_file_and_checked_when_read() {
    let mesh = Mesh::new();
    let input = format!("\"{}\"", "long ".repeat(20_000));
    mesh.file("input.json", &input);
    let said = mesh.run(&["submit", "--agent", "echo", "--input", "@input.json", "--wait"]);
    assert_eq!((said.code, said.stdout.trim_end()), (0, input.as_str()), "{}", said.stderr);
    let blobs: Vec<_> =
        std::fs::read_dir(mesh.root().join("blobs")).unwrap().map(|entry| entry.unwrap().path()).collect();
    assert_eq!(blobs.len(), 1, "input and result are the same bytes");
    assert_eq!(mesh.run(&["log", "verify"]).code, 0);
    let stats = mesh.run(&["log", "stats", "--json"]).json();
    assert_eq!((&stats["ops"]["count"], &stats["blobs"]["count"]), (&3.into(), &2.into()));
    assert_eq!(mesh.run(&["log", "scrub", "--json"]).json()["sound"], 1);
    std::fs::write(&blobs[0], "bent").unwrap();
    let scrubbed = mesh.run(&["log", "scrub"]);
    assert!(scrubbed.code == 6 && scrubbed.stderr.contains("1 are damaged"), "{}", scrubbed.stderr);
    let bent = mesh.run(&["log", "verify"]);
    assert_ne!(bent.code, 0);
    assert!(bent.stderr.contains("damaged"), "{}", bent.stderr);
    std::fs::remove_file(&blobs[0]).unwrap();
    let gone = mesh.run(&["log", "verify"]);
    assert!(gone.code != 0 && gone.stderr.contains("missing"), "{}", gone.stderr);
}

#[test]
fn equal_requests_merge_and_the_answer_says_so() {
    let mesh = Mesh::new();
    let arguments = ["submit", "--agent", "echo", "--input", "1"];
    let first = mesh.run(&arguments);
    let second = mesh.run(&arguments);
    assert_eq!(first.stdout, second.stdout);
    assert_snapshot!(second.seen(), @"
    exit 0
    --- stdout
    tsk_…
    --- stderr
    already submitted as tsk_…; `--new` runs it again
    ");
    let third = mesh.run(&[&arguments[..], &["--new"]].concat());
    assert_ne!(first.stdout, third.stdout);
    let json = mesh.run(&[&arguments[..], &["--json"]].concat()).json();
    assert_eq!((&json["merged"], &json["class"]), (&true.into(), &"strong".into()));
}

#[test]
fn a_key_stands_for_one_request() {
    let mesh = Mesh::new();
    let submit =
        |input: &str, key: &[&str]| mesh.run(&[&["submit", "--agent", "echo", "--input", input], key].concat());
    let first = submit("1", &["--key", "k"]);
    assert_eq!(submit("1", &["--key", "k"]).stdout, first.stdout);
    let other = submit("2", &["--key", "k"]);
    assert_snapshot!(other.seen(), @"
    exit 4
    --- stdout
    --- stderr
    error[key_reused] RM0013: the key `k` belongs to tsk_…, which is a different request
      hint: use another key for a different request
      hint: or run it with a new key: `--new`
      page: docs/reference/errors.md#key_reused
    ");
    let request = ["--request-id", "req_01HF7YAT000000000000000007"];
    assert_eq!(submit("2", &request).stdout, submit("2", &request).stdout);
    assert_eq!(submit("3", &request).code, 4);
}

#[test]
fn submit_with_wait_delivers_the_result() {
    let mesh = Mesh::new();
    let said = mesh.run_with_input(&["submit", "--agent", "hash", "--input", "-", "--wait"], "\"abc\"");
    assert_eq!(said.code, 0, "{}", said.stderr);
    assert_eq!(said.json()["bytes"], 5);
    mesh.file("input.json", "[1,2]");
    let said = mesh.run(&["submit", "--agent", "echo", "--input", "@input.json", "--wait"]);
    assert_eq!(said.stdout, "[1,2]\n");
}

#[test]
fn unknown_agents_are_refused_with_where_to_find_those_that_are_known() {
    let mesh = Mesh::new();
    assert_snapshot!(mesh.run(&["submit", "--agent", "ehco"]).seen(), @"
    exit 2
    --- stdout
    --- stderr
    error[unknown_agent] RM0005: there is no agent `ehco`
      hint: did you mean `echo`?
      hint: list agents with `relaymesh agent list`; your own are defined in agents.toml in the root
      page: docs/reference/errors.md#unknown_agent
    ");
    assert!(!mesh.root().exists(), "a refused submit makes no root");
    let flow = mesh.file("flow.yaml", "name: n\nsteps:\n  - id: a\n    agent: claude\n");
    assert_snapshot!(mesh.run(&["run", flow]).seen(), @"
    exit 2
    --- stdout
    --- stderr
    error[unknown_agent] RM0005: there is no agent `claude`
        --> flow.yaml:4:12
      4 |     agent: claude
        |            ^
      hint: list agents with `relaymesh agent list`; your own are defined in agents.toml in the root
      page: docs/reference/errors.md#unknown_agent
    ");
}

#[test]
fn bad_arguments_and_bad_input() {
    let mesh = Mesh::new();
    assert_snapshot!(mesh.run(&["submit", "--agent", "echo", "--input", "{oops"]).seen(), @r#"
    exit 2
    --- stdout
    --- stderr
    error[bad_input] RM0002: --input: not valid JSON: key must be a string at line 1 column 2
      hint: quote a string: --input '"hello"'; read a file: --input @FILE
      page: docs/reference/errors.md#bad_input
    "#);
    let usage = mesh.run(&["submit"]);
    assert_eq!(usage.code, 2);
    assert!(usage.stderr.starts_with("error[usage] RM0001: "), "{}", usage.stderr);
    assert_eq!(mesh.run(&["submit", "--json"]).code, 2);
    assert_eq!(mesh.run(&["submit", "--agent", "echo", "--input", "18446744073709551616"]).code, 2);
    assert_eq!(mesh.run(&["submit", "--agent", "echo", "--file", "x"]).code, 2);
    assert_eq!(mesh.run(&["submit", "--agent", "echo", "--new", "--key", "k"]).code, 2);
}

#[test]
fn the_hello_example_runs() {
    let mesh = Mesh::new();
    let said = mesh.run(&["run", &example("hello.yaml")]);
    assert_snapshot!(said.seen(), @r#"
    exit 0
    --- stdout
    {"bytes":70,"sha256":"HASH"}
    --- stderr
    note: created a new root in root
    accepted tsk_… (hello, 6 steps)
    ✓ SUCCESS tsk_… (hello) in SPAN
    "#);
    let again = mesh.run(&["run", &example("hello.yaml")]);
    assert_eq!((again.code, &again.stdout), (0, &said.stdout));
    assert_snapshot!(again.stderr.lines().next().map(crate::common::normalised).unwrap(), @"already submitted as tsk_…; `--new` runs it again");
}

#[test]
fn errors_are_objects_with_json() {
    let mesh = Mesh::new();
    let error = mesh.run(&["task", "list", "--json"]).error();
    assert_eq!(error["code"], "no_root");
    assert_eq!(error["page"], "docs/reference/errors.md#no_root");
    assert!(error["hints"].as_array().unwrap().len() > 1);
    let flow = mesh.file("flow.yaml", "name: n\nsteps:\n  - id: a\n    agnet: echo\n");
    let error = mesh.run(&["run", flow, "--json"]).error();
    assert_eq!((&error["at"]["line"], &error["at"]["file"]), (&4.into(), &"flow.yaml".into()));
    assert_eq!(mesh.run(&["nonsense", "--json"]).stderr.lines().count(), 1);
}
