//! The log as an audit: who, from where, when, what; and no content.

use crate::common::{Mesh, house::House, web::Web};
use insta::assert_snapshot;
use serde_json::Value;

/// Something that must never be shown.
const SECRET: &str = "orange-penguin";

/// A root in which several people did several things.
fn mesh() -> (Mesh, String) {
    let mesh = Mesh::new();
    let flow = format!(
        "name: n\nsteps:\n  - {{id: a, agent: echo, input: {SECRET}}}\n  - {{id: b, agent: fail, depends_on: [a], input: {{message: {SECRET}, retryable: false}}}}\n"
    );
    assert_eq!(mesh.run(&["run", mesh.file("flow.yaml", &flow)]).code, 10);
    let id = mesh.run(&["task", "list", "--json"]).json()["task"].as_str().unwrap_or_default().to_owned();
    mesh.make("team-a");
    let mut ann = mesh.command(&["submit", "--agent", "echo", "--namespace", "team-a", "--input", SECRET_JSON]);
    assert!(ann.env("USER", "ann").status().is_ok_and(|status| status.success()));
    assert_eq!(mesh.run(&["message", "send", "--to", "ben", "--input", SECRET_JSON]).code, 0);
    let held = mesh.run(&["message", "take", "--agent", "ben", "--json"]).json()["held"].take();
    let fail = ["message", "fail", held.as_str().unwrap_or_default(), "--final", "--error", SECRET];
    assert_eq!(mesh.run(&fail).code, 0);
    assert_eq!(mesh.run(&["lock", "acquire", "src/**", "--repository", "app", "--purpose", "tidy"]).code, 0);
    assert_eq!(mesh.run(&["task", "retry", &id, "--reason", "once more"]).code, 0);
    (mesh, id)
}

const SECRET_JSON: &str = "\"orange-penguin\"";

fn kinds(lines: &[Value]) -> Vec<&str> {
    lines.iter().filter_map(|line| line["kind"].as_str()).collect()
}

