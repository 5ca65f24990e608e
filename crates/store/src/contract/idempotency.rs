//! Promises about idempotency: what a repeated submit finds.

use super::{
    Backend,
    graph::{Graph, name},
    world::World,
};
use crate::{IdempotencyRow, KeyPut, Reader};
use relaymesh_core::{hash::Hash, id::RequestId, task::spec::IdempotencyKey};

fn given(text: &str) -> IdempotencyKey {
    IdempotencyKey::Given(name(text).into())
}

/// A key leads to the task that was submitted with it.
pub fn a_key_leads_to_its_task<B: Backend>() {
    let mut world = World::<B>::new();
    let task = world.author.submit(&Graph::single().key(given("order-1")));
    world.author.submit(&Graph::single().key(given("order-2")));
    world.commit();
    let found = world.reader().idempotency(&name("default"), &given("order-1")).unwrap().unwrap();
    assert_eq!((found.task, found.task_key), (task, 1));
    assert_eq!(found, IdempotencyRow::of(&world.author.rows(task).task));
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

/// A key goes only with the task that has it.
pub fn a_key_goes_only_with_its_own_task<B: Backend>() {
    let mut world = World::<B>::new();
    let task = world.author.submit(&Graph::single().key(given("x")));
    world.commit();
    let row = IdempotencyRow::of(&world.author.rows(task).task);
    let mut batch = world.author.take();
    batch.keys.push(KeyPut::Removed(IdempotencyRow { task_key: 77, ..row.clone() }));
    world.try_commit(&batch).unwrap();
    assert_eq!(world.reader().idempotency(&name("default"), &given("x")).unwrap(), Some(row.clone()));
    batch.keys = vec![KeyPut::Removed(row.clone())];
    world.try_commit(&batch).unwrap();
    assert_eq!(world.reader().idempotency(&name("default"), &given("x")).unwrap(), None);
    world.try_commit(&batch).unwrap();
}

/// Within a batch a key may go and come again, and be taken over.
pub fn keys_come_and_go_in_order<B: Backend>() {
    let mut world = World::<B>::new();
    let tasks = ["x", "y"].map(|key| world.author.submit(&Graph::single().key(given(key))));
    world.commit();
    let [x, y] = tasks.map(|task| IdempotencyRow::of(&world.author.rows(task).task));
    let x_of_y = IdempotencyRow { key: x.key.clone(), ..y.clone() };
    let mut batch = world.author.take();
    batch.keys = vec![KeyPut::Removed(x.clone()), KeyPut::Added(x_of_y.clone()), KeyPut::Removed(x.clone())];
    world.try_commit(&batch).unwrap();
    assert_eq!(world.reader().idempotency(&name("default"), &given("x")).unwrap(), Some(x_of_y));
    batch.keys = vec![KeyPut::Moved(x.clone())];
    world.try_commit(&batch).unwrap();
    assert_eq!(world.reader().idempotency(&name("default"), &given("x")).unwrap(), Some(x.clone()));
    batch.keys = vec![KeyPut::Added(x)];
    world.refuse(&batch);
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
