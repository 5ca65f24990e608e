//! Steps that work in a git worktree, with a real git under a real daemon.

#![allow(clippy::unwrap_used, reason = "a test that cannot go on should stop")]

use crate::common::{found, house::House};
use serde_json::{Value, json};
use std::{
    path::{Path, PathBuf},
    process::Command,
};

fn git(folder: &Path, words: &[&str]) -> String {
    let output = Command::new("git")
        .args(["-C", folder.to_str().unwrap(), "-c", "user.name=t", "-c", "user.email=t@localhost"])
        .args(words)
        .output()
        .unwrap();
    assert!(output.status.success(), "{words:?}: {}", String::from_utf8_lossy(&output.stderr));
    String::from_utf8(output.stdout).unwrap().trim().to_owned()
}

/// A root with this agent, and a repository beside it.
fn house(script: &str) -> House {
    let house = House::new();
    std::fs::create_dir_all(house.0.root()).unwrap();
    std::fs::write(house.0.root().join("mend.sh"), script).unwrap();
    let toml =
        "[agents.mender]\ncommand = [\"sh\", \"mend.sh\"]\nretry = { base_backoff = \"1ms\", max_backoff = \"1ms\" }\n";
    std::fs::write(house.0.root().join("agents.toml"), toml).unwrap();
    let repository = repository(&house);
    std::fs::create_dir(&repository).unwrap();
    git(&repository, &["init", "--quiet", "--initial-branch", "main"]);
    std::fs::write(repository.join("a.txt"), "one\n").unwrap();
    git(&repository, &["add", "--all"]);
    git(&repository, &["commit", "--quiet", "-m", "first"]);
    house
}

fn repository(house: &House) -> PathBuf {
    house.0.folder.path().join("repo")
}

fn submit(house: &House, branch: &str, attempts: u32) -> String {
    let flow = json!({ "name": "mend", "steps": [{
        "id": "fix", "agent": "mender", "input": 1, "retry": { "max_attempts": attempts },
        "workspace": { "git": "repo", "ref": "main", "branch": branch },
    }]});
    let said = house.json(&["submit", "--file", house.0.file("f.json", &flow.to_string()), "--new"]);
    said["task"].as_str().unwrap_or_else(|| panic!("{said}")).to_owned()
}

#[test]
fn what_a_step_did_is_on_its_branch_and_its_result_says_where() {
    let house = house("echo two >> a.txt; echo new > b.txt; git rev-parse --abbrev-ref HEAD\n");
    let task = submit(&house, "topic", 1);
    let waited = house.run(&["task", "wait", &task]);
    assert_eq!(waited.code, 0, "{}", waited.stderr);
    let result: Value = serde_json::from_str(&waited.stdout).unwrap();
    assert_eq!(result["result"], "topic", "it worked on its branch");
    let found = &result["workspace"];
    assert_eq!((&found["branch"], &found["files"], &found["insertions"]), (&json!("topic"), &json!(2), &json!(2)));
    assert_eq!(found["commit"], git(&repository(&house), &["rev-parse", "topic"]));
    assert_eq!(git(&repository(&house), &["show", "topic:b.txt"]), "new");
    assert_eq!(
        git(&repository(&house), &["status", "--porcelain"]),
        "",
        "the tree of the repository itself is untouched"
    );
    assert!(!house.0.root().join("workspaces").join(&task).join("fix").exists(), "the branch has everything");
}

