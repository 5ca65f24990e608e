//! What the bytes and sums of rows promise.

use super::*;
use crate::{
    backoff::Backoff,
    content::{ContentRef, Media},
    hash::Hash,
    hlc::Hlc,
    id::{LeaseToken, NodeId, WorkerId},
    lanes::Priority,
    name::Name,
    task::{
        Attempt, Lease, Outcome, Status,
        spec::{Ask, IdempotencyKey, RetryPolicy, StepSpec},
        state::Failing,
    },
};

/// Rows with something in every field.
fn rows(number: u128) -> TaskRows {
    let name = |text: &str| text.parse::<Name>().unwrap();
    let spec = StepSpec {
        name: name("a"),
        agent: name("x"),
        priority: Priority::High,
        depends_on: vec![1],
        compensates: Some(2),
        input: Some(ContentRef::of(Media::Text, b"input")),
        retry: RetryPolicy { max_attempts: 3, backoff: Backoff::default() },
        timeout_ms: Some(7),
        approve: Some(Ask { text: "ok?".to_owned(), deadline_ms: Some(8) }),
    };
    let worker = WorkerId::new(1, 2);
    let lease = Lease { owner: NodeId::new(1, 1), worker, token: LeaseToken::new(1, 3), claimed_ms: 4, deadline_ms: 5 };
    let attempt = Attempt { epoch: 1, worker, started_ms: 2, ended_ms: 3, outcome: Outcome::Timeout };
    let step = Step {
        result_pos: 9,
        rev: 2,
        spec,
        status: Status::Running,
        ready: true,
        attempt: 2,
        epoch: 4,
        due_ms: 6,
        lease: Some(lease),
        result: Some(ContentRef::of(Media::Json, b"1")),
        success: 1,
        error: Some("late".to_owned()),
        decided_by: Some(name("alice")),
        history: vec![attempt],
        updated_ms: 11,
    };
    let task = Task {
        key: 5,
        rev: 3,
        id: TaskId::new(1, number),
        namespace: name("default"),
        name: name("task"),
        status: Status::Running,
        idempotency_key: IdempotencyKey::Given(name("key")),
        fingerprint: Hash::sha256(b"request"),
        trace_id: 77,
        created_ms: 1,
        updated_ms: 11,
        head: Hlc { wall_ms: 11, logical: 0, node: NodeId::new(1, 1) },
        successes: 1,
        failing: Some(Failing { step: 0, status: Status::Failed }),
        cancel: Some(crate::op::CancelMode::Soft),
        result_hash: Some(Hash::sha256(b"1")),
    };
    TaskRows { task, steps: vec![step.clone(), Step { epoch: 5, ..step }] }
}

#[test]
fn rows_come_back_without_what_is_of_this_node_only() {
    let TaskRows { task, steps } = rows(1);
    let mut bytes = b"left over from the row before".to_vec();
    let sum = encode_task(&task, &mut bytes);
    assert_eq!(decode(RowKey::Task(task.id), &bytes, sum), Ok(Task { key: 0, ..task.clone() }));
    let sum = encode_step(task.id, 1, &steps[1], &mut bytes);
    assert_eq!(decode(RowKey::Step(task.id, 1), &bytes, sum), Ok(Step { result_pos: 0, ..steps[1].clone() }));
    assert_eq!(StateHash::of(&rows(1)), StateHash::of(&TaskRows { task: Task { key: 99, ..task }, steps }));
}

#[test]
fn every_flipped_bit_and_every_truncation_is_found() {
    let TaskRows { task, steps } = rows(1);
    let mut bytes = Vec::new();
    let sum = encode_step(task.id, 0, &steps[0], &mut bytes);
    let read = |bytes: &[u8], sum| decode::<Step>(RowKey::Step(task.id, 0), bytes, sum);
    for bit in 0..bytes.len() * 8 {
        let mut flipped = bytes.clone();
        flipped[bit / 8] ^= 1 << (bit % 8);
        assert_eq!(read(&flipped, sum), Err(Error::Sum), "bit {bit}");
    }
    for bit in 0..128 {
        assert_eq!(read(&bytes, RowSum(sum.0 ^ (1 << bit))), Err(Error::Sum), "bit {bit} of the sum");
    }
    for len in 0..bytes.len() {
        assert_eq!(read(&bytes[..len], sum), Err(Error::Sum), "cut to {len}");
    }
}

#[test]
fn a_row_in_the_place_of_another_is_found() {
    let TaskRows { task, steps } = rows(1);
    let mut bytes = Vec::new();
    let sum = encode_step(task.id, 0, &steps[0], &mut bytes);
    for key in [RowKey::Step(task.id, 1), RowKey::Step(TaskId::new(1, 2), 0), RowKey::Task(task.id)] {
        assert_eq!(decode::<Step>(key, &bytes, sum), Err(Error::Sum), "{key:?}");
    }
}

#[test]
fn bytes_that_match_their_sum_and_cannot_be_read_are_refused_by_name() {
    let key = RowKey::Task(TaskId::new(1, 1));
    let read = |bytes: &[u8]| decode::<Task>(key, bytes, sum_of(key, bytes)).unwrap_err();
    assert_eq!(read(&[2, 0, 0]), Error::Version { found: 2 });
    assert!(matches!(read(&[]), Error::Damaged { .. }));
    assert!(matches!(read(&[VERSION, 1]), Error::Damaged { .. }));
}

#[test]
fn bytes_after_a_row_are_not_passed_over() {
    let task = rows(1).task;
    let mut bytes = Vec::new();
    encode_task(&task, &mut bytes);
    bytes.push(0);
    let key = RowKey::Task(task.id);
    let error = decode::<Task>(key, &bytes, sum_of(key, &bytes)).unwrap_err();
    assert_eq!(error, Error::Damaged { detail: "1 bytes too many".to_owned() });
}

#[test]
fn the_state_hash_does_not_depend_on_the_order_of_rows() {
    let mut bytes = Vec::new();
    let mut sums = Vec::new();
    for rows in [rows(1), rows(2)] {
        sums.push(encode_task(&rows.task, &mut bytes));
        sums.extend(rows.indexed().map(|(index, step)| encode_step(rows.task.id, index, step, &mut bytes)));
    }
    let total = |sums: &mut dyn Iterator<Item = &RowSum>| {
        let mut hash = StateHash::default();
        sums.for_each(|sum| hash.change(RowSum::default(), *sum));
        hash
    };
    let forward = total(&mut sums.iter());
    assert_eq!(forward, total(&mut sums.iter().rev()));
    assert_eq!(forward.0, StateHash::of(&rows(1)).0.wrapping_add(StateHash::of(&rows(2)).0));
    assert_ne!(forward, total(&mut sums[1..].iter()), "a lost row is found");
    assert_ne!(forward, total(&mut sums.iter().chain(&sums[..1])), "a doubled row is found");
}

#[test]
fn a_change_back_undoes_a_change() {
    let (old, new) = (RowSum(u128::MAX - 3), RowSum(17));
    let mut hash = StateHash(5);
    hash.change(old, new);
    assert_ne!(hash, StateHash(5));
    hash.change(new, old);
    assert_eq!(hash, StateHash(5));
}
