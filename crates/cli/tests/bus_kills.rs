//! The file bus and the end of the daemon: killed at each of its calls, and at any moment. What had a receipt is there, once; what had none is
//! taken in by the next daemon, once.
//!
//! What a kill cannot show is a power cut, because the page cache outlives the process. So one more test looks at the order of the
//! calls: payload synced, renamed, folders synced, committed and synced, acknowledged (D4).

#![allow(clippy::unwrap_used, reason = "a test that cannot go on should stop")]

use crate::common::house::House;
use serde_json::{Value, json};
use std::{
    collections::BTreeMap,
    fs,
    path::{Path, PathBuf},
    process::{Child, Command, Stdio},
};

/// More calls than the bus makes for two files.
const POINTS_MAX: usize = 80;
const KILLS: u64 = 20;

fn has_strace(test: &str) -> bool {
    let mut command = Command::new("strace");
    command.args(["-f", "-qq", "-o", "/dev/null", "true"]).stdin(Stdio::null());
    let is_there = command.stdout(Stdio::null()).stderr(Stdio::null()).status().is_ok_and(|status| status.success());
    let is_ci = std::env::var_os("CI").is_some_and(|value| value == "true");
    assert!(is_there || !is_ci, "{test} needs strace that may trace, and CI=true");
    if !is_there {
        eprintln!("SKIPPED: {test} needs strace that may trace: not here");
    }
    is_there
}

/// A root whose folders are there, and no daemon.
fn house() -> House {
    let house = House::new();
    assert_eq!(house.run(&["up", "--detach"]).code, 0);
    assert_eq!(house.run(&["down"]).code, 0);
    house
}

fn put(folder: &Path, name: &str, text: &str) {
    let own = folder.join(".being-written");
    fs::write(&own, text).unwrap();
    fs::rename(own, folder.join(name)).unwrap();
}

fn put_pair(root: &Path, id: &str, meta: &Value) {
    put(&root.join("payload"), &format!("{id}.payload.json"), &format!("\"{id}\""));
    put(&root.join("inbox/normal"), &format!("{id}.meta.json"), &meta.to_string());
}

/// A message and a task.
fn put_both(root: &Path, id: &str) -> [String; 2] {
    let ids = [format!("m-{id}"), format!("t-{id}")];
    put_pair(root, &ids[0], &json!({"to": "nobody", "from": "me"}));
    put_pair(root, &ids[1], &json!({"agent": "echo"}));
    ids
}

fn receipts(root: &Path) -> Vec<String> {
    let days = fs::read_dir(root.join("done")).unwrap().map(|day| day.unwrap().path());
    let names = days.flat_map(|day| fs::read_dir(day).unwrap().map(|entry| entry.unwrap().file_name()));
    let names = names.filter_map(|name| name.to_str().map(str::to_owned));
    names.filter_map(|name| name.strip_suffix(".receipt.json").map(str::to_owned)).collect()
}

fn all_have_receipts(root: &Path, ids: &[String]) -> bool {
    let found = receipts(root);
    ids.iter().all(|id| found.contains(id))
}

/// The daemon under strace, in the foreground.
fn traced(house: &House, options: &[String]) -> Child {
    let plain = house.command(&["up"]);
    let mut command = Command::new("strace");
    command.args(["-f", "-qq"]).args(options).arg(plain.get_program()).args(plain.get_args());
    command.current_dir(house.0.folder.path()).env_clear();
    command.envs(plain.get_envs().filter_map(|(name, value)| Some((name, value?))));
    command
        .env("PATH", "/usr/local/bin:/usr/bin:/bin")
        .stdin(Stdio::null())
        .stdout(Stdio::null())
        .stderr(Stdio::null());
    command.spawn().unwrap()
}

/// Everything is there, once, and nothing is left over.
fn check(house: &House, ids: &[String]) {
    let root = house.0.root();
    let mut count: BTreeMap<String, usize> = BTreeMap::new();
    for id in receipts(&root) {
        *count.entry(id).or_default() += 1;
    }
    let messages = house.run(&["msg", "inbox", "--agent", "nobody", "--limit", "10000", "--json"]).lines();
    let mut said: BTreeMap<String, usize> = BTreeMap::new();
    for message in messages {
        *said.entry(message["content"].as_str().unwrap().to_owned()).or_default() += 1;
    }
    for id in ids {
        assert_eq!(count.get(id), Some(&1), "{id}: one receipt");
        let expected = if id.starts_with("m-") { Some(&1) } else { None };
        assert_eq!(said.get(id), expected, "{id}: one message");
    }
    let tasks = house.run(&["task", "list", "--limit", "1000", "--json"]).lines();
    assert_eq!(tasks.len(), ids.iter().filter(|id| id.starts_with("t-")).count(), "one task for each");
    assert_eq!(fs::read_dir(root.join("dead")).unwrap().count(), 0, "nothing was refused");
    let left = |folder: &str| {
        let names = fs::read_dir(root.join(folder)).unwrap().map(|entry| entry.unwrap().file_name());
        names.filter(|name| !name.to_string_lossy().starts_with('.')).count()
    };
    assert_eq!(["payload", "meta", "inbox/normal"].map(left), [0; 3], "nothing is left");
    assert_eq!(house.run(&["log", "verify"]).code, 0);
}

