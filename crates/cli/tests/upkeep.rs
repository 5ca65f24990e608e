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
    for age in [["--older-than", "0s"], ["--days", "0"]] {
        // Nothing can be purged, so nothing is asked.
        let purged = mesh.run(&[&["purge", "--json"], &age[..]].concat());
        assert_eq!((purged.code, &purged.json()["purged"]), (0, &0.into()), "{}", purged.stderr);
        assert_eq!(purged.json()["kept_by"], "idempotency_ttl_days");
        let why = mesh.run(&[&["purge"], &age[..]].concat());
        assert!(why.stdout == "purged 0\n" && why.stderr.contains("valid for 7 days"), "{}{}", why.stdout, why.stderr);
    }
    let young = mesh.run(&["purge", "--older-than", "1h"]);
    assert!(young.code == 0 && young.stderr.contains("nothing ended before"), "{}", young.stderr);
    assert_eq!(mesh.run(&["purge", "--older-than", "soon"]).code, 2);
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

#[test]
fn what_is_older_than_its_key_is_purged_by_age_after_a_confirmation() {
    let mesh = Mesh::new();
    let tasks = ["a", "b"].map(|key| ended(&mesh, key));
    std::fs::write(mesh.root().join("relaymesh-settings.json"), "{\"idempotency_ttl_days\": 0}").unwrap();
    let asked = mesh.run(&["purge", "--older-than", "0s"]);
    assert!(asked.code == 4 && asked.stderr.contains("--yes"), "{}", asked.stderr);
    let purged = mesh.run(&["purge", "--older-than", "0s", "--yes", "--json"]);
    assert_eq!((purged.code, &purged.json()["purged"]), (0, &2.into()), "{} {tasks:?}", purged.stderr);
    assert_eq!(purged.json()["kept_by"], serde_json::Value::Null);
    assert_eq!((count(&mesh), mesh.run(&["purge", "--older-than", "0s"]).code), (0, 0));
}

/// The space that the database takes on the disk, and how much of that is free.
fn room(house: &House) -> (u64, u64) {
    let stats = house.json(&["log", "stats"]);
    (stats["database_bytes"].as_u64().unwrap(), stats["free_bytes"].as_u64().unwrap())
}

#[test]
fn shrinking_works_through_the_running_daemon_and_starts_none() {
    let house = House::new();
    let input = format!("\"{}\"", "x".repeat(7_000));
    let submit = ["submit", "--agent", "echo", "--new", "--wait", "--json", "--input", &input];
    let tasks: Vec<String> =
        (0..40).map(|_| house.run(&submit).lines()[0]["task"].as_str().unwrap().to_owned()).collect();
    let pid = house.pid();
    let purge: Vec<&str> = tasks.iter().map(String::as_str).collect();
    assert_eq!(house.run(&[&["purge", "--yes"], &purge[..]].concat()).code, 0);
    let compacted = house.run(&["log", "compact", "--yes"]);
    assert!(compacted.code == 0 && compacted.stderr.contains("relaymesh log compact --shrink"), "{}", compacted.stderr);
    let (full, free) = room(&house);
    assert!(free > 40 * 7_000, "{free} of {full}");
    let shrunk = house.run(&["log", "compact", "--shrink"]);
    assert_eq!(shrunk.code, 0, "{}", shrunk.stderr);
    assert_eq!(house.pid(), pid, "the daemon has done it, and goes on");
    let (small, free) = room(&house);
    assert!(small < full / 2 && free == 0, "{full} bytes became {small}, of which {free} are free");
    let again = house.run(&submit);
    assert_eq!(again.code, 0, "work goes on: {}", again.stderr);
    assert_eq!(house.run(&["log", "verify"]).code, 0);
    // And without a daemon, as an operator does it who has stopped the service.
    assert_eq!(house.run(&["down"]).code, 0);
    let alone = house.run(&["log", "compact", "--shrink"]);
    assert_eq!((alone.code, house.pid()), (0, None), "{}", alone.stderr);
    assert!(!alone.stderr.contains("started the daemon"), "{}", alone.stderr);
    assert_eq!(house.run(&["log", "verify"]).code, 0);
}

