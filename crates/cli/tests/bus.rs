//! The file bus: programs that only rename files submit, receive and reply; whatever else lies there is refused with a reason, and
//! nothing outside is touched; and what was acknowledged is there, whenever the daemon is killed.

#![allow(clippy::unwrap_used, reason = "a test that cannot go on should stop")]

use crate::common::{example, house::House};
use serde_json::{Value, json};
use std::{
    ffi::OsStr,
    fs,
    os::unix::{
        ffi::OsStrExt as _,
        fs::{MetadataExt as _, symlink},
    },
    path::{Path, PathBuf},
    process::{Command, Output, Stdio},
};

/// A root with a daemon and these agents.
fn house(agents: &str) -> House {
    let house = House::new();
    fs::create_dir_all(house.0.root()).unwrap();
    fs::write(house.0.root().join("agents.toml"), agents).unwrap();
    up(&house);
    house
}

fn up(house: &House) {
    let said = house.run(&["up", "--detach"]);
    assert_eq!(said.code, 0, "{}", said.stderr);
}

/// Writes under a name that begins with a dot, and renames.
fn put(folder: &Path, name: &str, bytes: &[u8]) {
    let own = folder.join(".being-written");
    fs::write(&own, bytes).unwrap();
    fs::rename(own, folder.join(name)).unwrap();
}

fn put_pair(root: &Path, id: &str, meta: &Value, payload: &str) {
    put(&root.join("payload"), &format!("{id}.payload.json"), payload.as_bytes());
    put(&root.join("inbox/normal"), &format!("{id}.meta.json"), meta.to_string().as_bytes());
}

/// The JSON files in a folder whose names end like this.
fn files(folder: &Path, end: &str) -> Vec<(String, Value)> {
    let mut found = Vec::new();
    for entry in fs::read_dir(folder).unwrap() {
        let name = entry.unwrap().file_name().to_string_lossy().into_owned();
        if name.ends_with(end) && !name.starts_with('.') {
            let text = fs::read_to_string(folder.join(&name)).unwrap();
            found.push((name, serde_json::from_str(&text).unwrap()));
        }
    }
    found.sort_by(|a, b| a.0.cmp(&b.0));
    found
}

/// Every receipt, whatever the day.
fn receipts(root: &Path) -> Vec<(String, Value)> {
    let days = fs::read_dir(root.join("done")).unwrap();
    days.flat_map(|day| files(&day.unwrap().path(), ".receipt.json")).collect()
}

fn receipt(house: &House, id: &str) -> Value {
    let of = |root: &Path| receipts(root).into_iter().find(|(name, _)| *name == format!("{id}.receipt.json"));
    house.0.until(&format!("{id} has a receipt"), |mesh| of(&mesh.root()).is_some());
    of(&house.0.root()).unwrap().1
}

fn python() -> Option<PathBuf> {
    let found =
        ["/usr/bin/python3", "/usr/local/bin/python3"].map(PathBuf::from).into_iter().find(|path| path.exists());
    let is_ci = std::env::var_os("CI").is_some_and(|value| value == "true");
    assert!(found.is_some() || !is_ci, "the examples in Python need python3, and CI=true");
    if found.is_none() {
        eprintln!("SKIPPED: the examples in Python need python3");
    }
    found
}

/// Starts an example beside the root, with nothing but a PATH.
fn program(program: &Path, arguments: &[&str]) -> Command {
    let mut command = Command::new(program);
    command.args(arguments).env_clear().env("PATH", "/usr/local/bin:/usr/bin:/bin").stdin(Stdio::null());
    command
}

fn text(output: &Output) -> String {
    assert!(
        output.status.success(),
        "{}{}",
        String::from_utf8_lossy(&output.stdout),
        String::from_utf8_lossy(&output.stderr)
    );
    String::from_utf8_lossy(&output.stdout).into_owned()
}

