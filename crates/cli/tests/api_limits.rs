//! Limits of the HTTP API that really bite: whoever sends without end, too deep, too slowly or not at all gets an answer or is let go of, and nobody
//! else notices.

#![allow(clippy::unwrap_used, reason = "a test that cannot go on should stop")]

mod common;

use common::{
    house::House,
    web::{Web, read},
};
use serde_json::json;
use std::{
    io::{BufReader, Read as _, Write as _},
    net::TcpStream,
    time::{Duration, Instant},
};

fn house(settings: &[&str]) -> (House, Web) {
    let house = House::new();
    let set: Vec<&str> = settings.iter().flat_map(|setting| ["--set", setting]).collect();
    assert_eq!(house.run(&[&["up", "--detach"], &set[..]].concat()).code, 0);
    let web = Web::of(&house);
    (house, web)
}

/// Resident memory of the daemon in KiB.
fn resident(house: &House) -> u64 {
    let status = std::fs::read_to_string(format!("/proc/{}/status", house.pid().unwrap())).unwrap();
    let line = status.lines().find(|line| line.starts_with("VmRSS:")).unwrap();
    line.split_whitespace().nth(1).unwrap().parse().unwrap()
}

#[test]
fn a_body_without_end_is_cut_off_and_never_kept() {
    let (house, web) = house(&["http_body_max_bytes=1048576"]);
    let before = resident(&house);
    let mut stream = web.connect();
    let headers = [("Content-Type", "application/json"), ("Transfer-Encoding", "chunked"), ("Content-Length", "")];
    stream.write_all(web.request("POST", "/tasks", &headers, None).as_bytes()).unwrap();
    let part = format!("10000\r\n{}\r\n", " ".repeat(0x10000));
    let mut sent = 0_u64;
    while sent < 1 << 30 && stream.write_all(part.as_bytes()).is_ok() {
        sent += 0x10000;
        // The answer comes as soon as it is clear; then nothing more is read.
        if sent > 64 << 20 {
            break;
        }
    }
    let got = read(&mut BufReader::new(stream));
    assert!(got.is_none_or(|got| got.status == 413), "it was never taken");
    assert!(resident(&house) < before + (24 << 10), "{} KiB before, {} after", before, resident(&house));
    let long = format!("{{\"agent\": \"echo\", \"input\": \"{}\"}}", "x".repeat(2 << 20));
    let got = web.send("POST", "/tasks/bulk", &[("Content-Type", "application/x-ndjson")], Some(&long));
    assert_eq!(got.lines()[0]["error"]["code"], "too_long", "a line is no longer than a body");
    let honest = json!({ "agent": "echo", "input": "x".repeat(900_000) });
    assert_eq!(web.post("/tasks", &honest).status, 201, "what fits is taken");
}

#[test]
fn depth_bombs_headers_and_long_urls_are_refused() {
    let (_house, web) = house(&[]);
    for deep in [
        "[".repeat(100_000),
        format!("{{\"agent\": \"echo\", \"input\": {}1{}}}", "[".repeat(65), "]".repeat(65)),
        "{\"a\":".repeat(50_000),
    ] {
        let got = web.send("POST", "/tasks", &[("Content-Type", "application/json")], Some(&deep));
        assert_eq!(got.expect(400)["code"], "bad_input");
    }
    let many: Vec<(String, String)> = (0..100).map(|n| (format!("X-{n}"), "1".to_owned())).collect();
    let many: Vec<(&str, &str)> = many.iter().map(|(name, value)| (name.as_str(), value.as_str())).collect();
    assert_eq!(web.send("GET", "/health", &many, None).status, 431);
    let got = web.send("GET", &format!("/tasks?cursor={}", "1".repeat(60_000)), &[], None);
    assert!(matches!(got.status, 414 | 431), "{got:?}");
    assert_eq!(
        web.send("GET", "/tasks", &[("Authorization", &format!("Bearer {}", "a".repeat(5_000)))], None).status,
        401
    );
    assert_eq!(web.get("/health").status, 200);
}

#[test]
fn whoever_takes_too_long_for_headers_is_let_go_of() {
    let (_house, web) = house(&[]);
    let began = Instant::now();
    let mut stream = web.connect();
    stream.write_all(b"GET /api/v1/health HTTP/1.1\r\nHost: 127.0.0.1\r\nX-Slow: ").unwrap();
    let mut rest = Vec::new();
    let _ = stream.read_to_end(&mut rest); // a reset is as good as an end
    assert!(began.elapsed() < Duration::from_secs(40), "{:?}", began.elapsed());
    assert!(!String::from_utf8_lossy(&rest).contains(" 200 "), "it never asked for anything");
}

#[test]
fn connections_that_say_nothing_shut_nobody_out() {
    let (house, web) = house(&["http_connections_max=64"]);
    let before = resident(&house);
    let idle: Vec<TcpStream> = (0..500).map(|_| web.connect()).collect();
    for n in 0..50 {
        assert_eq!(web.post("/tasks", &json!({ "agent": "echo", "input": n })).status, 201, "{n}");
    }
    assert!(resident(&house) < before + (16 << 10), "{} KiB before, {} after", before, resident(&house));
    let gone = idle.iter().filter(|stream| {
        stream.set_nonblocking(true).unwrap();
        let mut stream = *stream;
        stream.read(&mut [0; 1]).is_ok_and(|read| read == 0)
    });
    assert!(gone.count() >= 400, "who was idle longest went first");
    let mut listening = web.events("", None);
    let _more: Vec<TcpStream> = (0..200).map(|_| web.connect()).collect();
    web.post("/tasks", &json!({ "agent": "echo", "input": "last" })).expect(201);
    assert!(listening.next().is_some(), "who listens is not idle");
}
