//! Promises about idempotency: what a repeated submit finds.

use super::{
    Backend,
    graph::{Graph, name},
    world::World,
};
use crate::{Reader, saved::idempotency_row};
use relaymesh_core::{hash::Hash, id::RequestId, op::CancelMode, task::Status, task::spec::IdempotencyKey};

fn given(text: &str) -> IdempotencyKey {
    IdempotencyKey::Given(name(text))
}

/// A key leads to the task that was submitted with it.
pub fn a_key_leads_to_its_task<B: Backend>() {
    let mut world = World::<B>::new();
    let task = world.author.submit(&Graph::single().key(given("order-1")));
    world.author.submit(&Graph::single().key(given("order-2")));
    world.commit();
    let found = world.reader().idempotency(&name("default"), &given("order-1")).unwrap().unwrap();
    assert_eq!((found.task, found.task_key, found.status), (task, 1, Status::Pending));
    assert_eq!((found.result_hash, found.processed_ms, found.created), (None, None, false));
    assert_eq!(found, idempotency_row(&world.author.rows(task).task, false));
}

/// A key that nobody used, or that another namespace used, is `None`.
pub fn an_unknown_key_is_none<B: Backend>() {
    let mut world = World::<B>::new();
    assert_eq!(world.reader().idempotency(&name("default"), &given("x")).unwrap(), None);
    world.author.submit(&Graph::single().key(given("x")));
    world.commit();
    assert_eq!(world.reader().idempotency(&name("default"), &given("y")).unwrap(), None);
    assert_eq!(world.reader().idempotency(&name("other"), &given("x")).unwrap(), None);
}

/// Keys are unique within a namespace only.
pub fn one_key_in_two_namespaces_is_two_tasks<B: Backend>() {
    let mut world = World::<B>::new();
    let tasks = ["a", "b"].map(|text| world.author.submit(&Graph::single().namespace(text).key(given("x"))));
    world.commit();
    for (text, task) in ["a", "b"].into_iter().zip(tasks) {
        let found = world.reader().idempotency(&name(text), &given("x")).unwrap().unwrap();
        assert_eq!((found.namespace, found.task), (name(text), task));
    }
}

/// Once the task has ended, its key tells how, when, and with what.
pub fn the_end_of_the_task_is_kept_with_its_key<B: Backend>() {
    let mut world = World::<B>::new();
    let good = world.author.submit(&Graph::single().key(given("good")));
    let bad = world.author.submit(&Graph::single().key(given("bad")));
    world.commit();
    world.author.now_ms += 500;
    let held = world.author.claim(good, 0);
    world.author.complete(good, held, b"\"done\"").unwrap();
    world.author.cancel(bad, CancelMode::Hard).unwrap();
    world.commit();
    let found = world.reader().idempotency(&name("default"), &given("good")).unwrap().unwrap();
    assert_eq!((found.status, found.processed_ms), (Status::Success, Some(world.author.now_ms)));
    assert_eq!(found.result_hash, Some(Hash::sha256(b"\"done\"")));
    let found = world.reader().idempotency(&name("default"), &given("bad")).unwrap().unwrap();
    assert_eq!((found.status, found.result_hash), (Status::Cancelled, None));
}

/// A redriven task is open again, and so is its key.
pub fn a_redrive_opens_the_key_again<B: Backend>() {
    let mut world = World::<B>::new();
    let task = world.author.submit(&Graph::single().key(given("x")));
    world.author.cancel(task, CancelMode::Hard).unwrap();
    world.commit();
    world.author.redrive(task).unwrap();
    world.commit();
    let found = world.reader().idempotency(&name("default"), &given("x")).unwrap().unwrap();
    assert_eq!((found.status, found.processed_ms), (Status::Pending, None));
}

/// All three kinds of key come back, and do not meet though their bytes are alike.
pub fn keys_of_all_kinds_come_back<B: Backend>() {
    let mut world = World::<B>::new();
    let word = "ABCDEFGHIJKLMNOP";
    let keys = [
        IdempotencyKey::Request(Hash([0x41; 32])),
        IdempotencyKey::RequestId(RequestId::from_bytes(word.as_bytes().try_into().unwrap())),
        given(word),
        given(&"A".repeat(32)),
    ];
    let tasks = keys.clone().map(|key| world.author.submit(&Graph::single().key(key)));
    world.commit();
    for (key, task) in keys.into_iter().zip(tasks) {
        let found = world.reader().idempotency(&name("default"), &key).unwrap().unwrap();
        assert_eq!((found.task, found.key), (task, key));
    }
}

/// The newest request is the greatest request id of any namespace; keys of other kinds are none.
pub fn the_newest_request_is_the_greatest_of_all_namespaces<B: Backend>() {
    let mut world = World::<B>::new();
    assert_eq!(world.reader().newest_request().unwrap(), None);
    world.author.submit(&Graph::single().key(given("zzz")));
    world.author.submit(&Graph::single().key(IdempotencyKey::Request(Hash([0xff; 32]))));
    world.commit();
    assert_eq!(world.reader().newest_request().unwrap(), None);
    let request = |ms| RequestId::new(ms, 7);
    for (ms, namespace) in [(5, "a"), (9, "b"), (7, "a")] {
        world.author.submit(&Graph::single().namespace(namespace).key(IdempotencyKey::RequestId(request(ms))));
    }
    world.commit();
    world.restart();
    assert_eq!(world.reader().newest_request().unwrap(), Some(request(9)));
}
