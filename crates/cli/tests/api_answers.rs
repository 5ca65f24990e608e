//! Answers of the daemon: however much a task has delivered and however many ask for it without reading, what the daemon holds is bounded, and
//! nothing is lost by that: what is not in an answer is named in it.

#![cfg(target_os = "linux")]
#![allow(clippy::unwrap_used, reason = "a test that cannot go on should stop")]

use crate::common::{
    house::House,
    web::{Web, chunk},
};
use relaymesh_core::hash::Hash;
use serde_json::{Value, json};
use std::{
    io::{BufRead as _, BufReader, Read as _, Write as _},
    net::TcpStream,
};

/// What the daemon may hold in each of these scenes.
const HELD_KIB_MAX: u64 = 128 << 10;
/// The length of a result that is passed on.
const LONG: usize = 9_000_000;
/// How many steps pass it on.
const PASSED: usize = 40;
/// Results up to this length stand in an answer.
const SHORT: usize = 64 << 10;

fn house() -> (House, Web) {
    let house = House::new();
    assert_eq!(house.run(&["up", "--detach"]).code, 0);
    let web = Web::of(&house);
    (house, web)
}

/// The same root with a daemon that has answered nothing yet.
fn anew(house: &House) -> Web {
    assert_eq!(house.run(&["down"]).code, 0);
    assert_eq!(house.run(&["up", "--detach"]).code, 0);
    Web::of(house)
}

/// The most memory that the daemon had so far.
fn peak_kib(house: &House) -> u64 {
    let status = std::fs::read_to_string(format!("/proc/{}/status", house.pid().unwrap())).unwrap();
    let line = status.lines().find_map(|line| line.strip_prefix("VmHWM:")).unwrap();
    line.trim().trim_end_matches(" kB").parse().unwrap()
}

fn submit(web: &Web, body: &Value) -> String {
    let task = web.post("/tasks", body).expect(201)["task"].as_str().unwrap().to_owned();
    loop {
        let waited = web.get(&format!("/tasks/{task}/wait?timeout_ms=30000&results=none")).expect(200);
        if waited["ended"] == true {
            assert_eq!(waited["status"], "SUCCESS", "{}", waited["failed_step"]);
            return task;
        }
    }
}

/// Asks on a connection of its own, and reads up to the body.
fn ask(web: &Web, path: &str) -> BufReader<TcpStream> {
    let mut stream = web.connect();
    stream.write_all(web.request("GET", path, &[], None).as_bytes()).unwrap();
    let mut reader = BufReader::new(stream);
    let mut line = String::new();
    reader.read_line(&mut line).unwrap();
    assert!(line.contains(" 200 "), "{path}: {line}");
    while line.trim_end() != "" {
        line.clear();
        reader.read_line(&mut line).unwrap();
    }
    reader
}

/// Reads a body that comes in parts to its end: its length, how often this byte is in it, and its last bytes.
fn read_on(mut reader: BufReader<TcpStream>, wanted: u8) -> (usize, usize, Vec<u8>) {
    let (mut length, mut found, mut last) = (0, 0, Vec::new());
    while let Some(part) = chunk(&mut reader) {
        length += part.len();
        found += part.iter().filter(|byte| **byte == wanted).count();
        last = part;
    }
    last.drain(..last.len().saturating_sub(2));
    (length, found, last)
}

#[test]
fn n13_a_flow_that_passes_megabytes_on_is_answered_within_the_bound_and_so_are_forty_who_do_not_read() {
    let (house, web) = house();
    let mut steps = vec![json!({ "id": "first", "agent": "echo", "input": "~".repeat(LONG) })];
    steps.extend((0..PASSED).map(|n| json!({ "id": format!("s{n}"), "agent": "echo", "depends_on": ["first"] })));
    let task = submit(&web, &json!({ "flow": { "name": "pass", "steps": steps } }));

    // Everything, as it is written: each result once.
    let web = anew(&house);
    let (length, found, last) = read_on(ask(&web, &format!("/tasks/{task}?results=full")), b'~');
    assert_eq!((found, &last[..]), ((1 + PASSED) * LONG, &b"]}"[..]), "{length} bytes");
    let peak = peak_kib(&house);
    assert!(peak <= HELD_KIB_MAX, "one reader of {length} bytes took the daemon to {peak} KiB");

    // What is usual: nothing of it, and where it is.
    let shown = web.get(&format!("/tasks/{task}"));
    assert!(shown.body.len() < SHORT, "{} bytes", shown.body.len());
    let shown = shown.expect(200);
    assert_eq!((&shown["result"], shown["result_steps"].as_array().map(Vec::len)), (&Value::Null, Some(PASSED)));
    for step in shown["steps"].as_array().unwrap() {
        let bytes = step["result_ref"]["bytes"].as_u64().unwrap();
        assert!(step["result"].is_null() && bytes > LONG as u64, "{step}");
        assert_eq!(step["result_ref"]["media_type"], "application/json");
    }
    let hash = shown["steps"][0]["result_ref"]["hash"].as_str().unwrap();
    let content = web.get(&format!("/content/{hash}?task={task}"));
    assert_eq!((content.status, content.body.len()), (200, LONG + 2));
    assert_eq!(Hash::sha256(content.body.as_bytes()).to_string(), hash);

    // Many who ask for all of it in every way that there is, and do not read.
    let web = anew(&house);
    let paths = ["?results=full", "/export", "/wait?results=full", "/steps/first?results=full"];
    let asking = |n: usize| ask(&web, &format!("/tasks/{task}{}", paths[n % paths.len()]));
    let waiting: Vec<BufReader<TcpStream>> = (0..40).map(asking).collect();
    let (_, found, _) = read_on(ask(&web, &format!("/tasks/{task}/steps/first?results=full")), b'~');
    assert_eq!(found, LONG, "who reads is answered meanwhile");
    let peak = peak_kib(&house);
    assert!(peak <= HELD_KIB_MAX, "{} readers who do not read took the daemon to {peak} KiB", waiting.len());
    drop(waiting);

    // The JSON of the command line says where a result is, unless it is asked for everything, and so does its table.
    let shown = house.run(&["task", "show", &task, "--json"]);
    assert!(shown.stdout.len() < SHORT && shown.json()["result_steps"][39] == "s39", "{} bytes", shown.stdout.len());
    let shown = house.run(&["task", "show", &task]);
    assert!(shown.stdout.contains("a result of 9000002 bytes"), "{}", shown.stdout);
}

