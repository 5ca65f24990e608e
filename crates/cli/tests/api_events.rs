//! Events over HTTP: every one once, in order, whatever happens to the daemon or to the client in between.

#![allow(clippy::unwrap_used, reason = "a test that cannot go on should stop")]

use crate::common::{
    house::House,
    web::{Events, Web},
};
use serde_json::{Value, json};
use std::io::Write as _;

fn house() -> (House, Web) {
    let house = House::new();
    assert_eq!(house.run(&["up", "--detach"]).code, 0);
    let web = Web::of(&house);
    (house, web)
}

fn submit(web: &Web, from: u32, to: u32) {
    let lines: Vec<String> = (from..to).map(|n| json!({ "agent": "echo", "input": n }).to_string()).collect();
    let got = web.send("POST", "/tasks/bulk", &[("Content-Type", "application/x-ndjson")], Some(&lines.join("\n")));
    assert_eq!(got.lines().len(), lines.len());
}

/// Events up to this position.
fn up_to(events: &mut Events, pos: u64) -> Vec<(u64, String)> {
    let mut seen = Vec::new();
    while seen.last().is_none_or(|(last, _)| *last < pos) {
        let (at, kind, data) = events.next().unwrap();
        assert_eq!(data["pos"], at);
        seen.push((at, kind));
    }
    seen
}

/// Where the log stands once nothing moves any more.
fn settled(house: &House, web: &Web) -> u64 {
    house.0.until("everything has ended", |_| {
        let status = web.get("/status").expect(200);
        status["running"] == 0
            && status["ready"] == 0
            && web.get("/tasks?status=RUNNING").expect(200)["tasks"] == json!([])
            && web.get("/tasks?status=PENDING").expect(200)["tasks"] == json!([])
    });
    // The log is asked, not the daemon: what ended last may be in the log and not yet in what the daemon says of itself.
    house.run(&["log", "show", "--limit", "1", "--json"]).lines()[0]["pos"].as_u64().unwrap()
}

#[test]
fn a_consumer_that_comes_again_sees_every_event_once_and_in_order_over_a_restart() {
    let (house, web) = house();
    let mut events = web.events("", None);
    submit(&web, 0, 50);
    let mut seen = up_to(&mut events, 40);
    let last = seen.last().unwrap().0;
    // Events that were on their way are lost with the connection; they are told again.
    drop(events);
    house.kill();
    assert_eq!(house.run(&["submit", "--agent", "echo", "--input", "\"between\""]).code, 0);
    let web = Web::of(&house);
    let mut events = web.events("", Some(last));
    submit(&web, 50, 100);
    let end = settled(&house, &web);
    seen.extend(up_to(&mut events, end));
    let first = seen[0].0;
    let expected: Vec<u64> = (first..=end).collect();
    assert_eq!(seen.iter().map(|(pos, _)| *pos).collect::<Vec<_>>(), expected, "none is missing, none comes twice");
    let on_log = house.run(&["log", "show", "--from", &first.to_string(), "--limit", "100000", "--json"]);
    let kinds: Vec<Value> = on_log.lines().into_iter().map(|op| op["kind"].clone()).collect();
    let told: Vec<Value> = seen.iter().map(|(_, kind)| json!(kind)).collect();
    assert_eq!(told, kinds, "and they are what the log says");
}

#[test]
fn events_are_filtered_by_namespace_and_kind_and_by_what_the_token_may_see() {
    let (house, web) = house();
    assert_eq!(house.run(&["ns", "create", "team-a"]).code, 0);
    let said = house.run(&["token", "create", "a", "--scope", "ro", "--for", "team-a"]);
    let only = web.with(said.stdout.trim());
    web.post("/tasks", &json!({ "agent": "echo", "input": 1 })).expect(201);
    web.post("/tasks", &json!({ "agent": "echo", "input": 2, "namespace": "team-a" })).expect(201);
    let end = settled(&house, &web);
    let mut all = web.events("?after=0&kind=ScheduleJob,CompleteJob", None);
    let kinds: Vec<String> = (0..4).map(|_| all.next().unwrap().1).collect();
    assert_eq!(kinds, ["ScheduleJob", "CompleteJob", "ScheduleJob", "CompleteJob"]);
    let mut own = only.events("?after=0", None);
    let mut last = 0;
    for _ in 0..4 {
        let (pos, _, data) = own.next().unwrap();
        assert_eq!(data["namespace"], "team-a");
        assert!(pos > last && pos <= end);
        last = pos;
    }
    assert_eq!(only.get("/events?namespace=default").status, 403);
    assert_eq!(web.get("/events?kind=Nonsense").expect(400)["code"], "usage");
    assert_eq!(web.send("GET", "/events", &[("Last-Event-ID", "x")], None).status, 400);
}