#[test]
fn d4_a_kill_at_any_call_of_the_bus_loses_nothing_and_doubles_nothing() {
    if !has_strace("the kill test of the file bus") {
        return;
    }
    let house = house();
    let root = fs::canonicalize(house.0.root()).unwrap();
    let (mut ids, mut kills) = (Vec::new(), BTreeMap::new());
    for call in ["fsync", "renameat2"] {
        for number in 1..POINTS_MAX {
            let new = put_both(&root, &format!("{call}-{number}"));
            let day = fs::read_dir(root.join("done")).unwrap().next().map(|day| day.unwrap().path());
            let folders = ["inbox/normal", "payload", "meta", "done"].map(|folder| root.join(folder));
            let payloads = new.iter().map(|id| root.join(format!("payload/{id}.payload.json")));
            let metas = new.iter().map(|id| root.join(format!("inbox/normal/{id}.meta.json")));
            let paths: Vec<PathBuf> = folders.into_iter().chain(day).chain(payloads).chain(metas).collect();
            let mut options = vec!["-o".to_owned(), "/dev/null".to_owned(), "-e".to_owned(), format!("trace={call}")];
            options.extend(["-e".to_owned(), format!("inject={call}:signal=SIGKILL:when={number}")]);
            options.extend(paths.iter().flat_map(|path| ["-P".to_owned(), path.display().to_string()]));
            let mut child = traced(&house, &options);
            let mut is_killed = false;
            house.0.until("it is killed, or all is taken in", |_| {
                is_killed = child.try_wait().unwrap().is_some();
                is_killed || all_have_receipts(&root, &new)
            });
            let acknowledged: Vec<String> = receipts(&root);
            if is_killed {
                *kills.entry(call).or_insert(0) += 1;
                assert_eq!(house.run(&["up", "--detach"]).code, 0);
                house.0.until("the next daemon takes in the rest", |_| all_have_receipts(&root, &new));
            }
            assert!(all_have_receipts(&root, &acknowledged), "a receipt went away");
            ids.extend(new);
            assert_eq!(house.run(&["down"]).code, 0);
            child.wait().unwrap();
            if !is_killed {
                break;
            }
        }
    }
    println!("{kills:?} kills, {} files taken in", ids.len());
    assert!(kills["fsync"] >= 12 && kills["renameat2"] >= 6, "hardly a call was struck: {kills:?}");
    assert_eq!(house.run(&["up", "--detach"]).code, 0);
    check(&house, &ids);
}

#[test]
fn d4_what_has_a_receipt_is_there_once_after_kills_at_any_moment() {
    let house = house();
    let root = house.0.root();
    let mut ids = Vec::new();
    for kill in 0..KILLS {
        assert_eq!(house.run(&["up", "--detach"]).code, 0);
        let mut new = Vec::new();
        for number in 0..4 {
            new.extend(put_both(&root, &format!("{kill}-{number}")));
        }
        // At another place each time: after so many of them have a receipt.
        let enough = usize::try_from(kill % 8).unwrap();
        house.0.until("some are taken in", |_| receipts(&root).len() >= ids.len() + enough);
        house.kill();
        ids.extend(new);
        assert_eq!(house.run(&["up", "--detach"]).code, 0);
        house.0.until("all are taken in", |_| all_have_receipts(&root, &ids));
    }
    check(&house, &ids);
}

#[test]
fn d4_payload_sync_rename_folder_sync_commit_receipt_in_this_order() {
    if !has_strace("the order of calls of the file bus") {
        return;
    }
    let house = house();
    let root = fs::canonicalize(house.0.root()).unwrap();
    put_pair(&root, "x", &json!({"to": "nobody", "from": "me"}));
    let record = house.0.folder.path().join("record");
    let options = ["-y", "-s", "200", "-o", record.to_str().unwrap(), "-e", "trace=fsync,fdatasync,renameat2"];
    let mut child = traced(&house, &options.map(str::to_owned));
    house.0.until("it is taken in", |_| all_have_receipts(&root, &["x".to_owned()]));
    assert_eq!(house.run(&["down"]).code, 0);
    child.wait().unwrap();
    let lines: Vec<String> = fs::read_to_string(&record).unwrap().lines().map(str::to_owned).collect();
    let path = |path: &str| format!("<{}>", root.join(path).display());
    let after = |from: usize, what: &str, fits: &dyn Fn(&str) -> bool| {
        let found = lines[from..].iter().position(|line| fits(line));
        from + found.unwrap_or_else(|| panic!("no {what} after line {from}:\n{}", lines.join("\n"))) + 1
    };
    let synced = |file: &str| {
        let file = path(file);
        move |line: &str| line.contains("sync(") && line.contains(&file)
    };
    let payload = after(0, "sync of the payload", &synced("payload/x.payload.json"));
    let moves =
        |line: &str| line.contains("renameat2") && line.contains(&path("inbox/normal")) && line.contains(&path("meta"));
    let renamed = after(payload, "rename into meta/", &moves);
    let folders =
        after(renamed, "sync of payload/", &synced("payload")).max(after(renamed, "sync of meta/", &synced("meta")));
    let committed =
        after(folders, "sync of the database", &|line| line.contains("sync(") && line.contains("relaymesh.db-wal>"));
    let acknowledges =
        |line: &str| line.contains("renameat2") && line.contains("x.receipt.json") && line.contains("/done/");
    let acknowledged = after(committed, "receipt in done/", &acknowledges);
    let first = after(0, "receipt in done/", &acknowledges);
    assert_eq!(first, acknowledged, "acknowledged before it was committed");
}
