//! The real threads on the memory store.

use super::{caller, done, name, submit_of};
use crate::{
    driver::{Answer, Command, Config, Driver, Error, Until},
    host::Host,
};
use relaymesh_core::{
    id::{NodeId, RequestId},
    task::{Status, request::Request as Asked, spec::IdempotencyKey},
};
use relaymesh_store::{Reader as _, Store as _, memory::MemoryStore, verify};
use std::sync::mpsc;

fn start() -> Driver<MemoryStore> {
    let store = MemoryStore::new(NodeId::new(1, 1));
    let blobs = store.blobs();
    Driver::start(store, Config::default(), |handle| Host::new(0, blobs, None, handle.late(), |_| {})).unwrap()
}

fn submit(agent: &str, input: serde_json::Value, n: u64) -> Command {
    let asked = Asked::single(name(agent), Some(input));
    let key = IdempotencyKey::RequestId(RequestId::new(n, 0));
    let prepared = asked.prepare(&name("default"), Some(key), 1).unwrap();
    Command::Submit(submit_of(name("default"), prepared, Until::Ended))
}

#[test]
fn r36_a_thousand_tasks_from_many_callers_end_once_each() {
    let driver = start();
    std::thread::scope(|scope| {
        for caller_number in 0..8 {
            let handle = driver.handle().clone();
            scope.spawn(move || {
                for n in 0..125 {
                    let answer = handle.call(caller(), submit("echo", serde_json::json!(n), caller_number * 1_000 + n));
                    assert!(matches!(answer, Ok(Answer::Ended { status: Status::Success, .. })), "{answer:?}");
                }
            });
        }
    });
    let store = driver.stop().unwrap();
    let mut reader = store.reader().unwrap();
    assert_eq!(reader.counts().unwrap(), (1_000, 1_000));
    verify::rows(&mut reader, &mut |_| {}).unwrap();
    assert_eq!(reader.head().unwrap().pos, 3_000);
}

#[test]
fn sleepers_wake_in_order_and_events_are_told() {
    let driver = start();
    let (event, events) = mpsc::channel();
    driver.handle().watch(move |e| event.send(e.clone()).is_ok());
    let (ended, order) = mpsc::channel();
    for ms in [60u64, 1, 30] {
        let ended = ended.clone();
        let reply = move |answer: Result<Answer, Error>| drop(ended.send((ms, answer)));
        driver.handle().send(caller(), submit("sleep", serde_json::json!({ "ms": ms }), ms), reply);
    }
    let woken: Vec<u64> = (0..3).map(|_| order.recv().unwrap().0).collect();
    assert_eq!(woken, [1, 30, 60]);
    driver.stop().unwrap();
    let told: Vec<u64> = events.iter().map(|e| e.pos).collect();
    assert_eq!(told, (1..=9).collect::<Vec<u64>>(), "every op, in order, once");
}

#[test]
fn r12_stopping_answers_everybody_and_keeps_what_was_accepted() {
    let driver = start();
    let handle = driver.handle().clone();
    let (waiting, never) = mpsc::channel();
    handle.send(caller(), submit("sleep", serde_json::json!({ "ms": 86_400_000 }), 1), move |a| drop(waiting.send(a)));
    let task = match handle.call(caller(), {
        let Command::Submit(mut echo) = submit("echo", serde_json::json!(1), 2) else { unreachable!() };
        echo.until = Until::Accepted;
        Command::Submit(echo)
    }) {
        Ok(Answer::Accepted { task, .. }) => task,
        other => panic!("{other:?}"),
    };
    let store = driver.stop().unwrap();
    assert!(never.recv().is_err(), "its reply is dropped with the driver: the task has not ended");
    assert_eq!(handle.call(caller(), Command::Wait { task }), Err(Error::Stopped));
    let rows = store.reader().unwrap().tasks(&relaymesh_store::TaskFilter::default(), None, 10).unwrap();
    assert_eq!(rows.len(), 2);
}

#[test]
fn the_builtin_agents_do_what_they_say() {
    let driver = start();
    let mut n = 0;
    let mut run = |agent: &str, input: serde_json::Value| {
        n += 1;
        match driver.handle().call(caller(), submit(agent, input, n)) {
            Ok(Answer::Ended { status, result_hash, .. }) => (status, result_hash),
            other => panic!("{other:?}"),
        }
    };
    let hash = |text: &str| Some(relaymesh_core::hash::Hash::sha256(text.as_bytes()));
    assert_eq!(run("echo", serde_json::json!({ "a": 1 })), (Status::Success, hash(r#"{"a":1}"#)));
    assert_eq!(run("sleep", serde_json::json!({ "ms": 1 })), (Status::Success, hash(r#"{"slept_ms":1}"#)));
    let digest = relaymesh_core::hash::Hash::sha256(b"1");
    assert_eq!(
        run("hash", serde_json::json!(1)),
        (Status::Success, hash(&format!(r#"{{"bytes":1,"sha256":"{digest}"}}"#)))
    );
    assert_eq!(run("fail", serde_json::json!({ "retryable": false })).0, Status::Failed);
    assert_eq!(run("fail", serde_json::json!({ "attempts": 0 })).0, Status::Success);
    for (agent, nonsense) in [("sleep", "long"), ("sleep", "{}"), ("fail", "maybe")] {
        assert_eq!(run(agent, serde_json::json!(nonsense)).0, Status::Failed, "{agent} {nonsense}");
    }
    let _ = done("");
    driver.stop().unwrap();
}
