//! What is over is forgotten and let go of, from the command line.

use crate::common::{Mesh, house::House};

/// Runs a task to its end, and gives its id.
fn ended(mesh: &Mesh, key: &str) -> String {
    let ran = mesh.run(&["submit", "--agent", "echo", "--input", "{\"n\":1}", "--key", key, "--wait", "--json"]);
    assert_eq!(ran.code, 0, "{}", ran.stderr);
    let first = ran.stdout.lines().next().unwrap_or_default();
    let line: serde_json::Value = serde_json::from_str(first).unwrap_or_default();
    line["task"].as_str().unwrap_or_default().to_owned()
}

fn count(mesh: &Mesh) -> usize {
    mesh.run(&["task", "list", "--json"]).stdout.lines().count()
}

#[test]
fn a_purged_task_is_gone_and_a_compaction_lets_go_of_its_ops() {
    let mesh = Mesh::new();
    let tasks = ["a", "b", "c"].map(|key| ended(&mesh, key));
    assert_eq!(count(&mesh), 3);
    let asked = mesh.run(&["purge", &tasks[0]]);
    assert!(asked.code == 4 && asked.stderr.contains("--yes"), "{}", asked.stderr);
    let purged = mesh.run(&["purge", &tasks[0], &tasks[2], "--yes", "--json"]);
    assert_eq!((purged.code, &purged.json()["purged"]), (0, &2.into()), "{}", purged.stderr);
    assert_eq!(count(&mesh), 1);
    let gone = mesh.run(&["task", "show", &tasks[0]]);
    assert!(gone.code == 3 && gone.stderr.contains("error[no_task]"), "{}", gone.stderr);
    assert_ne!(ended(&mesh, "a"), tasks[0], "the key is free again");
    let compacted = mesh.run(&["log", "compact", "--shrink", "--json"]);
    assert_eq!((compacted.code, &compacted.json()["dropped"]), (0, &8.into()), "{}", compacted.stderr);
    let shown = mesh.run(&["log", "show"]);
    assert_eq!(shown.stdout.matches("and the ops before it were purged and compacted").count(), 2, "{}", shown.stdout);
    for check in ["verify", "rebuild", "scrub"] {
        assert_eq!(mesh.run(&["log", check]).code, 0);
    }
    assert_eq!(count(&mesh), 2);
    let stats = mesh.run(&["log", "stats", "--json"]).json();
    assert_eq!((&stats["ops"]["count"], &stats["horizon"]), (&7.into(), &14.into()), "{stats}");
}

#[test]
fn r35_what_is_young_stays_and_what_runs_cannot_be_purged() {
    let mesh = Mesh::new();
    ended(&mesh, "a");
    let purged = mesh.run(&["purge", "--days", "0", "--yes", "--json"]);
    assert_eq!((purged.code, &purged.json()["purged"]), (0, &0.into()), "{}", purged.stderr);
    let open = mesh.run(&["submit", "--agent", "echo", "--json"]).json()["task"].as_str().unwrap().to_owned();
    let refused = mesh.run(&["purge", &open, "--yes"]);
    assert!(refused.code == 4 && refused.stderr.contains("PENDING"), "{}", refused.stderr);
    assert_eq!(count(&mesh), 2);
}

#[test]
fn a_purge_that_was_cut_short_can_be_repeated_and_says_what_was_gone() {
    let mesh = Mesh::new();
    let [a, b, c] = ["a", "b", "c"].map(|key| ended(&mesh, key));
    assert_eq!(mesh.run(&["purge", &a, "--yes"]).code, 0, "killed after the first of three");
    let again = mesh.run(&["purge", &a, &b, &c, &b, "--yes", "--json"]);
    assert_eq!((again.code, &again.json()["purged"]), (0, &2.into()), "{}", again.stderr);
    assert_eq!(again.json()["gone"], serde_json::json!([a]));
    assert_eq!(count(&mesh), 0);
    let thread = "thr_01ARZ3NDEKTSV4RRFFQ69G5FAV";
    let nothing = mesh.run(&["purge", &a, thread]);
    assert_eq!((nothing.code, nothing.stdout.trim()), (0, "purged 0"), "there is nothing to confirm");
    for id in [a.as_str(), thread] {
        assert!(nothing.stderr.contains(&format!("gone: {id}")), "{}", nothing.stderr);
    }
    let part = mesh.run(&["purge", &b[b.len() - 6..], "--yes"]);
    assert_eq!(part.code, 3, "part of an id must be that of a task: {}", part.stderr);
    let (first, open) = (ended(&mesh, "d"), mesh.submit(&["--agent", "echo"]));
    let half = mesh.run(&["purge", &first, &open, "--yes"]);
    assert!(half.code == 4 && half.stderr.contains("1 of 2 were purged"), "{}", half.stderr);
}

/// The hint of `log compact` is `relaymesh down && relaymesh log compact --shrink`: it must work as it stands.
#[test]
fn shrinking_starts_no_daemon() {
    let house = House::new();
    assert_eq!(house.run(&["submit", "--agent", "echo", "--wait"]).code, 0);
    let refused = house.run(&["log", "compact", "--shrink"]);
    assert!(refused.code == 5 && refused.stderr.contains("relaymesh down"), "{}", refused.stderr);
    assert_eq!(house.run(&["down"]).code, 0);
    let shrunk = house.run(&["log", "compact", "--shrink"]);
    assert_eq!((shrunk.code, house.pid()), (0, None), "{}", shrunk.stderr);
}
