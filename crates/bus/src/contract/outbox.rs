//! Promises about what waits for peers.

use super::{
    MeshBackend,
    world::{World, item},
};
use crate::outbound::{Failed, Item, OutboxId};

/// Every field comes back.
pub fn what_is_enqueued_comes_back_whole<B: MeshBackend>() {
    let world = World::<B>::new();
    let full = Item { attempts: 1, reason: Some("unreachable".to_owned()), ..item(1, 10, 90) };
    let id = world.enqueue(full.clone()).unwrap();
    assert_eq!(world.due(10), [(id, full)]);
}

/// Not a millisecond earlier.
pub fn nothing_is_due_before_its_time<B: MeshBackend>() {
    let world = World::<B>::new();
    let id = world.enqueue(item(1, 10, 90)).unwrap();
    assert_eq!(world.due_ids(9), []);
    assert_eq!(world.due_ids(10), [id]);
}

/// What is ready waits for what was there before it.
pub fn of_each_peer_only_the_first_is_due<B: MeshBackend>() {
    let world = World::<B>::new();
    let first = world.enqueue(item(1, 50, 90)).unwrap();
    world.enqueue(item(1, 0, 90)).unwrap();
    let other = world.enqueue(item(2, 0, 90)).unwrap();
    assert_eq!(world.due_ids(49), [other]);
    assert_eq!(world.due_ids(50), [other, first]);
}

/// By time, then by order of enqueueing.
pub fn the_longest_due_comes_first<B: MeshBackend>() {
    let world = World::<B>::new();
    let ids: Vec<OutboxId> =
        [(1, 30), (2, 10), (3, 10)].map(|(peer, time)| world.enqueue(item(peer, time, 90)).unwrap()).into();
    assert!(ids.is_sorted());
    assert_eq!(world.due_ids(40), [ids[1], ids[2], ids[0]]);
}

/// No more than asked for.
pub fn due_is_limited<B: MeshBackend>() {
    let world = World::<B>::new();
    for peer in 1..=3 {
        world.enqueue(item(peer, 0, 90)).unwrap();
    }
    assert_eq!([0, 2, 9].map(|limit| world.due_limited(1, limit)), [0, 2, 3]);
}

/// Removing the first makes the next due.
pub fn what_went_is_gone_and_the_next_is_due<B: MeshBackend>() {
    let world = World::<B>::new();
    let first = world.enqueue(item(1, 0, 90)).unwrap();
    let next = world.enqueue(item(1, 0, 90)).unwrap();
    assert_eq!(world.due_ids(1), [first]);
    assert!(world.remove(first).is_some());
    assert_eq!(world.due_ids(1), [next]);
}

/// Attempts, reason and time are kept, and its place, too.
pub fn a_failed_try_waits_with_its_reason<B: MeshBackend>() {
    let world = World::<B>::new();
    let id = world.enqueue(item(1, 0, 90)).unwrap();
    world.enqueue(item(1, 0, 90)).unwrap();
    assert_eq!(world.fail(id, "unreachable", 40), Failed::Waits);
    assert_eq!(world.due_ids(39), []);
    let (again, item) = world.due(40).remove(0);
    assert_eq!((again, item.attempts, item.reason.as_deref()), (id, 1, Some("unreachable")));
}

/// After three tries it is told and gone.
pub fn what_was_tried_too_often_is_given_up<B: MeshBackend>() {
    let world = World::<B>::new();
    let id = world.enqueue(item(1, 0, 90)).unwrap();
    assert_eq!([1, 2].map(|_| world.fail(id, "no", 0)), [Failed::Waits, Failed::Waits]);
    assert!(matches!(world.fail(id, "no", 0), Failed::GivenUp(item) if item.attempts == 3));
    assert_eq!(world.due_ids(1), []);
}

/// Its first is due at once, and nothing is put off by it.
pub fn a_peer_that_is_back_need_not_wait<B: MeshBackend>() {
    let world = World::<B>::new();
    let id = world.enqueue(item(1, 80, 90)).unwrap();
    world.enqueue(item(2, 80, 90)).unwrap();
    world.hurry(1, 5);
    world.hurry(1, 60);
    world.hurry(9, 5);
    assert_eq!(world.due_ids(5), [id]);
}

/// Also from the middle of a queue.
pub fn what_is_over_is_told_once_and_never_due<B: MeshBackend>() {
    let world = World::<B>::new();
    let ids = [90, 50, 90].map(|expires| world.enqueue(item(1, 0, expires)).unwrap());
    let over = world.expire(50);
    assert_eq!(over.iter().map(|(id, _)| *id).collect::<Vec<_>>(), [ids[1]]);
    assert_eq!(world.expire(50), []);
    assert_eq!(world.due_ids(89), [ids[0]]);
    assert_eq!(world.due_ids(90), [], "over, and not told yet");
}

/// By peer, by number and by bytes.
pub fn a_full_outbox_refuses_and_changes_nothing<B: MeshBackend>() {
    let world = World::<B>::new();
    let first = world.enqueue(item(1, 0, 90)).unwrap();
    for _ in 0..3 {
        world.enqueue(item(1, 0, 90)).unwrap();
    }
    assert_eq!(world.enqueue(item(1, 0, 90)).unwrap_err().what, "items for this peer");
    let large = Item { message: vec![0; 61], ..item(2, 0, 90) };
    assert_eq!(world.enqueue(large.clone()).unwrap_err().what, "bytes");
    let second = world.enqueue(item(2, 0, 90)).unwrap();
    assert_eq!(world.enqueue(item(3, 0, 90)).unwrap_err().what, "items");
    assert_eq!(world.due_ids(1), [first, second]);
    world.remove(second);
    world.remove(first);
    assert!(world.enqueue(large).is_ok(), "room again");
}

/// A second time, or never there: no error.
pub fn what_is_not_there_can_be_removed_and_failed<B: MeshBackend>() {
    let world = World::<B>::new();
    let id = world.enqueue(item(1, 0, 90)).unwrap();
    assert!(world.remove(id).is_some());
    assert_eq!(world.remove(id), None);
    assert_eq!(world.fail(id, "no", 0), Failed::Unknown);
    let next = world.enqueue(item(1, 0, 90)).unwrap();
    assert!(next > id, "no id is given twice");
}