#[test]
fn r9_a_shell_script_submits_with_files_alone_and_twice_is_once() {
    let house = house("[agents.upper]\ncommand = [\"tr\", \"a-z\", \"A-Z\"]\n");
    let root = house.0.root().display().to_string();
    let submit = example("bus/submit.sh");
    let first = program(Path::new("sh"), &[&submit, &root, "one", "upper", "\"hello\""]).output().unwrap();
    let first: Value = serde_json::from_str(&text(&first)).unwrap();
    let task = first["task"].as_str().unwrap();
    assert_eq!(house.run(&["task", "wait", task]).code, 0);
    assert_eq!(house.json(&["task", "show", task])["result"], "HELLO");
    // The same id again is the same task; a different request under it is refused.
    put_pair(&house.0.root(), "one", &json!({"agent": "upper"}), "\"hello\"");
    house.0.until("it is taken in again", |mesh| receipts(&mesh.root()).len() == 2);
    assert!(receipts(&house.0.root()).iter().all(|(_, receipt)| receipt["task"] == first["task"]));
    put_pair(&house.0.root(), "one", &json!({"agent": "upper"}), "\"other\"");
    house.0.until("it is refused", |mesh| !files(&mesh.root().join("dead"), ".reason.json").is_empty());
    let (_, reason) = files(&house.0.root().join("dead"), ".reason.json").swap_remove(0);
    assert!(reason["reason"].as_str().unwrap().contains("a different request"), "{reason}");
    let unknown = program(Path::new("sh"), &[&submit, &root, "two", "nobody", "1"]).output().unwrap();
    assert_eq!(unknown.status.code(), Some(1));
    assert!(String::from_utf8_lossy(&unknown.stdout).contains("there is no agent `nobody`"));
}

#[test]
fn r9_r38_a_program_that_only_renames_files_is_an_agent_whose_answer_completes_a_step() {
    let house = house("[agents.ann]\ninbox = true\n");
    let root = house.0.root().display().to_string();
    let mut answers = program(Path::new("sh"), &[&example("bus/answer.sh"), &root, "ann", "{\"city\": \"Rome\"}"]);
    let answers = answers.stdout(Stdio::piped()).spawn().unwrap();
    let flow = "name: trip\nsteps:\n  - {id: ask, agent: ann, input: {where: to}}\n  - {id: go, agent: echo, input: {to: \"${{ steps.ask.result.city }}\"}}\n";
    let said = house.run(&["run", house.0.file("flow.yaml", flow), "--json"]);
    assert_eq!(said.code, 0, "{}", said.stderr);
    assert_eq!(text(&answers.wait_with_output().unwrap()), "{\"where\":\"to\"}");
    let task = said.lines()[0]["task"].as_str().unwrap().to_owned();
    assert_eq!(house.json(&["task", "show", &task])["result"]["to"], "Rome");
    // The answer is durable first, and then it has a receipt.
    let receipt = |root: &Path| receipts(root).into_iter().find(|(name, _)| name.starts_with("answer-"));
    house.0.until("it has a receipt", |mesh| receipt(&mesh.root()).is_some());
    let completed = receipt(&house.0.root()).unwrap().1;
    assert!(completed["completed"].as_str().unwrap().starts_with("stp_"), "{completed}");
    house.0.until("its folder is empty again", |mesh| {
        fs::read_dir(mesh.root().join("processing/ann")).unwrap().count() == 0
    });
}

#[test]
fn r9_programs_in_python_ask_each_other_and_an_agent_that_runs_here() {
    let Some(python) = python() else { return };
    let house = house("[agents.upper]\ncommand = [\"tr\", \"a-z\", \"A-Z\"]\n");
    let root = house.0.root().display().to_string();
    let bus = example("bus/bus.py");
    let served = program(&python, &[&bus, &root, "serve", "loud", "2"]).stderr(Stdio::piped()).spawn().unwrap();
    for (id, to) in [("q1", "upper"), ("q2", "loud"), ("q3", "loud")] {
        let asked = program(&python, &[&bus, &root, "ask", "me", id, to, "\"hello\""]).output().unwrap();
        assert!(text(&asked).contains("HELLO"), "{id}: {}", text(&asked));
    }
    text(&served.wait_with_output().unwrap());
    assert!(files(&house.0.root().join("dead"), ".reason.json").is_empty());
    let audit = house.run(&["audit", "query", "--json"]).stdout;
    assert!(audit.contains("tester/bus") || audit.contains("\"bus\""), "the log says which way it came");
}

/// What a file outside is: its bytes, and what a write, a link or a change of mode would leave on it. (A second name of it that lay on the
/// bus is moved like everything else, and the system notes that in the time of the last change of names.)
fn fingerprint(folder: &Path) -> Vec<(PathBuf, Vec<u8>, u64, u32, i64)> {
    let mut found: Vec<_> = fs::read_dir(folder)
        .unwrap()
        .map(|entry| {
            let path = entry.unwrap().path();
            let meta = fs::symlink_metadata(&path).unwrap();
            let bytes = if meta.is_file() { fs::read(&path).unwrap() } else { Vec::new() };
            (path, bytes, meta.nlink(), meta.mode(), meta.mtime_nsec())
        })
        .collect();
    found.sort();
    found
}

