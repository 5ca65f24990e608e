//! Namespaces, exports of tasks, and errors explained.

use crate::common::Mesh;
use insta::assert_snapshot;

#[test]
fn namespaces_are_listed_with_what_is_in_them() {
    let mesh = Mesh::new();
    assert_eq!(mesh.run(&["submit", "--agent", "echo", "--wait"]).code, 0);
    ["team-a", "team-b", "team-c"].iter().for_each(|made| mesh.make(made));
    mesh.submit(&["--agent", "echo", "--namespace", "team-a"]);
    mesh.run(&["message", "send", "--to", "ben", "--input", "1", "--namespace", "team-b"]);
    mesh.run(&["lock", "acquire", "a", "--repository", "app", "--namespace", "team-b"]);
    assert_snapshot!(mesh.run(&["ns", "list"]).seen(), @"
    exit 0
    --- stdout
    NAMESPACE  TASKS  OPEN  MESSAGES  OPEN  LOCKS  CREATED                   ABOUT
    default    1      0     0         0     0      -
    team-a     1      1     0         0     0      TIME
    team-b     0      0     1         1     1      TIME
    team-c     0      0     0         0     0      TIME
    --- stderr
    ");
    let lines = mesh.run(&["ns", "list", "--json"]).lines();
    assert_eq!((&lines[2]["namespace"], &lines[2]["locks"]), (&"team-b".into(), &1.into()));
}

#[test]
fn a_task_is_exported_with_what_was_asked_and_what_came_of_it() {
    let mesh = Mesh::new();
    let long = format!("\"{}\"", "x".repeat(9000));
    let first = mesh.run(&["submit", "--agent", "echo", "--input", &long, "--wait", "--json"]);
    let first = first.lines()[0]["task"].as_str().unwrap().to_owned();
    let second = mesh.submit(&["--agent", "echo", "--input", "{\"n\":2}"]);
    mesh.make("other");
    mesh.submit(&["--agent", "echo", "--namespace", "other"]);
    let one = mesh.run(&["task", "export", &first]).json();
    assert_eq!(one["request"]["steps"][0]["input"].as_str().map(str::len), Some(9000), "from its blob");
    assert_eq!(one["request"]["steps"][0]["input"], one["result"]);
    assert!(one["steps"][0]["result"].is_null(), "it stands once");
    assert_eq!(one["steps"][0]["history"][0]["outcome"], "SUCCESS");
    let many = mesh.run(&["task", "export", &second, &first]).lines();
    assert_eq!((&many[0]["request"]["steps"][0]["input"]["n"], &many[1]), (&2.into(), &one));
    let all = mesh.run(&["task", "export", "--all"]).lines();
    assert_eq!((all.len(), &all[0]), (2, &one), "of this namespace, the oldest first");
    assert_eq!(mesh.run(&["task", "export"]).code, 2);
    let wrong = mesh.run(&["task", "export", &first, "tsk_01HF7YAT000000000000000007"]);
    assert_eq!((wrong.code, wrong.stdout.as_str()), (3, ""), "nothing is written before all are found");
}

#[test]
fn an_error_is_explained_by_number_and_by_name() {
    let mesh = Mesh::new();
    let said = mesh.run(&["explain", "disk_full"]);
    assert_snapshot!(said.seen(), @"
    exit 0
    --- stdout
    RM0025 disk_full (exit code 7: disk full)

    Means:   The disk is full, or has less free space than the reserve.

    Changed: Nothing: the write was rolled back. Reads still work.

    Do:      Free some space and repeat the command.

    hint: free some space and repeat the command; reads still work
    --- stderr
    ");
    let number = mesh.run(&["explain", "disk_full", "--json"]).json()["number"].as_str().unwrap().to_owned();
    assert_eq!(mesh.run(&["explain", &number]).stdout, said.stdout);
    assert_snapshot!(mesh.run(&["explain", "disk_ful"]).seen(), @"
    exit 2
    --- stdout
    --- stderr
    error[usage] RM0001: there is no error `disk_ful`
      hint: did you mean `disk_full`?
      hint: list all with `relaymesh explain --list`
      page: docs/reference/errors.md#usage
    ");
    let error = mesh.run(&["task", "list", "--json"]).error();
    assert_eq!(error["number"], "RM0008");
    assert!(mesh.run(&["explain", "--list"]).stdout.contains("RM0008  no_root"));
    assert_eq!(mesh.run(&["explain"]).code, 2);
}