#[test]
fn n13_a_result_stands_once_and_what_an_answer_has_no_room_for_is_named() {
    let (house, web) = house();
    let count = |path: &str, text: &str| web.get(path).body.matches(text).count();
    let one = submit(&web, &json!({ "agent": "echo", "input": "marmalade" }));
    for (path, times) in [("", 1), ("?results=full", 1), ("?results=none", 0), ("/wait", 1), ("/steps/0", 1)] {
        assert_eq!(count(&format!("/tasks/{one}{path}"), "marmalade"), times, "{path}");
    }
    let again = web.post("/tasks?wait_ms=1000", &json!({ "agent": "echo", "input": "marmalade" }));
    assert_eq!((again.status, &again.json()["result"]), (200, &json!("marmalade")));
    let none = web.post("/tasks?wait_ms=1000&results=none", &json!({ "agent": "echo", "input": "marmalade" })).json();
    assert_eq!((&none["result"], &none["result_ref"]["bytes"]), (&Value::Null, &json!(11)));
    assert_eq!(web.get(&format!("/tasks/{one}?results=some")).expect(400)["code"], "usage");
    assert!(house.run(&["task", "show", &one]).stdout.contains("marmalade"), "people see it with its step");

    // Items are in the result of their list, and that is what the task delivered.
    let item = "x".repeat(20_000);
    let items: Vec<String> = (0..60).map(|n| format!("item-{n}-{item}")).collect();
    let list = |items: &[String]| {
        json!({ "flow": { "name": "list", "steps": [
            { "id": "find", "agent": "echo", "input": { "files": items } },
            { "id": "each", "agent": "echo", "foreach": "${{ steps.find.result.files }}", "input": "${{ item }}" },
        ] } })
    };
    let short = submit(&web, &list(&items[..2]));
    assert_eq!(count(&format!("/tasks/{short}"), "item-1-"), 2, "in the list that was found, and in what came of it");
    let shown = web.get(&format!("/tasks/{short}")).expect(200);
    assert_eq!(shown["result"], json!(items[..2]));
    assert!(shown["steps"][2]["result"].is_null() && shown["steps"][2]["result_ref"]["bytes"].is_u64(), "{shown}");
    let text = house.run(&["task", "show", &short]).stdout;
    assert!(text.contains("\"item-1-xxx"), "people see it with its step: {text}");

    // Several last steps whose results are too long together: the task says who has them, and the command line puts them together.
    let text = "y".repeat(40_000);
    let echo = |id: &str| json!({ "id": id, "agent": "echo", "input": format!("{id} {text}") });
    let three = json!({ "flow": { "name": "three", "steps": [echo("a"), echo("b"), echo("c")] } });
    let three = submit(&web, &three);
    let shown = web.get(&format!("/tasks/{three}")).expect(200);
    assert_eq!((&shown["result_steps"], &shown["result"]), (&json!(["a", "b", "c"]), &Value::Null));
    assert_eq!(shown["steps"][1]["result"], json!(format!("b {text}")));
    let all = json!({ "a": format!("a {text}"), "b": format!("b {text}"), "c": format!("c {text}") });
    assert_eq!(web.get(&format!("/tasks/{three}?results=full")).expect(200)["result"], all);
    assert_eq!(house.run(&["task", "wait", &three]).json(), all);
    assert_eq!(house.run(&["task", "wait", &three, "--json"]).lines().last().unwrap()["result"], all);
    let url = format!("http://{}", web.host);
    let afar =
        |arguments: &[&str]| house.run(&[arguments, &["--url", &url, "--token-file", "root/http-token"]].concat());
    assert_eq!(afar(&["task", "wait", &three]).json(), all);

    // Lists that are too long are named, and of their items there are as many as have room.
    let long = submit(&web, &list(&items));
    let shown = web.get(&format!("/tasks/{long}"));
    assert!(shown.body.len() < (1 << 20) + (128 << 10), "{} bytes", shown.body.len());
    let shown = shown.expect(200);
    assert!(shown["result_ref"]["bytes"].as_u64() > Some(60 * 20_000), "{}", shown["result_ref"]);
    let with = |field: &str| shown["steps"].as_array().unwrap().iter().filter(|step| !step[field].is_null()).count();
    assert_eq!((with("result"), with("result_ref")), (52, 10), "1 MiB has room for 52 of them");
    let full = web.get(&format!("/tasks/{long}?results=full"));
    assert_eq!(full.body.matches("item-7-").count(), 2);
    assert_eq!(full.expect(200)["result"], json!(items));
    let export = house.run(&["task", "export", &long]).json();
    assert_eq!(export["result"], json!(items));
    let everything = house.run(&["task", "show", &long, "--json", "--results", "full"]).json();
    assert_eq!(everything["result"], json!(items));
    let waited = house.run(&["task", "wait", &long, "--json"]);
    assert_eq!(waited.lines().last().unwrap()["result"], json!(items));
    assert_eq!(afar(&["task", "wait", &long]).json(), json!(items), "it is fetched");
    assert_eq!(afar(&["task", "export", &long]).json(), export);
}

