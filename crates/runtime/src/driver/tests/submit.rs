//! Submitting: answers are durable, repeats merge, keys are not for two requests.

use super::{Rig, flow, name, submit_of};
use crate::{
    driver::{Answer, Command, Error, Submit, Until},
    world::{Finished, Outcome},
};
use relaymesh_core::{
    content::INLINE_BYTES_MAX,
    hash::Hash,
    id::TaskId,
    op::CancelMode,
    task::{Refusal, Status, request::Request as Asked, spec::IdempotencyKey},
};
use relaymesh_store::{Content, Reader as _};
use serde_json::json;

fn submit_keyed(rig: &mut Rig, asked: &Asked, key: Option<IdempotencyKey>) -> Result<Answer, Error> {
    let prepared = asked.prepare(&name("default"), key, 1).unwrap();
    rig.call(Command::Submit(submit_of(name("default"), prepared, Until::Accepted)))
}

fn task_of(answer: &Result<Answer, Error>) -> (TaskId, bool) {
    match answer {
        Ok(Answer::Accepted { task, merged, .. }) => (*task, *merged),
        other => panic!("not accepted: {other:?}"),
    }
}

#[test]
fn no_answer_before_the_commit() {
    let mut rig = Rig::new();
    let asked = Asked::single(name("hold"), None);
    let command = rig.submit_command(&asked, Until::Accepted);
    let answered = rig.send(command);
    assert!(answered.try_recv().is_err(), "decided is not durable");
    let batch = rig.engine.poll_batch().unwrap();
    assert!(answered.try_recv().is_err(), "on its way is not durable");
    assert_eq!(rig.disk.reader().head().unwrap().pos, 0);
    relaymesh_store::Store::commit(rig.store.as_mut().unwrap(), &batch).unwrap();
    rig.engine.handle_committed(Ok(()));
    rig.engine.tell();
    assert!(matches!(answered.try_recv(), Ok(Ok(Answer::Accepted { merged: false, .. }))));
}

#[test]
fn a_refusal_that_stands_on_an_uncommitted_row_waits_for_it_too() {
    let mut rig = Rig::new();
    let asked = Asked::single(name("hold"), None);
    let first = rig.submit_command(&asked, Until::Accepted);
    let accepted = rig.send(first.clone());
    rig.engine.poll_batch().unwrap();
    let repeated = rig.send(first);
    assert!(accepted.try_recv().is_err() && repeated.try_recv().is_err());
}

#[test]
fn submit_and_claim_go_in_one_batch() {
    let mut rig = Rig::new();
    rig.settle();
    let asked = Asked::single(name("echo"), None);
    let command = rig.submit_command(&asked, Until::Ended);
    let answered = rig.send(command);
    assert_eq!(rig.engine.poll_batch().unwrap().ops.len(), 2, "ScheduleJob and ClaimWork");
    rig.engine.handle_committed(Ok(()));
    rig.engine.tell();
    assert!(!rig.engine.start_some(1));
    assert_eq!(rig.engine.poll_batch().unwrap().ops.len(), 1, "CompleteJob");
    rig.engine.handle_committed(Ok(()));
    rig.engine.tell();
    assert!(matches!(answered.try_recv(), Ok(Ok(Answer::Ended { status: Status::Success, .. }))));
}

/// An end that is not durable yet must not be told, even if one before it is.
#[test]
fn whoever_waits_is_told_of_the_end_that_is_durable_and_not_of_the_next() {
    let mut rig = Rig::new();
    let task = rig.single("hold");
    let waits = rig.send(Command::Wait { task });
    let hold = rig.begun().hold;
    rig.engine.handle_finished(Finished::new(hold, Outcome::Failed { error: "no".into(), retryable: false }));
    let batch = rig.engine.poll_batch().unwrap();
    let redrive = Command::Redrive { task, reason: String::new() };
    let cancel = Command::Cancel { task, mode: CancelMode::Hard, reason: String::new() };
    let later = [rig.send(redrive), rig.send(cancel), rig.send(Command::Wait { task })];
    relaymesh_store::Store::commit(rig.store.as_mut().unwrap(), &batch).unwrap();
    rig.engine.handle_committed(Ok(()));
    rig.engine.tell();
    assert!(matches!(waits.try_recv(), Ok(Ok(Answer::Ended { status: Status::Failed, .. }))));
    assert!(later.iter().all(|answered| answered.try_recv().is_err()), "their batch is not durable");
    rig.settle();
    assert!(matches!(later[2].try_recv(), Ok(Ok(Answer::Ended { status: Status::Cancelled, .. }))));
}

