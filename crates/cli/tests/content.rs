//! Uploads and downloads: however long, in parts, and never whole in the daemon's memory.

#![cfg(target_os = "linux")]
#![allow(clippy::unwrap_used, reason = "a test that cannot go on should stop")]

use crate::common::{
    house::House,
    web::{Got, Web, read},
};
use serde_json::{Value, json};
use std::{
    io::{BufReader, Write as _},
    thread,
};

/// The longest content there is.
const MAX: usize = 10 << 20;
/// How many at once: whole in memory, they would take eighty mebibytes.
const AT_ONCE: usize = 8;
/// How much more memory that may take.
const MORE_KIB_MAX: u64 = 24 << 10;

fn house() -> (House, Web) {
    let house = House::new();
    assert_eq!(house.run(&["up", "--detach"]).code, 0);
    let web = Web::of(&house);
    (house, web)
}

/// A text in JSON of so many bytes.
fn text(bytes: usize, letter: char) -> String {
    format!("\"{}\"", String::from(letter).repeat(bytes - 2))
}

fn upload(web: &Web, query: &str, body: &str) -> Got {
    let mut stream = web.connect();
    let length = body.len().to_string();
    let headers = [("Content-Type", "application/octet-stream"), ("Content-Length", length.as_str())];
    stream.write_all(web.request("POST", &format!("/content{query}"), &headers, None).as_bytes()).unwrap();
    // Whoever is refused early does not read the rest.
    let _ = stream.write_all(body.as_bytes());
    read(&mut BufReader::new(stream)).unwrap()
}

/// The most memory that the daemon had so far.
fn peak_kib(house: &House) -> u64 {
    let status = std::fs::read_to_string(format!("/proc/{}/status", house.pid().unwrap())).unwrap();
    let line = status.lines().find_map(|line| line.strip_prefix("VmHWM:")).unwrap();
    line.trim().trim_end_matches(" kB").parse().unwrap()
}

fn all_at_once<T: Send>(act: impl Fn(usize) -> T + Sync) -> Vec<T> {
    thread::scope(|scope| {
        let threads: Vec<_> = (0..AT_ONCE)
            .map(|n| {
                scope.spawn({
                    let act = &act;
                    move || act(n)
                })
            })
            .collect();
        threads.into_iter().map(|thread| thread.join().unwrap()).collect()
    })
}

#[test]
fn content_goes_up_and_down_in_parts_and_within_bounds() {
    let (house, web) = house();
    upload(&web, "", "\"warm\"").expect(201);
    let before = peak_kib(&house);
    let hashes = all_at_once(|n| {
        let body = text(MAX, char::from(b'a' + u8::try_from(n).unwrap()));
        upload(&web, "", &body).expect(201)["hash"].as_str().unwrap().to_owned()
    });
    let more = peak_kib(&house) - before;
    assert!(more < MORE_KIB_MAX, "{AT_ONCE} uploads took {more} KiB");

    let submit = |hash: &str| web.post("/tasks", &json!({ "agent": "hash", "input_hash": hash }));
    let task = submit(&hashes[0]).expect(201)["task"].as_str().unwrap().to_owned();
    assert_eq!(web.get(&format!("/tasks/{task}/wait")).expect(200)["status"], "SUCCESS");
    assert_eq!(submit(&hashes[0]).expect(200)["merged"], true, "the same input is the same task");
    let before = peak_kib(&house);
    let downloads = all_at_once(|_| web.get(&format!("/content/{}?task={task}", hashes[0])));
    let more = peak_kib(&house) - before;
    assert!(more < MORE_KIB_MAX, "{AT_ONCE} downloads took {more} KiB");
    for got in downloads {
        assert_eq!((got.status, got.header("content-length")), (200, Some("10485760")));
        assert!(got.body == text(MAX, 'a'), "what came down is what went up");
    }
}

