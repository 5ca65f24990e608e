//! Reading: tasks, the log, and checks of the store.

use crate::common::Mesh;
use insta::assert_snapshot;
use std::path::Path;

#[test]
fn a_task_is_shown_as_a_table_and_as_json() {
    let mesh = Mesh::new();
    let flow = mesh.file("flow.yaml", "name: trip\nsteps:\n  - {id: a, agent: echo, input: {x: 1}}\n  - {id: b, agent: fail, depends_on: [a], input: {message: no luck, retryable: false}}\n");
    assert_eq!(mesh.run(&["run", flow]).code, 10);
    let id = mesh.run(&["task", "list", "--json"]).json()["task"].as_str().unwrap().to_owned();
    let said = mesh.run(&["task", "show", &id]);
    let steps = said.stdout.split_once("\n\n").unwrap().1;
    let columns: Vec<&str> = steps.lines().next().unwrap().split_whitespace().collect();
    assert_eq!(columns.join(" "), "STEP AGENT STATUS ATTEMPT TOOK RESULT OR ERROR");
    assert!(steps.contains("✓ SUCCESS") && steps.contains("{\"x\":1}"), "{steps}");
    assert!(steps.contains("✗ FAILED") && steps.contains("no luck"), "{steps}");
    let shown = mesh.show(&id);
    assert_eq!((&shown["failed_step"], &shown["steps"][0]["result"]["x"]), (&"b".into(), &1.into()));
    assert_eq!(shown["steps"][1]["history"][0]["outcome"], "FAILED");
    let history = mesh.run(&["task", "show", &id, "--history"]).stdout;
    assert!(history.contains("OUTCOME"), "{history}");
    // The end of an id is enough.
    assert_eq!(mesh.run(&["task", "show", &id[id.len() - 8..], "--json"]).json()["task"], id);
}