/// The writer gets its next batch before anybody is told of the last: what is told must not depend on that.
#[test]
fn the_next_batch_may_be_given_out_before_the_last_is_told() {
    let mut rig = Rig::new();
    let asked = Asked::single(name("hold"), None);
    let first = rig.submit_command(&asked, Until::Accepted);
    let a = rig.send(first.clone());
    let batch = rig.engine.poll_batch().unwrap();
    let second = rig.submit_command(&asked, Until::Accepted);
    let b = rig.send(second);
    relaymesh_store::Store::commit(rig.store.as_mut().unwrap(), &batch).unwrap();
    rig.engine.handle_committed(Ok(()));
    let next = rig.engine.poll_batch().unwrap();
    let repeat = rig.send(first);
    assert!(a.try_recv().is_err());
    rig.engine.tell();
    assert!(matches!(a.try_recv(), Ok(Ok(Answer::Accepted { merged: false, .. }))));
    assert!(b.try_recv().is_err() && repeat.try_recv().is_err());
    relaymesh_store::Store::commit(rig.store.as_mut().unwrap(), &next).unwrap();
    rig.engine.handle_committed(Ok(()));
    rig.settle();
    assert!(matches!(b.try_recv(), Ok(Ok(Answer::Accepted { merged: false, .. }))));
    assert!(matches!(repeat.try_recv(), Ok(Ok(Answer::Accepted { merged: true, .. }))));
    assert_eq!(rig.levers.lock().unwrap().begun.len(), 2);
}

#[test]
fn d5_equal_requests_merge_and_the_answer_says_so() {
    let mut rig = Rig::new();
    let asked = Asked::single(name("echo"), Some(json!({ "b": 1, "a": 2 })));
    let same = Asked::single(name("echo"), Some(json!({ "a": 2, "b": 1 })));
    let other = Asked::single(name("echo"), Some(json!({ "a": 2, "b": 2 })));
    let (task, merged) = task_of(&submit_keyed(&mut rig, &asked, None));
    assert!(!merged);
    assert_eq!(task_of(&submit_keyed(&mut rig, &same, None)), (task, true));
    assert!(!task_of(&submit_keyed(&mut rig, &other, None)).1);
    assert_eq!(rig.disk.reader().counts().unwrap().0, 2);
}

#[test]
fn d5_a_repeat_in_the_same_batch_merges() {
    let mut rig = Rig::new();
    let asked = Asked::single(name("hold"), None);
    let command = rig.submit_command(&asked, Until::Accepted);
    let (first, second) = (rig.send(command.clone()), rig.send(command));
    rig.settle();
    let (a, b) = (task_of(&first.recv().unwrap()), task_of(&second.recv().unwrap()));
    assert_eq!((a.0, a.1, b.1), (b.0, false, true));
    assert_eq!(rig.disk.reader().counts().unwrap().0, 1);
}

#[test]
fn d5_a_key_is_not_for_two_requests() {
    let mut rig = Rig::new();
    let key = || Some(IdempotencyKey::Given(name("order-7").into()));
    let (task, _) = task_of(&submit_keyed(&mut rig, &Asked::single(name("echo"), Some(json!(1))), key()));
    let refused = submit_keyed(&mut rig, &Asked::single(name("echo"), Some(json!(2))), key());
    assert_eq!(refused, Err(Error::KeyReused { key: "order-7".to_owned(), task }));
    assert_eq!(rig.disk.reader().counts().unwrap().0, 1);
}

#[test]
fn r6_a_repeat_of_a_finished_task_returns_its_result() {
    let mut rig = Rig::new();
    let asked = Asked::single(name("echo"), Some(json!([1, 2])));
    let prepared = asked.prepare(&name("default"), None, 1).unwrap();
    let submit = submit_of(name("default"), prepared, Until::Ended);
    let first = rig.call(Command::Submit(submit.clone()));
    let second = rig.call(Command::Submit(submit));
    assert_eq!(first, second);
    assert!(matches!(first, Ok(Answer::Ended { result_hash: Some(hash), .. }) if hash == Hash::sha256(b"[1,2]")));
    let row = rig.disk.reader().idempotency(
        &name("default"),
        &IdempotencyKey::Request(asked.prepare(&name("default"), None, 1).unwrap().schedule.fingerprint),
    );
    assert_eq!(rig.status(row.unwrap().unwrap().task), Status::Success);
}