#[test]
fn a_client_that_falls_behind_catches_up_from_the_log_and_holds_nobody_up() {
    let (house, web) = house();
    submit(&web, 10_000, 10_001);
    let mut slow = web.events("?after=0", None);
    assert!(slow.next().is_some());
    // More than is kept in memory, while one client does not read.
    let mut quick = web.events("?after=0", None);
    for n in 0..8 {
        submit(&web, n * 200, (n + 1) * 200);
    }
    let end = settled(&house, &web);
    assert_eq!(up_to(&mut quick, end).len() as u64, end);
    let rest = up_to(&mut slow, end);
    assert!(rest.windows(2).all(|pair| pair[0].0 + 1 == pair[1].0), "nothing is left out for who was slow");
    assert_eq!(rest.len() as u64, end - 1);
}

#[test]
fn a_hundred_listeners_hear_the_same() {
    let (house, web) = house();
    let mut listeners: Vec<Events> = (0..100).map(|_| web.events("?after=0&kind=ScheduleJob", None)).collect();
    submit(&web, 0, 20);
    settled(&house, &web);
    let mut heard = listeners.iter_mut().map(|events| (0..20).map(|_| events.next().unwrap().0).collect::<Vec<_>>());
    let first = heard.next().unwrap();
    assert!(heard.all(|other| other == first));
    assert_eq!(web.get("/tasks").status, 200, "and others are answered meanwhile");
}

#[test]
fn a_token_that_is_revoked_ends_what_it_listens_to() {
    let (house, web) = house();
    let said = house.run(&["token", "create", "ear", "--scope", "ro"]);
    let mut events = web.with(said.stdout.trim()).events("?after=0", None);
    assert!(events.next().is_some());
    assert_eq!(house.run(&["token", "revoke", "ear"]).code, 0);
    while events.next().is_some() {}
    assert_eq!(web.get("/health").status, 200);
}

#[test]
fn whoever_speaks_no_http_is_let_go_of() {
    let (_house, web) = house();
    let mut stream = web.connect();
    stream.write_all(b"\x16\x03\x01 nonsense\r\n\r\n").unwrap();
    let got = crate::common::web::read(&mut std::io::BufReader::new(stream));
    assert!(got.is_none_or(|got| got.status == 400));
    assert_eq!(web.get("/health").status, 200);
}

/// What everybody listens to is kept once, and no more of it than has a bound.
#[test]
fn n13_an_event_that_is_too_long_to_be_kept_is_read_from_the_log_by_each() {
    let (house, web) = house();
    let agent = "a".repeat(64);
    std::fs::write(house.0.root().join("agents.toml"), format!("[agents.{agent}]\ncommand = [\"true\"]\n")).unwrap();
    let mut listeners: Vec<Events> = (0..3).map(|_| web.events("", None)).collect();
    let submitted = |body: &Value| web.post("/tasks", body).expect(201)["task"].as_str().unwrap().to_owned();
    let mut steps = vec![json!({ "id": "first", "agent": "sleep", "input": { "ms": 600_000 } })];
    steps.extend((0..130).map(|n| json!({ "id": format!("s{n}"), "agent": agent, "depends_on": ["first"] })));
    let task = submitted(&json!({ "flow": { "name": "long", "steps": steps } }));
    let after = submitted(&json!({ "agent": "echo", "input": "after" }));
    for events in &mut listeners {
        let (mut seen, mut long) = (Vec::new(), 0);
        loop {
            let (at, kind, data) = events.next().unwrap();
            seen.push(at);
            if kind == "ScheduleJob" && data["scope"] == task {
                assert_eq!(
                    (data["about"]["agents"].as_array().map(Vec::len), &data["about"]["agents"][130]),
                    (Some(131), &json!(agent))
                );
                assert!(data.to_string().len() > 8 << 10, "it is too long to be kept");
                long += 1;
            }
            if kind == "CompleteJob" && data["scope"] == after {
                break;
            }
        }
        assert_eq!(long, 1);
        assert!(seen.windows(2).all(|two| two[1] == two[0] + 1), "every one once and in order: {seen:?}");
    }
    web.post(&format!("/tasks/{task}/cancel"), &json!({})).expect(200);
}