#[test]
fn ids_that_are_none_and_tasks_that_are_not_there() {
    let mesh = Mesh::new();
    assert_snapshot!(mesh.run(&["task", "list"]).seen(), @"
    exit 3
    --- stdout
    --- stderr
    error[no_root] RM0008: there is no root in root
      hint: create it with `relaymesh init`
      hint: or name another root with `--root DIR` or RELAYMESH_ROOT
      page: docs/reference/errors.md#no_root
    ");
    mesh.run(&["init"]);
    assert_snapshot!(mesh.run(&["task", "show", "nod_01HF7YAT000000000000000007"]).seen(), @"
    exit 2
    --- stdout
    --- stderr
    error[bad_id] RM0004: `nod_…` is not a task id: it must start with `tsk_`
      hint: list ids with `relaymesh task list`
      page: docs/reference/errors.md#bad_id
    ");
    assert_snapshot!(mesh.run(&["task", "show", "tsk_01HF7YAT000000000000000007"]).seen(), @"
    exit 3
    --- stdout
    --- stderr
    error[no_task] RM0009: there is no task tsk_… in this root
      hint: list ids with `relaymesh task list`
      page: docs/reference/errors.md#no_task
    ");
    for command in ["wait", "cancel", "retry"] {
        assert_eq!(mesh.run(&["task", command, "tsk_01HF7YAT000000000000000007"]).code, 3, "{command}");
    }
}

#[test]
fn tasks_are_listed_newest_first_by_page_status_and_namespace() {
    let mesh = Mesh::new();
    let ids: Vec<String> = ["1", "2", "3"].iter().map(|n| mesh.submit(&["--agent", "echo", "--input", n])).collect();
    mesh.make("other");
    mesh.submit(&["--agent", "echo", "--namespace", "other"]);
    assert_eq!(mesh.run(&["task", "wait", &ids[0]]).code, 0);
    let listed = |arguments: &[&str]| -> Vec<String> {
        let said = mesh.run(&[&["task", "list", "--json"], arguments].concat());
        said.lines().iter().map(|line| line["task"].as_str().unwrap().to_owned()).collect()
    };
    assert_eq!(listed(&[]), [ids[2].clone(), ids[1].clone(), ids[0].clone()]);
    assert_eq!(listed(&["--limit", "1", "--before", &ids[2]]), [ids[1].clone()]);
    assert_eq!(listed(&["--namespace", "other"]).len(), 1);
    assert_eq!(listed(&["--status", "dead-letter"]).len(), 0);
    assert!(listed(&["--status", "SUCCESS"]).contains(&ids[0]));
    assert_eq!(mesh.run(&["task", "list", "--status", "SUCESS"]).code, 2);
    let table = mesh.run(&["task", "list", "--limit", "2"]);
    assert!(table.stdout.starts_with("ID "), "{}", table.stdout);
    assert!(table.stderr.contains("--before"), "{}", table.stderr);
}

#[test]
fn the_log_is_shown_for_people_and_for_programs() {
    let mesh = Mesh::new();
    let said = mesh.run(&["submit", "--agent", "echo", "--wait", "--json"]);
    let id = said.lines()[0]["task"].as_str().unwrap().to_owned();
    assert_snapshot!(mesh.run(&["log", "show"]).seen(), @"
    exit 0
    --- stdout
           1  TIME  ScheduleJob   tsk_…     -  tester/cli
           2  TIME  ClaimWork     tsk_…     0  node/driver
           3  TIME  CompleteJob   tsk_…     0  node/driver
    --- stderr
    ");
    let lines = mesh.run(&["log", "show", "--json", "--task", &id]).lines();
    let kinds: Vec<&str> = lines.iter().map(|op| op["kind"].as_str().unwrap()).collect();
    assert_eq!(kinds, ["ScheduleJob", "ClaimWork", "CompleteJob"]);
    assert_eq!(
        (&lines[0]["author"], &lines[0]["source"], &lines[0]["pos"]),
        (&"tester".into(), &"cli".into(), &1.into())
    );
    assert_eq!(lines[2]["hash"].as_str().unwrap().len(), 64);
    assert_eq!(mesh.run(&["log", "show", "--json", "--from", "2", "--limit", "1"]).json()["pos"], 2);
}

#[test]
fn a_whole_store_verifies_and_rebuilds() {
    let mesh = Mesh::new();
    assert_eq!(mesh.run(&["submit", "--agent", "echo", "--wait"]).code, 0);
    mesh.submit(&["--agent", "echo", "--input", "2"]);
    assert_snapshot!(mesh.run(&["log", "verify"]).seen(), @"
    exit 0
    --- stdout
    ops    4
    tasks  2
    steps  2
    state  HASH
    --- stderr
    the log and the tables are intact
    ");
    let json = mesh.run(&["log", "verify", "--json"]).json();
    assert_eq!((&json["ok"], &json["tasks"], &json["steps"]), (&true.into(), &2.into(), &2.into()));
    assert_snapshot!(mesh.run(&["log", "rebuild"]).seen(), @"
    exit 0
    --- stdout
    ops          4
    tasks        2
    differences  0
    --- stderr
    the tables match the log
    ");
    let left: Vec<_> = std::fs::read_dir(mesh.root()).unwrap().map(|file| file.unwrap().file_name()).collect();
    assert!(!left.iter().any(|name| name.to_string_lossy().starts_with("rebuild-")), "{left:?}");
}

#[test]
fn an_empty_store_verifies_and_rebuilds() {
    let mesh = Mesh::new();
    mesh.run(&["init"]);
    assert_eq!(mesh.run(&["log", "verify"]).code, 0);
    assert_eq!(mesh.run(&["log", "rebuild"]).code, 0);
    assert_eq!(mesh.run(&["log", "show"]).stdout, "");
}

/// Copies the files of a root.
#[allow(clippy::unwrap_used, reason = "part of a test")]
fn copy(from: &Path, to: &Path) {
    std::fs::create_dir_all(to).unwrap();
    for file in std::fs::read_dir(from).unwrap().map(Result::unwrap) {
        std::fs::copy(file.path(), to.join(file.file_name())).unwrap();
    }
}

#[test]
fn an_older_copy_is_found_and_recovery_needs_consent() {
    let mesh = Mesh::new();
    mesh.submit(&["--agent", "echo", "--input", "1"]);
    let old = mesh.folder.path().join("old");
    copy(&mesh.root(), &old);
    mesh.submit(&["--agent", "echo", "--input", "2"]);
    for name in ["relaymesh.db", "relaymesh.db-wal", "relaymesh.db-shm"] {
        let _ = std::fs::remove_file(mesh.root().join(name));
        let _ = std::fs::copy(old.join(name), mesh.root().join(name));
    }
    let refused = mesh.run(&["submit", "--agent", "echo", "--input", "3", "--json"]);
    assert_eq!((refused.code, refused.error()["code"].as_str().unwrap()), (6, "amnesia"));
    assert_eq!(mesh.run(&["log", "verify"]).code, 6, "the sidecar remembers");
    let listed = mesh.run(&["task", "list", "--json"]);
    assert_eq!(listed.lines().len(), 1, "reads go on");
    assert!(listed.stderr.contains("older than what was acknowledged"), "and say so: {}", listed.stderr);
    let unsaid = mesh.run(&["log", "recover"]);
    assert_eq!(unsaid.code, 4);
    assert!(unsaid.stderr.contains("--accept-loss"), "{}", unsaid.stderr);
    let said = mesh.run(&["log", "recover", "--accept-loss", "--json"]);
    assert_eq!(said.code, 0, "{}", said.stderr);
    assert_eq!((&said.json()["origin_epoch"], &said.json()["lost"]), (&2.into(), &serde_json::json!([2, 2])));
    let verified = mesh.run(&["log", "verify"]);
    assert_eq!(verified.code, 0, "{}", verified.stderr);
    mesh.submit(&["--agent", "echo", "--input", "3"]);
    assert_eq!(mesh.run(&["log", "verify"]).code, 0);
    assert_eq!(mesh.run(&["log", "rebuild"]).code, 0);
    assert_eq!(mesh.run(&["log", "recover", "--accept-loss"]).code, 4, "nothing is lost");
}