/// Ids and what is put there under them; each must be refused with this code. `true`: it lies in `payload/`, else in the inbox.
fn hostile(root: &Path, canary: &Path) -> Vec<(Vec<u8>, &'static str)> {
    let (inbox, payload) = (root.join("inbox/normal"), root.join("payload"));
    let send = json!({"to": "ben", "from": "ann"}).to_string();
    let mut expected: Vec<(Vec<u8>, &'static str)> = Vec::new();
    let long = format!("{}.meta.json", "x".repeat(61));
    let names: [&[u8]; 9] = [
        b"-x.meta.json",
        b"a b.meta.json",
        "\u{e9}.meta.json".as_bytes(),
        "a\u{202e}b.meta.json".as_bytes(),
        b"\xff\xfe.meta.json",
        b"line\nbreak.meta.json",
        b"readme.txt",
        b"x.meta.json.bak",
        long.as_bytes(),
    ];
    for name in names {
        fs::write(inbox.join(OsStr::from_bytes(name)), &send).unwrap();
        expected.push((name.to_vec(), "bad_name"));
    }
    let metas = [
        ("up", json!({"to": "../ben", "from": "ann"}).to_string(), "bad_meta"),
        ("absolute", json!({"to": "/etc/passwd", "from": "ann"}).to_string(), "bad_meta"),
        ("unknown-field", json!({"to": "ben", "from": "ann", "payload_path": "/etc/passwd"}).to_string(), "bad_meta"),
        ("cut", "{\"to\": \"ben\", \"fr".to_owned(), "bad_meta"),
        ("lane", json!({"to": "ben", "from": "ann", "priority": "high"}).to_string(), "bad_meta"),
        ("nowhere", json!({"to": "ben", "from": "ann", "namespace": "nowhere"}).to_string(), "refused"),
        ("stale", json!({"ack": "thr_0000000001000000000000000A:msg_0000000001000000000000000B:1:lse_0000000001000000000000000C"}).to_string(), "refused"),
        ("huge-meta", format!("{{\"to\": \"ben\", \"from\": \"ann\", \"error\": \"{}\"}}", "x".repeat(70_000)), "too_long"),
        ("no-payload", send.clone(), "no_payload"),
    ];
    for (id, meta, code) in metas {
        if id != "no-payload" {
            put(&payload, &format!("{id}.payload.json"), b"1");
        }
        put(&inbox, &format!("{id}.meta.json"), meta.as_bytes());
        expected.push((format!("{id}.meta.json").into_bytes(), code));
    }
    // Payloads that are something else, each with a meta file that is right.
    let odd = |id: &str| payload.join(format!("{id}.payload.json"));
    symlink(canary.join("secret"), odd("link")).unwrap();
    fs::hard_link(canary.join("linked"), odd("second-name")).unwrap();
    fs::create_dir(odd("folder")).unwrap();
    assert!(Command::new("mkfifo").arg(odd("pipe")).status().unwrap().success());
    put(&payload, "cut-payload.payload.json", b"{\"a\": [1, 2");
    put(&payload, "too-long.payload.json", format!("\"{}\"", "x".repeat(10 * 1024 * 1024 - 1)).as_bytes());
    let payloads = [
        ("link", "not_a_plain_file"),
        ("second-name", "not_a_plain_file"),
        ("folder", "not_a_plain_file"),
        ("pipe", "not_a_plain_file"),
        ("cut-payload", "bad_payload"),
        ("too-long", "too_long"),
    ];
    for (id, code) in payloads {
        put(&inbox, &format!("{id}.meta.json"), send.as_bytes());
        expected.push((format!("{id}.meta.json").into_bytes(), code));
    }
    // The meta file itself is something else.
    let entry = |id: &str| inbox.join(format!("{id}.meta.json"));
    symlink(canary.join("meta"), entry("meta-link")).unwrap();
    fs::hard_link(canary.join("meta"), entry("meta-second-name")).unwrap();
    fs::create_dir(entry("meta-folder")).unwrap();
    assert!(Command::new("mkfifo").arg(entry("meta-pipe")).status().unwrap().success());
    for id in ["meta-link", "meta-second-name", "meta-folder", "meta-pipe"] {
        expected.push((format!("{id}.meta.json").into_bytes(), "not_a_plain_file"));
    }
    // Nothing that was asked for.
    put(&payload, "stranger.bin", b"\0\x01");
    expected.push((b"stranger.bin".to_vec(), "bad_name"));
    put(&payload, "orphan.payload.json", b"1");
    expected.push((b"orphan.payload.json".to_vec(), "no_meta"));
    symlink(canary, root.join("processing/ben")).unwrap();
    expected.push((b"ben".to_vec(), "not_a_folder"));
    fs::write(root.join("processing/file"), "x").unwrap();
    expected.push((b"file".to_vec(), "not_a_folder"));
    fs::create_dir(root.join("processing/carl")).unwrap();
    put(&root.join("processing/carl"), "msg_00000000000000000000000000.meta.json", b"{}");
    expected.push((b"msg_00000000000000000000000000.meta.json".to_vec(), "no_row"));
    expected
}

#[test]
fn r9_d4_whatever_else_lies_there_is_refused_with_a_reason_and_nothing_outside_is_touched() {
    let house = House::new();
    let root = house.0.root();
    fs::create_dir_all(&root).unwrap();
    fs::write(root.join("relaymesh-settings.json"), "{\"bus_orphan_ms\": 2500}").unwrap();
    up(&house);
    let canary = house.0.folder.path().join("canary");
    fs::create_dir(&canary).unwrap();
    for (name, bytes) in
        [("secret", "\"secret\""), ("linked", "\"linked\""), ("meta", "{\"to\": \"ben\", \"from\": \"ann\"}")]
    {
        fs::write(canary.join(name), bytes).unwrap();
    }
    // Half-written files have other names, and stay.
    fs::write(root.join("inbox/normal/.half.meta.json"), "{\"to\": ").unwrap();
    fs::write(root.join("payload/.half.payload.json"), "[1,").unwrap();
    let expected = hostile(&root, &canary);
    let before = fingerprint(&canary);
    let code_of = |name: &[u8]| {
        let name = String::from_utf8_lossy(name).into_owned();
        let reasons = files(&root.join("dead"), ".reason.json");
        reasons.into_iter().find(|(_, reason)| reason["file"] == name).map(|(_, reason)| reason["code"].clone())
    };
    for (name, code) in &expected {
        house.0.until(&format!("{} is refused", String::from_utf8_lossy(name)), |_| code_of(name).is_some());
        assert_eq!(code_of(name), Some(json!(code)), "{}", String::from_utf8_lossy(name));
    }
    // A good one goes through among all that, and one that is exactly as long as it may be.
    put_pair(&root, "good", &json!({"to": "dora", "from": "ann"}), "\"fine\"");
    receipt(&house, "good");
    put_pair(
        &root,
        "full",
        &json!({"to": "dora", "from": "ann"}),
        &format!("\"{}\"", "x".repeat(10 * 1024 * 1024 - 2)),
    );
    receipt(&house, "full");
    put_pair(&root, "good", &json!({"to": "dora", "from": "ann"}), "\"another\"");
    house.0.until("another message under its id is refused", |_| code_of(b"good.meta.json") == Some(json!("refused")));
    assert_eq!(fingerprint(&canary), before, "something outside was touched");
    assert_eq!(fs::read_to_string(root.join("inbox/normal/.half.meta.json")).unwrap(), "{\"to\": ");
    assert_eq!(house.run(&["msg", "inbox", "--agent", "ben", "--json"]).stdout, "", "nobody heard any of it");
    let everything = walk(&root);
    for id in [
        "link",
        "second-name",
        "folder",
        "pipe",
        "meta-link",
        "meta-second-name",
        "meta-folder",
        "meta-pipe",
        "too-long",
    ] {
        let is_kept = everything.iter().any(|path| path.to_string_lossy().contains(&format!("dead/{id}.")));
        assert!(is_kept, "{id} is nowhere: {everything:?}");
    }
    assert_eq!(fs::symlink_metadata(root.join("inbox")).unwrap().mode() & 0o777, 0o700);
}

fn walk(folder: &Path) -> Vec<PathBuf> {
    let mut found = Vec::new();
    for entry in fs::read_dir(folder).unwrap() {
        let path = entry.unwrap().path();
        if fs::symlink_metadata(&path).unwrap().is_dir() {
            found.extend(walk(&path));
        }
        found.push(path);
    }
    found
}

#[test]
fn d4_a_delivery_whose_file_is_taken_away_fails_for_all_to_see_and_is_made_again() {
    let house = house("");
    let root = house.0.root();
    fs::create_dir(root.join("processing/ben")).unwrap();
    let sent = house.json(&["msg", "send", "--to", "ben", "--input", "\"look\""]);
    let (thread, message) = (sent["thread"].as_str().unwrap(), sent["message"].as_str().unwrap());
    let file = root.join(format!("processing/ben/{message}.meta.json"));
    house.0.until("it is there", |_| file.exists());
    let held = serde_json::from_slice::<Value>(&fs::read(&file).unwrap()).unwrap()["held"].as_str().unwrap().to_owned();
    fs::rename(&file, root.join("processing/ben/.mine")).unwrap();
    house.0.until("it is there again", |_| file.exists());
    let shown = house.run(&["msg", "thread", thread, "--json"]).lines().swap_remove(0);
    assert!(shown["error"].as_str().unwrap().contains("without an answer"), "{shown}");
    assert_eq!((&shown["deliveries"], &shown["state"]), (&json!(2), &json!("PROCESSING")));
    // R17: people find the files of a message in the view, wherever they lie now.
    let paths = |root: &Path| -> Vec<Option<String>> {
        let database = rusqlite::Connection::open(root.join("relaymesh.db")).unwrap();
        let sql = "SELECT meta_path, payload_path FROM messages WHERE msg_id = ?1";
        database.query_row(sql, [message], |row| Ok(vec![row.get(0)?, row.get(1)?])).unwrap()
    };
    let there = |paths: &[Option<String>], folder: &str| {
        paths
            .iter()
            .all(|path| path.as_deref().is_some_and(|path| path.starts_with(folder) && root.join(path).exists()))
    };
    house.0.until("the view names the files", |_| there(&paths(&root), "processing/ben/"));
    // D7: the old proof is worth nothing, whoever has the file.
    put_pair(&root, "late", &json!({"reply_to": held}), "1");
    house.0.until("the old proof is refused", |_| root.join("dead/late.reason.json").exists());
    // And one that is answered by another way leaves the folder.
    let again = serde_json::from_slice::<Value>(&fs::read(&file).unwrap()).unwrap();
    assert_eq!(house.run(&["msg", "reply", again["held"].as_str().unwrap(), "--input", "2"]).code, 0);
    house.0.until("its files are cleared away", |_| !file.exists());
    house.0.until("the view names the files where they lie now", |_| there(&paths(&root), "done/"));
}

#[test]
fn r9_what_lay_there_before_the_start_is_taken_in_and_an_idle_bus_rests() {
    let house = house("");
    let root = house.0.root();
    assert_eq!(house.run(&["down"]).code, 0);
    put_pair(&root, "early", &json!({"agent": "echo"}), "[1]");
    up(&house);
    let task = receipt(&house, "early")["task"].as_str().unwrap().to_owned();
    assert_eq!(house.run(&["task", "wait", &task]).code, 0);
    let pid = house.pid().unwrap();
    let ticks = || {
        let threads = fs::read_dir(format!("/proc/{pid}/task")).unwrap();
        let bus = threads
            .map(|entry| entry.unwrap().path())
            .find(|path| fs::read_to_string(path.join("comm")).unwrap().trim() == "bus");
        let status = fs::read_to_string(bus.unwrap().join("status")).unwrap();
        let line = status.lines().find(|line| line.starts_with("voluntary_ctxt_switches")).unwrap().to_owned();
        line.split_whitespace().last().unwrap().parse::<u64>().unwrap()
    };
    // The rest of the daemon wakes every second; a look at its status is a round trip. The bus sleeps through all of it.
    let mut before = ticks();
    house.0.until("the bus is at rest", |_| {
        let now = ticks();
        std::mem::replace(&mut before, now) == now
            && (0..20).all(|_| house.run(&["status"]).code == 0)
            && ticks() == now
    });
}

/// Whoever did not see the receipt says it again, under the same id or another.
#[test]
fn r9_the_same_word_about_a_delivery_twice_is_one_and_another_is_refused() {
    let house = house("");
    let root = house.0.root();
    fs::create_dir(root.join("processing/ben")).unwrap();
    let sent = house.json(&["msg", "send", "--to", "ben", "--input", "\"look\""]);
    let file = root.join(format!("processing/ben/{}.meta.json", sent["message"].as_str().unwrap()));
    house.0.until("it is there", |_| file.exists());
    let held = serde_json::from_slice::<Value>(&fs::read(&file).unwrap()).unwrap()["held"].take();
    let answers: Vec<Value> = ["once", "again"]
        .map(|id| {
            put_pair(&root, id, &json!({"reply_to": held}), "\"fine\"");
            receipt(&house, id)["message"].take()
        })
        .into();
    assert_eq!(answers[0], answers[1], "one answer");
    put_pair(&root, "other", &json!({"reply_to": held}), "\"not so fine\"");
    house.0.until("another answer is refused", |_| root.join("dead/other.reason.json").exists());
    let talk = house.run(&["msg", "thread", sent["thread"].as_str().unwrap(), "--json"]).lines();
    assert_eq!((talk.len(), &talk[1]["content"]), (2, &json!("fine")));
}
