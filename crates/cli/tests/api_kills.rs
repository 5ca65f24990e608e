//! kill -9 during bulk submits over HTTP: what a client was told is there, once; what it was not told it repeats with the same id, and that lands once.

#![allow(clippy::unwrap_used, reason = "a test that cannot go on should stop")]

use crate::common::{
    house::House,
    web::{Web, chunk},
};
use relaymesh_core::id::RequestId;
use serde_json::{Value, json};
use std::{
    collections::BTreeMap,
    io::{BufRead as _, BufReader, Write as _},
    sync::{
        Arc, Mutex,
        atomic::{AtomicUsize, Ordering},
        mpsc,
    },
    thread,
};

/// What each line was told: its task.
type Told = BTreeMap<String, String>;
/// Lines by their request id.
type Lines = BTreeMap<String, String>;

/// Submits every line that has no answer yet, and notes the answers as they come. Ends when all are answered or the daemon is gone.
fn submit(web: &Web, lines: &Lines, told: &Mutex<Told>, heard: &AtomicUsize) {
    let left: Vec<(&String, &String)> = {
        let told = told.lock().unwrap();
        lines.iter().filter(|(id, _)| !told.contains_key(*id)).collect()
    };
    let body: String = left.iter().flat_map(|(_, line)| [line.as_str(), "\n"]).collect();
    let Ok(mut stream) = std::net::TcpStream::connect(&web.host) else { return };
    let request = web.request("POST", "/tasks/bulk", &[("Content-Type", "application/x-ndjson")], Some(&body));
    let mut writes = stream.try_clone().unwrap();
    let sending = thread::spawn(move || writes.write_all(request.as_bytes()));
    let mut reader = BufReader::new(&mut stream).into_inner().try_clone().map(BufReader::new).unwrap();
    let mut line = String::new();
    while reader.read_line(&mut line).is_ok_and(|read| read > 0) && line != "\r\n" {
        line.clear();
    }
    let mut rest = Vec::new();
    while let Some(part) = chunk(&mut reader) {
        rest.extend(part);
        while let Some(at) = rest.iter().position(|byte| *byte == b'\n') {
            let answer: Value = serde_json::from_slice(&rest.drain(..=at).collect::<Vec<_>>()).unwrap();
            let number = usize::try_from(answer["line"].as_u64().unwrap()).unwrap();
            // What was refused because the daemon went away is simply not told.
            if let Some(task) = answer["task"].as_str() {
                told.lock().unwrap().insert(left[number - 1].0.clone(), task.to_owned());
                heard.fetch_add(1, Ordering::Relaxed);
            }
        }
    }
    let _ = sending.join();
}

/// Each client has so many new lines in each round, besides those that nobody answered in the one before: so there is something to kill every time,
/// however fast the daemon is.
fn rounds(clients: u32, kills: u32, new_lines: u32) {
    let house = House::new();
    assert_eq!(house.run(&["up", "--detach"]).code, 0);
    let mut all: Vec<(Lines, Arc<Mutex<Told>>)> = Vec::new();
    for client in 0..clients {
        let lines = (0..new_lines * (kills + 1)).map(|n| {
            let id =
                RequestId::new(1_794_000_000_000 + u64::from(n), u128::from(client) << 32 | u128::from(n)).to_string();
            let line = json!({ "agent": "echo", "input": [client, n], "request_id": id }).to_string();
            (id, line)
        });
        all.push((lines.collect(), Arc::default()));
    }
    for round in 0..=kills {
        let web = Web::of(&house);
        let heard = Arc::new(AtomicUsize::new(0));
        let (done, ended) = mpsc::channel();
        let known = usize::try_from(new_lines * (round + 1)).unwrap();
        let mut left = 0;
        for (lines, told) in &all {
            // They are in the order of their ids, which is that of their numbers.
            let lines: Lines = lines.iter().take(known).map(|(id, line)| (id.clone(), line.clone())).collect();
            left += lines.len() - told.lock().unwrap().len();
            let (web, told, heard, done) = (web.clone(), Arc::clone(told), Arc::clone(&heard), done.clone());
            thread::spawn(move || {
                submit(&web, &lines, &told, &heard);
                done.send(()).unwrap();
            });
        }
        if round < kills {
            // In the middle of it: so many answers later, a different number each time.
            let after = usize::try_from(1 + round * 7 % 40).unwrap();
            house.0.until("some are answered", |_| heard.load(Ordering::Relaxed) >= after);
            house.kill();
            eprintln!("kill {} after {} answers to {left} lines", round + 1, heard.load(Ordering::Relaxed));
        }
        for _ in &all {
            ended.recv().unwrap();
        }
        if round < kills {
            assert_eq!(house.run(&["up", "--detach"]).code, 0);
        }
    }
    let web = Web::of(&house);
    let mut tasks = BTreeMap::new();
    for (lines, told) in &all {
        let told = told.lock().unwrap();
        assert_eq!(told.len(), lines.len(), "in the end every line is answered");
        for (id, task) in told.iter() {
            assert!(tasks.insert(task.clone(), id.clone()).is_none(), "{task} is the task of two requests");
            let shown = web.get(&format!("/tasks/{task}")).expect(200);
            assert_eq!(shown["idempotency_key"], format!("{id}"), "what was told is there");
        }
    }
    let submits =
        house.run(&["audit", "query", "--kind", "schedule-job", "--limit", "1000000", "--json"]).lines().len();
    assert_eq!(submits, tasks.len(), "each landed once");
    let verified = house.run(&["log", "verify"]);
    assert_eq!(verified.code, 0, "{}{}", verified.stdout, verified.stderr);
}

#[test]
fn what_was_acknowledged_is_there_once_after_kills_during_bulk_submits() {
    rounds(6, 3, 20);
}

/// The whole of it, for `cargo xtask torture`.
#[test]
#[ignore = "minutes: 64 clients, 30 kills"]
fn sixty_four_clients_and_thirty_kills() {
    rounds(64, 30, 30);
}
