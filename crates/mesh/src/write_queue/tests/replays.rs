//! Stories of replay: order, repeats, restarts, operators.

use super::*;

/// Sends and settles whatever is next for `target` until nothing is, and says in which order.
fn drain(queue: &mut Queue, target: u128, now_ms: u64) -> Vec<u64> {
    let mut order = Vec::new();
    while let Some(entry) = queue.next(node(target), now_ms) {
        let (id, created) = (entry.write.id, entry.write.created.wall_ms);
        queue.begin(id, now_ms).unwrap();
        queue.settle(id, decided(Outcome::Applied), now_ms).unwrap();
        order.push(created);
    }
    order
}

#[test]
fn f8_d11_rows_are_replayed_by_created_and_id_whatever_the_order_of_arrival() {
    let mut queue = Queue::default();
    for (number, created) in [(5, 30), (1, 20), (4, 10), (2, 20), (3, 20)] {
        queue.enqueue(write(number, created, 2), Failure::Timeout, 100, 0).unwrap();
    }
    queue.enqueue(write(9, 1, 3), Failure::Timeout, 100, 0).unwrap();
    let order: Vec<_> = queue.rows().map(|entry| (entry.write.created.wall_ms, entry.write.id)).collect();
    assert_eq!(order, [(1, id(9)), (10, id(4)), (20, id(1)), (20, id(2)), (20, id(3)), (30, id(5))]);
    assert_eq!(drain(&mut queue, 2, 100), [10, 20, 20, 20, 30]);
    assert_eq!(queue.waiting_targets().into_iter().collect::<Vec<_>>(), [node(3)], "another target is on its own");
}

#[test]
fn f8_one_at_a_time_and_what_waits_for_its_time_holds_up_what_is_behind_it() {
    let mut queue = one();
    queue.enqueue(write(2, 20, 2), Failure::Timeout, 20, 0).unwrap();
    assert_eq!(queue.begin(id(2), 30), Err(Refusal::NotItsTurn { id: id(2), first: id(1) }));
    queue.begin(id(1), 30).unwrap();
    assert_eq!(queue.next(node(2), 30), None, "one is being sent");
    queue.postpone(id(1), Failure::Http(503), 40, 500).unwrap();
    assert_eq!(queue.next(node(2), 539), None, "and the second does not overtake it");
    assert_eq!(queue.begin(id(1), 539), Err(Refusal::NotDue { id: id(1), due_ms: 540 }));
    assert_eq!(queue.next(node(2), 540).map(|entry| entry.write.id), Some(id(1)));
    assert_eq!(queue.row(id(1)).unwrap().attempt_count, 2);
    queue.begin(id(1), 540).unwrap();
    assert_eq!(queue.row(id(1)).unwrap().attempt_count, 3, "every attempt counts on the same row");
}

#[test]
fn the_same_intent_again_finds_its_row_and_another_write_does_not_get_it() {
    let mut queue = one();
    let again = queue.enqueue(write(1, 10, 2), Failure::Timeout, 50, 0).unwrap();
    assert_eq!(again, Enqueued::Already { id: id(1), status: Status::Pending });
    assert_eq!(queue, one(), "and changes nothing");
    let other = Intent { content: Hash([9; 32]), ..write(1, 10, 2) };
    assert_eq!(queue.enqueue(other, Failure::Timeout, 50, 0), Err(Refusal::Taken { id: id(1) }));
    let stolen = Intent { intent: IntentId::new(7, 7), ..write(1, 10, 2) };
    assert_eq!(queue.enqueue(stolen, Failure::Timeout, 50, 0), Err(Refusal::Taken { id: id(1) }));
}