#[test]
fn an_upload_has_limits_its_hash_is_checked_and_it_is_its_makers_alone() {
    let (house, web) = house();
    let too_long = upload(&web, "", &text(MAX + 1, 'a')).expect(413);
    assert_eq!(too_long["code"], "too_long");
    let chunked = "POST /api/v1/content HTTP/1.1\r\nConnection: close\r\nContent-Type: application/octet-stream\r\nTransfer-Encoding: chunked\r\n";
    let mut stream = web.connect();
    let token = web.token.clone().unwrap();
    write!(stream, "{chunked}Host: {}\r\nAuthorization: Bearer {token}\r\n\r\n", web.host).unwrap();
    let part = vec![b'a'; 1 << 20];
    for _ in 0..12 {
        let sent = write!(stream, "{:x}\r\n", part.len()).and_then(|()| stream.write_all(&part));
        if sent.and_then(|()| stream.write_all(b"\r\n")).is_err() {
            break; // it was told already
        }
    }
    let answered = read(&mut BufReader::new(stream));
    assert!(answered.is_none_or(|got| got.status == 413), "one that does not say how long it is has the same limit");

    let [one, two] = [text(9_000, 'a'), text(9_001, 'a')];
    let hash = upload(&web, "", &one).expect(201)["hash"].as_str().unwrap().to_owned();
    assert_eq!(upload(&web, &format!("?sha256={hash}"), &one).expect(201)["bytes"], 9_000);
    assert_eq!(upload(&web, &format!("?sha256={hash}"), &two).expect(400)["code"], "bad_input");
    assert_eq!(upload(&web, "?sha256=abc", &one).expect(400)["code"], "usage");
    let blobs = || std::fs::read_dir(house.0.root().join("blobs")).unwrap().count();
    assert_eq!(blobs(), 1, "what was refused is gone");
    let no_json = upload(&web, "", "no JSON").expect(201)["hash"].as_str().unwrap().to_owned();

    let submit = |web: &Web, body: Value| web.post("/tasks", &body);
    let by_hash = |hash: &str| json!({ "agent": "echo", "input_hash": hash });
    assert_eq!(submit(&web, by_hash(&no_json)).expect(400)["code"], "bad_input");
    assert_eq!(submit(&web, by_hash(&"0".repeat(64))).expect(404)["code"], "no_content");
    assert_eq!(submit(&web, json!({ "agent": "echo", "input": 1, "input_hash": hash })).expect(400)["code"], "usage");
    let other = house.run(&["token", "create", "other", "--scope", "rw"]).stdout;
    let looker = house.run(&["token", "create", "looker", "--scope", "ro"]).stdout;
    assert_eq!(submit(&web.with(other.trim()), by_hash(&hash)).expect(404)["code"], "no_content");
    assert_eq!(upload(&web.with(looker.trim()), "", "1").expect(403)["code"], "forbidden");
    let line = by_hash(&hash).to_string();
    let bulk = web.send("POST", "/tasks/bulk", &[("Content-Type", "application/x-ndjson")], Some(&line)).lines();
    assert_eq!(bulk[0]["error"]["code"], "usage");
    let task = submit(&web, by_hash(&hash)).expect(201)["task"].as_str().unwrap().to_owned();
    let ended = web.get(&format!("/tasks/{task}/wait")).expect(200);
    assert_eq!(ended["result"].as_str().map(str::len), Some(8_998));
    let noted = house.run(&["audit", "query", "--kind", "AuditEvent", "--json"]).lines();
    assert!(noted.iter().any(|entry| entry["about"]["event"] == "content.upload"), "{noted:?}");

    // A blob that is damaged is told before anything of it is sent.
    let path = house.0.root().join("blobs").join(&hash);
    let mut bytes = std::fs::read(&path).unwrap();
    bytes[4_000] ^= 1;
    std::fs::write(&path, bytes).unwrap();
    assert_eq!(web.get(&format!("/content/{hash}?task={task}")).expect(500)["code"], "store_damaged");
}