#[test]
fn every_write_is_there_with_its_author_and_without_content() {
    let (mesh, _) = mesh();
    let said = mesh.run(&["audit", "tail", "-n", "100"]);
    assert_snapshot!(said.seen(), @r#"
    exit 0
    --- stdout
           1  TIME  tester/cli        default     ScheduleJob         tsk_…  agents=["echo","fail"] name=n request=HASH
           2  TIME  node/driver       default     ClaimWork           tsk_…  lease_duration_ms=15000 step=0 worker=wrk_…
           3  TIME  node/driver       default     CompleteJob         tsk_…  epoch=1 result=HASH…(16 bytes) step=0
           4  TIME  node/driver       default     ClaimWork           tsk_…  lease_duration_ms=15000 step=1 worker=wrk_…
           5  TIME  node/driver       default     FailJob             tsk_…  epoch=1 error=HASH…(14 bytes) retryable=false step=1
           6  TIME  tester/cli        team-a      CreateNamespace     nsp_…  about=
           7  TIME  ann/cli           team-a      ScheduleJob         tsk_…  agents=["echo"] name=echo request=HASH
           8  TIME  tester/cli        default     SendMessage         thr_…  content=HASH…(16 bytes) from=tester message=msg_… to=ben
           9  TIME  tester/cli        default     DeliverMessage      thr_…  message=msg_… recipient=ben worker=wrk_…
          10  TIME  tester/cli        default     FailMessage         thr_…  epoch=1 error=HASH…(14 bytes) message=msg_… retryable=false
          11  TIME  tester/cli        default     AcquireLock         rep_…  holder=tester key=src/** mode=exclusive purpose=tidy repository=app ttl_ms=30000
          12  TIME  tester/cli        default     RedriveTask         tsk_…  reason="once more"
    --- stderr
    "#);
    let json = mesh.run(&["audit", "tail", "-n", "100", "--json"]);
    for text in [&said.stdout, &json.stdout] {
        assert!(!text.contains(SECRET), "content is shown: {text}");
        assert!(!text.contains("lse_"), "a lease token is shown: {text}");
    }
    let lines = json.lines();
    assert_eq!(lines.len(), 12);
    assert_eq!((&lines[0]["author"], &lines[0]["source"]), (&"tester".into(), &"cli".into()));
    assert_eq!(mesh.run(&["audit", "tail", "-n", "2", "--json"]).lines().len(), 2);
}

#[test]
fn a_query_finds_by_who_what_where_and_when() {
    let (mesh, id) = mesh();
    let found = |arguments: &[&str]| mesh.run(&[&["audit", "query", "--json"], arguments].concat()).lines();
    assert_eq!(kinds(&found(&["--author", "ann"])), ["ScheduleJob"]);
    assert_eq!(kinds(&found(&["--namespace", "team-a"])), ["CreateNamespace", "ScheduleJob"]);
    assert_eq!(kinds(&found(&["--source", "driver"])), ["ClaimWork", "CompleteJob", "ClaimWork", "FailJob"]);
    let redriven = found(&["--kind", "redrive-task"]);
    assert_eq!((redriven.len(), &redriven[0]["about"]["reason"]), (1, &"once more".into()));
    assert_eq!(found(&["--task", &id]).len(), 6);
    assert_eq!(found(&["--since", "1h"]).len(), 12);
    assert!(found(&["--until", "1h"]).is_empty());
    let limited = mesh.run(&["audit", "query", "--author", "tester", "--limit", "1"]);
    assert!(limited.stdout.contains("RedriveTask") && limited.stderr.contains("7 matches"), "{}", limited.stderr);
    let unknown = mesh.run(&["audit", "query", "--kind", "ApproveStpe"]);
    assert!(unknown.code == 2 && unknown.stderr.contains("did you mean ApproveStep?"), "{}", unknown.stderr);
    assert_eq!(mesh.run(&["audit", "query", "--task", "tsk_01HF7YAT000000000000000007"]).code, 0, "it may be purged");
}

#[test]
fn the_log_is_verified_and_counted() {
    let (mesh, _) = mesh();
    assert_snapshot!(mesh.run(&["audit", "verify"]).seen(), @"
    exit 0
    --- stdout
    ops    12
    tasks  2
    steps  3
    state  HASH
    gone   0

    WHO          KIND             COUNT
    ann/cli      ScheduleJob      1
    node/driver  ClaimWork        2
    node/driver  CompleteJob      1
    node/driver  FailJob          1
    tester/cli   AcquireLock      1
    tester/cli   CreateNamespace  1
    tester/cli   DeliverMessage   1
    tester/cli   FailMessage      1
    tester/cli   RedriveTask      1
    tester/cli   ScheduleJob      1
    tester/cli   SendMessage      1
    --- stderr
    the log and the tables are intact
    ");
    let json = mesh.run(&["audit", "verify", "--json"]).json();
    let counts = json["counts"].as_array().unwrap();
    let total: u64 = counts.iter().filter_map(|line| line["count"].as_u64()).sum();
    assert_eq!((json["ops"].as_u64(), total), (Some(12), 12));
    // A flipped byte is found.
    let database = mesh.root().join("relaymesh.db");
    let wal = mesh.root().join("relaymesh.db-wal");
    let flipped = [database, wal].iter().any(|file| flip(file, b"redriven") || flip(file, b"once more"));
    assert!(flipped, "the reason stands in no file");
    let said = mesh.run(&["audit", "verify"]);
    assert_eq!(said.code, 6, "{}{}", said.stdout, said.stderr);
}

/// Changes the first byte of every place where the text stands.
fn flip(file: &std::path::Path, text: &[u8]) -> bool {
    let Ok(mut bytes) = std::fs::read(file) else { return false };
    let places: Vec<usize> =
        (0..bytes.len().saturating_sub(text.len())).filter(|at| bytes[*at..].starts_with(text)).collect();
    for at in &places {
        bytes[*at] ^= 1;
    }
    !places.is_empty() && std::fs::write(file, bytes).is_ok()
}

#[test]
fn a_tail_goes_on_with_what_is_written_meanwhile() {
    let house = House::new();
    assert_eq!(house.run(&["submit", "--agent", "echo", "--wait"]).code, 0);
    let mut tail = house.start(&["audit", "tail", "-f", "-n", "1", "--json"]);
    assert_eq!(tail.next()["kind"], "CompleteJob");
    assert_eq!(house.run(&["submit", "--agent", "echo", "--input", "2", "--wait"]).code, 0);
    assert_eq!(
        [tail.next(), tail.next(), tail.next()].map(|mut line| line["kind"].take()),
        ["ScheduleJob", "ClaimWork", "CompleteJob"]
    );
    // Not only what is about tasks, and not only while there is a daemon.
    assert_eq!(house.run(&["lock", "acquire", "a"]).code, 0);
    assert_eq!(tail.next()["kind"], "AcquireLock");
    assert_eq!(house.run(&["down"]).code, 0);
    assert_eq!(house.0.run(&["message", "send", "--to", "ben", "--input", "1"]).code, 0);
    assert_eq!(tail.next()["kind"], "SendMessage");
    tail.kill();
}

#[test]
fn a_flipped_bit_in_an_author_is_told_as_damage_and_never_served() {
    let house = House::new();
    assert_eq!(house.run(&["up", "--detach"]).code, 0);
    for n in ["1", "2", "3"] {
        assert_eq!(house.run(&["submit", "--agent", "echo", "--input", n, "--wait"]).code, 0);
    }
    let ops = house.run(&["log", "show", "--json"]).lines();
    let submits = ops.iter().filter(|op| op["kind"] == "ScheduleJob").filter_map(|op| op["pos"].as_u64());
    let (pos, end) = (submits.collect::<Vec<_>>()[1], ops.len() as u64);
    flip_author(&house, pos);

    let web = Web::of(&house);
    let got = web.get("/audit");
    let problem = got.json();
    assert_eq!(problem["code"], "store_damaged", "{problem}");
    assert!(problem["detail"].as_str().is_some_and(|detail| detail.contains(&format!("op {pos} "))), "{problem}");
    let after = web.get(&format!("/audit?cursor={pos}"));
    assert_eq!(after.expect(200)["entries"][0]["pos"], pos + 1, "one can read on");
    let mut events = web.events("?after=0", None);
    let mut told = Vec::new();
    while told.len() < ops.len() {
        told.push(events.next().map(|(at, kind, data)| (at, kind, data.to_string())).unwrap_or_default());
    }
    let damaged = told.iter().filter(|(_, kind, _)| kind == "Damaged").map(|(at, ..)| *at);
    assert_eq!(damaged.collect::<Vec<_>>(), [pos]);
    assert_eq!(told.last().map(|(at, ..)| *at), Some(end), "the stream goes on");

    let query = house.run(&["audit", "query"]);
    let shown = house.run(&["log", "show", "--from", "1"]);
    for said in [&query, &shown] {
        assert_eq!(said.code, 6, "{}", said.stderr);
        assert!(said.stderr.contains(&format!("op {pos} ")), "{}", said.stderr);
    }
    assert_eq!(query.stdout.lines().count() as u64, end - 1);
    assert!(shown.stdout.lines().any(|line| line.contains("DAMAGED")), "{}", shown.stdout);
    let texts = [got.body, after.body, query.stdout, shown.stdout, format!("{told:?}")];
    assert!(texts.iter().all(|text| !text.contains("uester")), "a wrong author is served: {texts:?}");
    let alert = house.json(&["status"])["alert"].to_string();
    assert!(alert.contains(&format!("op {pos} ")), "{alert}");
}

/// Makes `uester` of the author `tester` of an op: one bit.
fn flip_author(house: &House, pos: u64) {
    let pos = i64::try_from(pos).unwrap_or_default();
    let database = rusqlite::Connection::open(house.0.root().join("relaymesh.db"));
    let flipped = database.and_then(|database| {
        let read = |row: &rusqlite::Row<'_>| row.get::<_, Vec<u8>>(0);
        let mut bytes = database.query_row("SELECT bytes FROM op_log WHERE pos = ?1", [pos], read)?;
        let at = bytes.windows(6).position(|part| part == b"tester").unwrap_or_default();
        bytes[at] ^= 1;
        database.execute("UPDATE op_log SET bytes = ?1 WHERE pos = ?2", rusqlite::params![bytes, pos])
    });
    assert_eq!(flipped, Ok(1));
}
