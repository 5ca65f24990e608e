//! Limits of the HTTP API that really bite: whoever sends without end, too deep, too slowly or not at all gets an answer or is let go of, and nobody
//! else notices.

#![allow(clippy::unwrap_used, reason = "a test that cannot go on should stop")]

use crate::common::{
    house::House,
    web::{Web, read},
};
use rustix::process::{Resource, Rlimit, getrlimit, setrlimit};
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

/// Descriptors for so many connections, if the system lets us have them.
fn room_for(connections: u64) -> bool {
    let limit = getrlimit(Resource::Nofile);
    let wanted = limit.maximum.map_or(connections, |most| most.min(connections));
    if limit.current.is_some_and(|current| current < wanted) {
        setrlimit(Resource::Nofile, Rlimit { current: Some(wanted), maximum: limit.maximum }).unwrap();
    }
    wanted == connections
}

/// Whether the other end has closed the connection.
fn is_closed(stream: &TcpStream) -> bool {
    stream.set_nonblocking(true).unwrap();
    let mut stream = stream;
    match stream.read(&mut [0; 1]) {
        Ok(read) => read == 0,
        Err(error) => error.kind() == std::io::ErrorKind::ConnectionReset,
    }
}

#[test]
fn five_thousand_connections_and_five_hundred_listeners_take_bounded_memory_and_shut_nobody_out() {
    if !room_for(8_192) {
        eprintln!("SKIPPED: 8192 open files are not to be had here");
        return;
    }
    let (house, web) = house(&[]);
    let before = resident(&house);
    let mut listening: Vec<_> = (0..500).map(|_| web.events("?kind=ScheduleJob", None)).collect();
    let mut idle = Vec::new();
    for n in 0..5_000 {
        let mut stream = web.connect();
        // Some have asked for something before they fell silent.
        if n % 2 == 0 {
            let asks = web.request("GET", "/health", &[("Connection", "keep-alive")], None);
            stream.write_all(asks.as_bytes()).unwrap();
        }
        idle.push(stream);
        if n % 500 == 0 {
            assert_eq!(web.get("/tasks").status, 200, "beside {n} others");
        }
    }
    let peak = resident(&house);
    assert!(peak < before + (64 << 10), "{before} KiB before, {peak} KiB with everybody");
    web.post("/tasks", &json!({ "agent": "echo", "input": "for all" })).expect(201);
    for listener in &mut listening {
        assert!(listener.next().is_some(), "who listens hears");
    }
    let gone = idle.iter().filter(|stream| {
        // What was answered before is read first.
        let mut stream: &TcpStream = stream;
        stream.set_nonblocking(true).unwrap();
        let mut answer = [0; 4096];
        while stream.read(&mut answer).is_ok_and(|read| read > 0) {}
        is_closed(stream)
    });
    assert!(gone.count() >= 4_500, "whoever has no place is let go of, not left waiting");
    assert_eq!(web.post("/tasks", &json!({ "agent": "echo", "input": "after" })).status, 201);
}

#[test]
fn whoever_only_looks_cannot_take_every_place_by_listening_or_waiting() {
    let (house, web) = house(&["http_connections_max=32"]);
    let agents = "[agents.slow]\ncommand = [\"sleep\", \"600\"]\n";
    std::fs::write(house.0.root().join("agents.toml"), agents).unwrap();
    let made = web.post("/tasks", &json!({ "agent": "slow" })).expect(201);
    let task = made["task"].as_str().unwrap();
    let looker = web.with(house.run(&["token", "create", "looker", "--scope", "ro"]).stdout.trim());
    let ask = |request: &str| {
        let mut stream = looker.connect();
        stream.write_all(request.as_bytes()).unwrap();
        stream
    };
    let listen = looker.request("GET", "/events", &[], None);
    let wait = looker.request("GET", &format!("/tasks/{task}/wait?timeout_ms=60000"), &[], None);
    let answered = |request: &str| {
        let mut stream = ask(request);
        let mut status = [0; 12];
        let _ = stream.read_exact(&mut status); // who is not let in is told nothing
        (stream, String::from_utf8_lossy(&status).into_owned())
    };
    let listening: Vec<(TcpStream, String)> = (0..64).map(|_| answered(&listen)).collect();
    let count = |wanted: &str| listening.iter().filter(|(_, status)| status == wanted).count();
    assert_eq!((count("HTTP/1.1 200"), count("HTTP/1.1 503")), (24, 40), "three of four places are for who listens");
    // Each is answered before the next one comes: together they would have all places for as long as that takes.
    let waiting: Vec<(TcpStream, String)> = (0..64).map(|_| answered(&wait)).collect();
    assert!(waiting.iter().all(|(_, status)| status != "HTTP/1.1 200"), "none of them waits");
    house
        .0
        .until("a place is free", |_| web.try_send("GET", "/health", &[], None).is_some_and(|got| got.status == 200));
    let refused = looker.send("GET", &format!("/tasks/{task}/wait"), &[], None);
    assert_eq!((refused.status, refused.header("retry-after")), (503, Some("1")), "{}", refused.body);
    assert_eq!(refused.json()["code"], "busy");
    let quick = web.post("/tasks?wait_ms=60000", &json!({ "agent": "slow", "input": 2 }));
    assert_eq!(quick.status, 201, "what is accepted is told, also if nobody can wait: {}", quick.body);
}
