//! Namespaces: made before they are used, so that a slip of the finger puts nothing where nobody looks.

use crate::common::{Mesh, house::House};
use insta::assert_snapshot;

#[test]
fn a_slip_in_the_name_is_refused_and_what_was_made_is_used_and_remembered() {
    let house = House::new();
    let made = house.run(&["ns", "create", "team-a", "--about", "the first team"]);
    assert_eq!((made.code, made.stdout.as_str()), (0, "team-a\n"), "{}", made.stderr);
    assert!(made.stderr.contains("created"), "{}", made.stderr);

    let slip = ["submit", "--agent", "echo", "--namespace", "taem-a"];
    assert_snapshot!(house.run(&slip).seen(), @"
    exit 3
    --- stdout
    --- stderr
    error[no_namespace] RM0034: there is no namespace `taem-a`
      hint: did you mean `team-a`?
      hint: create it with `relaymesh ns create taem-a`
      hint: list namespaces with `relaymesh ns list`
      page: docs/reference/errors.md#no_namespace
    ");
    let send = ["message", "send", "--to", "ben", "--input", "1", "--namespace", "taem-a"];
    let lock = ["lock", "acquire", "a", "--namespace", "taem-a"];
    for refused in [&slip[..], &send, &lock] {
        let refused = house.run(&[refused, &["--json"]].concat());
        let error = refused.error();
        assert_eq!((refused.code, &error["number"]), (3, &"RM0034".into()), "{error}");
        assert_eq!(error["hints"][0], "did you mean `team-a`?");
    }
    assert_eq!(house.run(&["ns", "list", "--json"]).lines().len(), 2, "nothing came into being");

    let done = house.run(&["submit", "--agent", "echo", "--input", "1", "--namespace", "team-a", "--wait"]);
    assert_eq!(done.code, 0, "{}", done.stderr);
    house.kill();
    let after = house.run(&["submit", "--agent", "echo", "--input", "2", "--namespace", "team-a", "--wait"]);
    assert_eq!(after.code, 0, "{}", after.stderr);
    assert_snapshot!(house.run(&["ns", "list"]).seen(), @"
    exit 0
    --- stdout
    NAMESPACE  TASKS  OPEN  MESSAGES  OPEN  LOCKS  CREATED                   ABOUT
    default    0      0     0         0     0      -
    team-a     2      0     0         0     0      TIME  the first team
    --- stderr
    ");
    let listed = house.run(&["ns", "list", "--json"]).lines();
    assert_eq!((&listed[1]["about"], &listed[1]["author"]), (&"the first team".into(), &"tester".into()));
    assert!(listed[1]["created_ms"].as_u64().is_some_and(|ms| ms > 0) && listed[0]["created_ms"].is_null());
    assert_eq!(house.run(&["log", "verify"]).code, 0);
}

#[test]
fn a_namespace_that_is_there_stays_as_it_is() {
    let mesh = Mesh::new();
    let first = mesh.run(&["ns", "create", "team-a", "--about", "the first team", "--json"]);
    assert_eq!(first.json(), serde_json::json!({ "namespace": "team-a", "created": true }));
    let second = mesh.run(&["ns", "create", "team-a", "--about", "another one", "--json"]);
    assert_eq!((second.code, second.json()["created"].as_bool()), (0, Some(false)));
    assert_eq!(mesh.run(&["ns", "create", "default", "--json"]).json()["created"], false);
    assert_eq!(mesh.run(&["ns", "list", "--json"]).lines()[1]["about"], "the first team");
    let kinds = mesh.run(&["audit", "query", "--kind", "create-namespace", "--json"]).lines();
    assert_eq!((kinds.len(), &kinds[0]["about"]["about"]), (1, &"the first team".into()));
}

#[test]
fn what_is_said_about_a_namespace_is_one_short_line() {
    let mesh = Mesh::new();
    for (about, says) in [("x".repeat(501), "501 characters"), ("two\nlines".to_owned(), "must be one line of text")] {
        let said = mesh.run(&["ns", "create", "team-a", "--about", &about]);
        assert!(said.code == 4 && said.stderr.contains(says), "{}", said.stderr);
    }
    assert_eq!(mesh.run(&["ns", "create", "a/b"]).code, 2, "not a name");
    assert_eq!(mesh.run(&["ns", "create", "team-a", "--about", &"é".repeat(500)]).code, 0);
}

#[test]
fn a_namespace_survives_a_compaction_and_a_rebuild() {
    let mesh = Mesh::new();
    assert_eq!(mesh.run(&["ns", "create", "team-a", "--about", "kept"]).code, 0);
    assert_eq!(mesh.run(&["log", "compact"]).code, 0);
    assert!(!mesh.run(&["log", "show", "--json"]).stdout.contains("CreateNamespace"), "its op is gone");
    for command in [&["log", "verify"][..], &["log", "rebuild"]] {
        let said = mesh.run(command);
        assert_eq!(said.code, 0, "{command:?}: {}", said.stderr);
    }
    assert_eq!(mesh.run(&["ns", "list", "--json"]).lines()[1]["about"], "kept");
    mesh.submit(&["--agent", "echo", "--namespace", "team-a"]);
}
