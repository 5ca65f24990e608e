use super::{Fixture, quiet};
use crate::{
    Content, ContentKey, Error, IdempotencyRow, Queue, Reader, StepKey,
    memory::Disk,
    verify::{Problem, RowsChecked, rows},
};
use relaymesh_core::{
    id::TaskId,
    row::{RowKey, encode_step},
    task::Status,
};

fn check(fixture: &mut Fixture) -> Result<RowsChecked, Problem> {
    rows(&mut fixture.reader, &mut quiet())
}

#[test]
fn what_was_written_is_good() {
    let mut fixture = Fixture::new();
    let checked = check(&mut fixture).unwrap();
    assert_eq!((checked.tasks, checked.steps), fixture.reader.counts().unwrap());
    assert_eq!(checked.state, fixture.reader.head().unwrap().state);
}

#[test]
fn a_damaged_row_is_found() {
    for key in [RowKey::Task as fn(TaskId) -> RowKey, |task| RowKey::Step(task, 1)] {
        let mut fixture = Fixture::new();
        assert!(fixture.disk.corrupt_row(key(fixture.tasks[2])));
        assert!(matches!(check(&mut fixture), Err(Problem::Store(Error::Damaged { .. }))));
    }
}

/// Changes a step's row together with its sum, as somebody does who knows how.
pub(super) fn doctor(disk: &Disk, reader: &mut impl Reader, task: TaskId) {
    let rows = reader.task(task).unwrap().unwrap();
    let mut step = rows.steps[0].clone();
    step.attempt += 1;
    let mut state = disk.state();
    let row = state.steps.get_mut(&StepKey::new(rows.task.key, 0)).unwrap();
    row.sum = encode_step(task, 0, &step, &mut row.bytes);
}

#[test]
fn a_changed_row_with_a_valid_sum_is_found_by_the_state_hash() {
    let mut fixture = Fixture::new();
    doctor(&fixture.disk, &mut fixture.reader, fixture.tasks[4]);
    assert!(fixture.reader.task(fixture.tasks[4]).is_ok(), "by itself it is good");
    assert!(matches!(check(&mut fixture), Err(Problem::State { .. })));
}

#[test]
fn a_lost_row_is_found() {
    let mut fixture = Fixture::new();
    let last = *fixture.disk.state().steps.keys().last().unwrap();
    fixture.disk.state().steps.remove(&last);
    assert!(matches!(check(&mut fixture), Err(Problem::State { .. })));
}

#[test]
fn a_doctored_idempotency_row_is_found() {
    let changes: [fn(&mut IdempotencyRow); 3] =
        [|row| row.task = TaskId::new(1, 1), |row| row.task_key += 1, |row| row.fingerprint.0[0] ^= 1];
    for change in changes {
        let mut fixture = Fixture::new();
        change(fixture.disk.state().idempotency.values_mut().next().unwrap());
        assert!(matches!(check(&mut fixture), Err(Problem::Lookup { what: "idempotency row", .. })));
    }
    let mut fixture = Fixture::new();
    fixture.disk.state().idempotency.pop_first();
    assert!(matches!(check(&mut fixture), Err(Problem::Lookup { what: "idempotency row", .. })));
}

#[test]
fn missing_and_damaged_content_is_found() {
    let keys: Vec<ContentKey> = Fixture::new().disk.state().content.keys().copied().collect();
    let mut found = 0;
    for key in keys {
        let mut fixture = Fixture::new();
        fixture.disk.state().content.insert(key, Content::Inline(b"bent".to_vec()));
        let damaged = check(&mut fixture);
        fixture.disk.state().content.remove(&key);
        match (damaged, check(&mut fixture)) {
            (Err(Problem::Content { key: a, .. }), Err(Problem::NoContent { key: b, .. })) => {
                assert_eq!((a, b), (key, key));
                found += 1;
            }
            other => panic!("{key:?}: {other:?}"),
        }
    }
    assert!(found > 10);
}

#[test]
fn a_step_that_left_its_queue_is_found() {
    for queue in Queue::ALL {
        let mut fixture = Fixture::new();
        let entry = fixture.disk.state().queues.iter().find(|(q, ..)| *q == queue).copied();
        let Some(entry) = entry else { continue };
        fixture.disk.state().queues.remove(&entry);
        assert!(matches!(check(&mut fixture), Err(Problem::Index { .. })), "{queue:?}");
        fixture.disk.state().queues.insert((entry.0, entry.1 + 1, entry.2));
        assert!(matches!(check(&mut fixture), Err(Problem::Index { .. })), "{queue:?} at another time");
    }
}

#[test]
fn a_lost_lease_and_a_wrong_status_are_found() {
    let mut fixture = Fixture::new();
    let lease = fixture.disk.state().leases.pop_first().unwrap();
    assert!(matches!(check(&mut fixture), Err(Problem::Index { .. })));
    fixture.disk.state().leases.insert(lease);
    check(&mut fixture).unwrap();
    fixture.disk.state().tasks.values_mut().next().unwrap().status = Status::Failed;
    assert!(matches!(check(&mut fixture), Err(Problem::Index { .. })));
}

#[test]
fn a_problem_says_what_to_do() {
    let mut fixture = Fixture::new();
    doctor(&fixture.disk, &mut fixture.reader, fixture.tasks[4]);
    let text = check(&mut fixture).unwrap_err().to_string();
    assert!(text.contains("Rebuild the rows from the log"), "{text}");
}