#[test]
fn namespaces_do_not_merge() {
    let mut rig = Rig::new();
    let asked = Asked::single(name("echo"), None);
    let key = Some(IdempotencyKey::Given(name("k").into()));
    for made in ["a", "b"] {
        rig.call(Command::CreateNamespace { name: name(made), about: String::new() }).unwrap();
    }
    let mut submit = |namespace: &str| {
        let prepared = asked.prepare(&name(namespace), key.clone(), 1).unwrap();
        let command = Command::Submit(submit_of(name(namespace), prepared, Until::Accepted));
        task_of(&rig.call(command))
    };
    assert!(!submit("a").1 && !submit("b").1 && submit("a").1);
}

#[test]
fn waiting_for_what_is_not_there_is_refused() {
    let mut rig = Rig::new();
    let nobody = TaskId::new(1, 1);
    assert_eq!(rig.call(Command::Wait { task: nobody }), Err(Error::Refused(Refusal::NoTask)));
}

#[test]
fn what_was_only_looked_at_does_not_stay_in_memory() {
    let mut rig = Rig::new();
    let tasks: Vec<TaskId> = (0..20).map(|_| rig.single("echo")).collect();
    for task in &tasks {
        rig.call(Command::Wait { task: *task }).unwrap();
        let cancel = Command::Cancel { task: *task, mode: relaymesh_core::op::CancelMode::Hard, reason: String::new() };
        assert!(rig.call(cancel).is_err());
    }
    rig.settle();
    assert_eq!(rig.engine.live(), 0);
}

fn json_of(content: &Content) -> serde_json::Value {
    let Content::Inline(bytes) = content else { panic!("a blob: {content:?}") };
    serde_json::from_slice(bytes).unwrap()
}

/// A long input is a blob: the engine hands it on and never reads it; for the step after it the bytes are needed.
#[test]
fn a_long_input_travels_as_a_blob() {
    let mut rig = Rig::new();
    let text = "x".repeat(3 * INLINE_BYTES_MAX);
    let asked = flow(json!({ "name": "long", "steps": [
        { "id": "a", "agent": "echo", "input": text },
        { "id": "b", "agent": "hold", "depends_on": ["a"] },
    ]}));
    let prepared = asked.prepare(&name("default"), None, 1).unwrap();
    let mut command = Command::Submit(Submit::new(name("default"), prepared, Until::Accepted));
    assert!(command.is_long());
    let mut command = command.stowed(&rig.disk).unwrap();
    assert!(!command.is_long());
    let (task, _) = task_of(&rig.call(command));
    let work = rig.begun();
    assert_eq!(json_of(&work.input), json!({ "a": text }));
    rig.finish(work.hold, super::done("1"));
    assert_eq!(rig.status(task), Status::Success);
    assert_eq!(rig.rows(task).steps[0].result.unwrap().len as usize, text.len() + 2);
    relaymesh_store::verify::rows(&mut rig.disk.reader(), &mut |_| {}).unwrap();
}

/// A result that cannot be kept must not leave the attempt without an end.
#[test]
fn a_result_that_is_too_long_fails_its_step() {
    let mut rig = Rig::new();
    let task = rig.single("hold");
    let hold = rig.begun().hold;
    rig.finish(hold, super::done(&"x".repeat(INLINE_BYTES_MAX + 1)));
    assert_eq!(rig.status(task), Status::Failed);
    assert!(rig.rows(task).steps[0].error.as_ref().unwrap().contains("the content has 8193 bytes"));
}

#[test]
fn a_diamond_gets_its_input_from_the_results_before_it() {
    let mut rig = Rig::new();
    let task = rig.submit(&flow(json!({ "name": "diamond", "steps": [
        { "id": "a", "agent": "echo", "input": { "x": 1 } },
        { "id": "b", "agent": "echo", "depends_on": ["a"] },
        { "id": "c", "agent": "echo", "depends_on": ["a"] },
        { "id": "d", "agent": "hold", "depends_on": ["b", "c"] },
    ]})));
    let work = rig.begun();
    let input: serde_json::Value = json_of(&work.input);
    assert_eq!(input, json!({ "b": { "a": { "x": 1 } }, "c": { "a": { "x": 1 } } }));
    rig.finish(work.hold, super::done("42"));
    assert_eq!(rig.rows(task).task.result_hash, Some(Hash::sha256(b"42")));
}