#[test]
fn n13_messages_and_requests_for_approval_name_what_is_long() {
    let (house, web) = house();
    const MESSAGES: usize = 30;
    let text = "m".repeat(1_000_000);
    let mut thread = Value::Null;
    for n in 0..MESSAGES {
        let sent = web.post("/messages", &json!({ "to": "ann", "from": "ben", "content": format!("{n}-{text}") }));
        thread = sent.expect(200)["thread"].clone();
    }
    web.post("/messages", &json!({ "to": "ann", "from": "ben", "content": "short" })).expect(200);
    let approve = json!({ "id": "ask", "agent": "echo", "input": text, "approve": "Ship it?" });
    let asked = web.post("/tasks", &json!({ "flow": { "name": "ask", "steps": [approve] } })).expect(201);

    let web = anew(&house);
    let inbox = web.get("/inboxes/ann").expect(200);
    let messages = inbox["messages"].as_array().unwrap();
    let named: Vec<&Value> = messages.iter().filter(|message| message["content_ref"].is_object()).collect();
    assert_eq!((messages.len(), named.len()), (MESSAGES + 1, MESSAGES));
    assert!(messages.iter().any(|message| message["content"] == "short"), "what is short stands there");
    let last = named.iter().find(|message| message["thread"] == thread).unwrap();
    let hash = last["content_ref"]["hash"].as_str().unwrap();
    let thread = thread.as_str().unwrap();
    assert_eq!(web.get(&format!("/content/{hash}?thread={thread}")).json(), json!(format!("29-{text}")));
    assert_eq!(web.get(&format!("/content/{hash}?thread={thread}&task={thread}")).expect(400)["code"], "usage");
    let said = web.get(&format!("/threads/{thread}")).expect(200);
    assert_eq!(said["messages"][0]["content_ref"]["hash"], *hash);

    // A token for an agent reads what it was sent, and nothing else.
    let code = house.run(&["agent", "token", "create"]).stdout;
    let register = |agent: &str| {
        let body = json!({ "agent": agent, "registration_token": code.trim() });
        web.with(web.post("/agents/register", &body).expect(200)["token"].as_str().unwrap())
    };
    let read = |web: &Web| web.get(&format!("/content/{hash}?thread={thread}")).status;
    assert_eq!((read(&register("ann")), read(&register("eve"))), (200, 404));

    let approvals = web.get("/approvals").expect(200);
    assert_eq!((&approvals["total"], &approvals["approvals"][0]["input"]), (&json!(1), &Value::Null));
    let input = approvals["approvals"][0]["input_ref"]["hash"].as_str().unwrap();
    let task = asked["task"].as_str().unwrap();
    assert_eq!(web.get(&format!("/content/{input}?task={task}")).json(), json!(text));

    // The one who takes a message gets all of it; many who do not read it hold little.
    let taking: Vec<TcpStream> = (0..MESSAGES)
        .map(|_| {
            let mut stream = web.connect();
            let headers = [("Content-Type", "application/json")];
            stream.write_all(web.request("POST", "/inboxes/ann/take", &headers, Some("{}")).as_bytes()).unwrap();
            stream.read_exact(&mut [0; 12]).unwrap();
            stream
        })
        .collect();
    let peak = peak_kib(&house);
    assert!(peak <= HELD_KIB_MAX, "{} deliveries took the daemon to {peak} KiB", taking.len());
    web.post("/messages", &json!({ "to": "bob", "from": "ben", "content": text })).expect(200);
    let taken = web.post("/inboxes/bob/take", &json!({})).expect(200);
    assert_eq!(taken["message"]["content"], json!(text), "the one who takes a message has all of it");
}