#[test]
fn d14_what_was_being_sent_is_pending_after_a_start_and_nothing_else_moves() {
    let mut queue = one();
    queue.enqueue(write(2, 20, 2), Failure::Timeout, 20, 0).unwrap();
    queue.enqueue(write(3, 20, 3), Failure::Http(400), 20, 0).unwrap();
    queue.begin(id(1), 30).unwrap();
    let kept: Vec<Entry> = queue.rows().cloned().collect();
    let mut next = Queue::load(kept).unwrap();
    assert_eq!(next, queue, "the rows are all there is");
    assert_eq!(next.recover(1_000), Ok(vec![id(1)]));
    next.validate().unwrap();
    let row = next.row(id(1)).unwrap();
    assert_eq!((row.status, row.attempt_count, row.indeterminate), (Status::Pending, 2, true));
    assert_eq!(next.row(id(3)).unwrap().status, Status::Failed);
    assert_eq!(next.recover(1_000), Ok(vec![]), "once");
    assert_eq!(drain(&mut next, 2, 1_000), [10, 20]);
}

#[test]
fn d14_an_operator_replays_what_failed_with_the_same_intent_and_a_fence_of_today() {
    let mut queue = one();
    queue.begin(id(1), 20).unwrap();
    queue.settle(id(1), decided(Outcome::RejectedFenced), 30).unwrap();
    let fence = |epoch| Some(FenceToken { epoch, coordinator: node(8), sequence: 1 });
    let precondition = Precondition { base_revision: Some(7), lease_epoch: None };
    let older = queue.redrive(id(1), Some(Renewed { fence: fence(2), precondition }), 40).map(drop);
    assert_eq!(older, Err(Refusal::OlderFence { id: id(1), given: 2, had: 3 }));
    let entry = queue.redrive(id(1), Some(Renewed { fence: fence(4), precondition }), 40).unwrap();
    assert_eq!((entry.status, entry.outcome, entry.attempt_count), (Status::Pending, None, 2));
    let arriving = entry.arriving();
    assert_eq!((arriving.intent, arriving.fence, arriving.precondition), (IntentId::new(1, 1), fence(4), precondition));
    queue.validate().unwrap();
}

#[test]
fn f7_what_is_finished_stays_until_the_store_has_it_and_what_is_open_always_stays() {
    let mut queue = one();
    assert!(!queue.let_go(id(1)));
    queue.begin(id(1), 20).unwrap();
    assert!(!queue.let_go(id(1)));
    queue.settle(id(1), decided(Outcome::Applied), 30).unwrap();
    assert_eq!(queue.row(id(1)).unwrap().outcome, Some(Outcome::Applied), "history");
    assert!(queue.let_go(id(1)));
    assert_eq!(queue, Queue::default());
}

#[test]
fn only_so_many_wait_and_the_next_one_is_told() {
    let mut queue = Queue::default();
    for number in 0..OPEN_MAX as u128 {
        let write = Intent { id: id(number), intent: IntentId::new(1, number), ..write(1, 10, 2) };
        queue.enqueue(write, Failure::Timeout, 10, 0).unwrap();
    }
    let one_more = || Intent { id: id(1 << 70), intent: IntentId::new(1, 1 << 70), ..write(1, 10, 2) };
    assert_eq!(queue.enqueue(one_more(), Failure::Timeout, 10, 0), Err(Refusal::Full));
    assert_eq!(queue.enqueue(one_more(), Failure::Http(400), 10, 0), Ok(Enqueued::Failed), "a refusal takes no place");
}

#[test]
fn the_numbers_of_a_degraded_read() {
    let mut queue = one();
    queue.enqueue(write(2, 20, 2), Failure::Timeout, 20, 0).unwrap();
    queue.enqueue(write(3, 30, 2), Failure::Http(400), 20, 0).unwrap();
    queue.begin(id(1), 30).unwrap();
    assert_eq!(queue.depth(), Depth { queue_depth: 3, pending_writes: 2, failed_writes: 1 });
    queue.settle(id(1), decided(Outcome::Applied), 40).unwrap();
    let json = serde_json::to_string(&queue.depth()).unwrap();
    assert_eq!(json, r#"{"queueDepth":2,"pendingWriteCount":1,"failedWriteCount":1}"#);
}