/// Commands that work on a root that nobody else uses: each says so plainly while a daemon runs, and starts none without one.
#[test]
fn offline_commands_start_no_daemon() {
    let house = House::new();
    assert_eq!(house.run(&["submit", "--agent", "echo", "--wait"]).code, 0);
    for command in [["log", "scrub"], ["log", "recover"]] {
        let refused = house.run(&command);
        assert!(refused.code == 5 && refused.stderr.contains("relaymesh down"), "{command:?}: {}", refused.stderr);
    }
    assert_eq!(house.run(&["down"]).code, 0);
    let reads = [&["log", "verify"][..], &["log", "rebuild"], &["log", "stats"], &["log", "scrub"], &["doctor"]];
    for command in reads {
        let done = house.run(command);
        assert_eq!((done.code, house.pid()), (0, None), "{command:?}: {}", done.stderr);
    }
    let nothing = house.run(&["log", "recover"]);
    assert!(nothing.stderr.contains("nothing is lost") && house.pid().is_none(), "{}", nothing.stderr);
    assert_eq!((house.run(&["backup", "copy"]).code, house.pid()), (0, None));
}

/// Files of a day long ago that the file bus knows, and one that it does not.
fn old_files(root: &std::path::Path) -> (std::path::PathBuf, std::path::PathBuf) {
    let day = root.join("done/2001-01-01");
    std::fs::create_dir_all(&day).unwrap();
    for name in ["a.receipt.json", "a.meta.json", "a.payload.json", "notes.txt"] {
        std::fs::write(day.join(name), "{}").unwrap();
    }
    (day.join("a.receipt.json"), day.join("notes.txt"))
}

#[test]
fn r35_old_files_of_the_file_bus_are_purged_and_what_it_does_not_know_stays() {
    let mesh = Mesh::new();
    ended(&mesh, "a");
    let (known, unknown) = old_files(&mesh.root());
    assert_eq!(mesh.run(&["purge"]).code, 0, "no task is old enough, so nothing is asked");
    assert!(known.exists() && unknown.exists(), "and nothing goes that nobody was asked about");
    let purged = mesh.run(&["purge", "--yes"]);
    assert_eq!(purged.code, 0, "{}", purged.stderr);
    assert!(!known.exists() && unknown.exists());
    let said = ["removed 3 old files from done/ and dead/", "kept 1 old files"];
    assert!(said.iter().all(|said| purged.stderr.contains(said)), "{}", purged.stderr);
}

#[test]
fn r35_the_daemon_removes_old_files_of_the_file_bus_by_itself() {
    let house = House::new();
    assert_eq!(house.run(&["init"]).code, 0);
    let (known, unknown) = old_files(&house.0.root());
    assert_eq!(house.run(&["up", "--detach"]).code, 0);
    house.0.until("the old receipt is gone", |_| !known.exists());
    assert!(unknown.exists());
}

#[test]
fn r15_folders_are_compared_with_rows_and_what_differs_is_reported() {
    let house = House::new();
    let long = house.0.file("long.json", &format!("\"{}\"", "x".repeat(100_000)));
    let submit = ["submit", "--agent", "echo", "--wait", "--input", &format!("@{long}")];
    assert_eq!(house.run(&submit).code, 0);
    assert_eq!(house.run(&["down"]).code, 0);
    let log = |mesh: &Mesh| std::fs::read_to_string(mesh.root().join("daemon.log")).unwrap();
    let lines = |text: &str, event: &str| {
        text.lines().filter(|line| line.contains(event)).map(str::to_owned).collect::<Vec<_>>()
    };
    let first = log(&house.0);
    assert!(lines(&first, "blobs_compared").iter().all(|line| line.contains("missing=0")), "{first}");
    let blob = std::fs::read_dir(house.0.root().join("blobs")).unwrap().next().unwrap().unwrap();
    std::fs::rename(blob.path(), house.0.root().join("taken-away")).unwrap();
    assert_eq!(house.run(&["up", "--detach"]).code, 0);
    let name = blob.file_name().into_string().unwrap();
    house.0.until("the missing blob is reported", |mesh| {
        lines(&log(mesh), "blobs_compared").iter().any(|line| line.contains(&name) && line.contains("error"))
    });
    house.0.until("the bus has compared", |mesh| !lines(&log(mesh), "bus_compared").is_empty());
}