#[test]
fn a_branch_that_somebody_works_on_is_locked_and_the_conflict_is_explained() {
    let house = house(
        "echo mine > mine.txt; touch begun; until [ -e \"$RELAYMESH_ROOT/go\" ]; do sleep 0.02; done; rm begun\n",
    );
    let first = submit(&house, "topic", 1);
    found("it", || house.0.root().join("workspaces").join(&first).join("fix/begun").exists().then_some(()));
    let locks = house.run(&["lock", "list", "--json"]).stdout;
    assert!(locks.contains("branch/topic") && locks.contains("mender"), "{locks}");
    let second = submit(&house, "topic", 1);
    assert_ne!(house.run(&["task", "wait", &second]).code, 0);
    let shown = house.json(&["task", "show", &second]);
    let error = shown["steps"][0]["error"].as_str().unwrap();
    assert!(error.contains("branch `topic` of") && error.contains("is in use by `mender`"), "{error}");
    std::fs::write(house.0.root().join("go"), "").unwrap();
    assert_eq!(house.run(&["task", "wait", &first]).code, 0);
    found("it", || house.run(&["lock", "list", "--json"]).stdout.trim().is_empty().then_some(()));
    let third = submit(&house, "topic", 1);
    assert_eq!(house.run(&["task", "wait", &third]).code, 0, "{}", house.json(&["task", "show", &third]));
}

#[test]
fn a_tree_is_kept_on_failure_and_the_retry_goes_on_in_it_also_after_a_kill() {
    let script = "if [ -e half.txt ]; then echo whole >> half.txt; else echo half > half.txt; \
                  if [ -e \"$RELAYMESH_ROOT/hang\" ]; then exec tail -f /dev/null; fi; exit 1; fi\n";
    let house = house(script);
    let task = submit(&house, "topic", 2);
    let waited = house.run(&["task", "wait", &task]);
    assert_eq!(waited.code, 0, "{}", house.json(&["task", "show", &task, "--history"]));
    assert_eq!(git(&repository(&house), &["show", "topic:half.txt"]), "half\nwhole");
    std::fs::write(house.0.root().join("hang"), "").unwrap();
    let task = submit(&house, "other", 2);
    let half = house.0.root().join("workspaces").join(&task).join("fix/half.txt");
    found("it", || half.exists().then_some(()));
    house.kill();
    assert_eq!(house.run(&["task", "wait", &task]).code, 0, "{}", house.json(&["task", "show", &task, "--history"]));
    assert_eq!(git(&repository(&house), &["show", "other:half.txt"]), "half\nwhole");
    // One that fails for good stays to be looked at, and says where.
    let failing = submit(&house, "third", 1);
    std::fs::remove_file(house.0.root().join("hang")).unwrap();
    let kept = house.0.root().join("workspaces").join(&failing).join("fix");
    found("it", || kept.join("half.txt").exists().then_some(()));
    house.run(&["task", "cancel", &failing]);
    assert!(kept.exists());
}

#[test]
fn a_repository_that_does_not_exist_fails_the_check_and_the_first_attempt() {
    let house = house("true\n");
    let flow = |git: &str| {
        let step = json!({ "id": "fix", "agent": "mender", "input": 1, "workspace": { "git": git } });
        json!({ "name": "mend", "steps": [step] }).to_string()
    };
    let checked = house.run(&["flow", "check", house.0.file("f.json", &flow("../nowhere"))]);
    assert!(checked.code == 2 && checked.stderr.contains("(`workspace.git`) does not exist"), "{}", checked.stderr);
    assert!(checked.stderr.contains("f.json:1:"), "{}", checked.stderr);
    let ran = house.run(&["run", "f.json"]);
    assert!(ran.code == 10 && ran.stderr.contains("relative to the root"), "{}", ran.stderr);
    let task = house.json(&["task", "list"])["task"].as_str().unwrap().to_owned();
    let step = &house.json(&["task", "show", &task])["steps"][0];
    assert_eq!((&step["attempt"], &step["status"]), (&json!(1), &json!("FAILED")), "no attempts are wasted: {step}");
    // Relative to the root, as `folder` and `writable` are; and as it was written before.
    for git in ["../repo", "repo"] {
        let said = house.run(&["flow", "check", house.0.file("f.json", &flow(git))]);
        assert_eq!(said.code, 0, "{git}: {}", said.stderr);
    }
}
