//! Conditions, lists and references, worked out by the driver.

use super::{Rig, done, failed, name, worker};
use crate::driver::{Command, Error};
use relaymesh_core::{
    id::{StepId, TaskId},
    task::{Refusal, Status, request::Request as Asked},
};
use relaymesh_store::{Content, ContentKey, Reader as _};
use serde_json::{Value, json};

fn flow(steps: Value) -> Asked {
    super::flow(json!({ "name": "flow", "steps": steps }))
}

fn given(steps: Value, input: Value) -> Asked {
    Asked { given: Some(input), ..flow(steps) }
}

/// What the next work was given.
fn input(rig: &mut Rig) -> (String, Value) {
    let work = rig.begun();
    let Content::Inline(bytes) = &work.input else { panic!("a short input") };
    let input = serde_json::from_slice(bytes).unwrap();
    rig.finish(work.hold, done("{\"ok\":true}"));
    (work.name.to_string(), input)
}

fn result(rig: &Rig, task: TaskId, index: usize) -> Value {
    let step = rig.rows(task).steps[index].clone();
    let bytes = rig.disk.reader().bytes(ContentKey::new(step.result_pos, 0)).unwrap().unwrap();
    serde_json::from_slice(&bytes).unwrap()
}

#[test]
fn references_are_filled_in_and_make_a_step_wait() {
    let mut rig = Rig::new();
    let task = rig.submit(&given(
        json!([
            { "id": "use", "agent": "hold", "input": { "file": "${{ steps.find.result.files[0] }}", "for": "you, ${{ input.who }}" } },
            { "id": "find", "agent": "echo", "input": { "files": ["a.rs", "b.rs"] } },
        ]),
        json!({ "who": "Ada" }),
    ));
    assert_eq!(rig.rows(task).steps[0].spec.depends_on, [1]);
    assert_eq!(input(&mut rig), ("use".to_owned(), json!({ "file": "a.rs", "for": "you, Ada" })));
    assert_eq!(rig.status(task), Status::Success);
}

#[test]
fn a_reference_that_leads_nowhere_fails_the_step_for_good_and_says_what_is_there() {
    let mut rig = Rig::new();
    let task = rig.submit(&flow(json!([
        { "id": "find", "agent": "echo", "input": { "files": [] } },
        { "id": "use", "agent": "hold", "input": "${{ steps.find.result.flies }}" },
    ])));
    let step = rig.rows(task).steps[1].clone();
    assert_eq!(step.status, Status::Failed);
    assert_eq!(step.error.as_deref(), Some("steps.find.result has no `flies`; it has: files"));
}

#[test]
fn a_step_runs_when_its_condition_holds_and_is_skipped_when_not() {
    let mut rig = Rig::new();
    let task = rig.submit(&flow(json!([
        { "id": "triage", "agent": "echo", "input": { "kind": "bug", "n": 3 } },
        { "id": "fix", "agent": "hold", "when": "steps.triage.result.kind == 'bug'", "input": 1 },
        { "id": "answer", "agent": "hold", "when": "${{ steps.triage.result.kind == 'question' }}", "input": 2 },
        { "id": "report", "agent": "hold", "depends_on": ["fix", "answer"] },
    ])));
    assert_eq!(rig.step_status(task, 2), Status::Skipped);
    assert_eq!(input(&mut rig), ("fix".to_owned(), json!(1)));
    assert_eq!(input(&mut rig), ("report".to_owned(), json!({ "fix": { "ok": true }, "answer": null })));
    assert_eq!(rig.status(task), Status::Success);
}

#[test]
fn a_list_runs_once_for_each_item_and_delivers_what_they_came_to() {
    let mut rig = Rig::new();
    let task = rig.submit(&flow(json!([
        { "id": "find", "agent": "echo", "input": { "files": ["a", "b"] } },
        { "id": "fix", "agent": "hold", "foreach": "${{ steps.find.result.files }}", "input": "${{ index }}: ${{ item }}" },
        { "id": "bare", "agent": "echo", "foreach": [10, "x"] },
        { "id": "report", "agent": "echo", "input": { "fixed": "${{ length(steps.fix.result) }}", "bare": "${{ steps.bare.result }}" } },
    ])));
    assert_eq!(input(&mut rig), ("fix.0".to_owned(), json!("0: a")));
    assert_eq!(input(&mut rig), ("fix.1".to_owned(), json!("1: b")));
    assert_eq!(rig.status(task), Status::Success);
    assert_eq!(result(&rig, task, 1), json!([{ "ok": true }, { "ok": true }]));
    assert_eq!(result(&rig, task, 3), json!({ "fixed": 2, "bare": [10, "x"] }));
}

#[test]
fn what_is_no_list_and_what_is_too_long_fail_for_good() {
    let mut rig = Rig::new();
    let many: Vec<u32> = (0..1024).collect();
    for (items, said) in [(json!("text"), "is not a list"), (json!(many), "1024 items")] {
        let steps = json!([{ "id": "fix", "agent": "hold", "foreach": "${{ input.items }}" }]);
        let task = rig.submit(&given(steps, json!({ "items": items })));
        let step = rig.rows(task).steps[0].clone();
        assert_eq!(step.status, Status::Failed);
        assert!(step.error.as_ref().unwrap().contains(said), "{:?}", step.error);
    }
}

#[test]
fn one_item_that_fails_is_tried_again_alone() {
    let mut rig = Rig::new();
    let task = rig.submit(&flow(json!([
        { "id": "fix", "agent": "hold", "foreach": [1, 2], "retry": { "max_attempts": 2, "base_backoff_ms": 100 } },
    ])));
    let first = rig.begun();
    rig.finish(first.hold, failed("not now"));
    assert_eq!(input(&mut rig).0, "fix.1");
    rig.pass(1_000);
    assert_eq!(input(&mut rig), ("fix.0".to_owned(), json!(1)));
    assert_eq!(rig.status(task), Status::Success);
}

#[test]
fn the_node_works_out_what_is_for_an_agent_that_it_does_not_know() {
    let mut rig = Rig::new();
    let task = rig.submit(&flow(json!([{ "id": "far", "agent": "elsewhere", "when": "1 == 1", "foreach": [7] }])));
    let claim = |index| Command::Claim { step: StepId { task, index }, worker: worker(1), lease_ms: 1_000 };
    assert_eq!(rig.rows(task).steps.len(), 2, "it was looked at without the agent");
    let refused = rig.call(claim(0));
    assert_eq!(refused, Err(Error::Refused(Refusal::NotReady { name: name("far") })));
    assert!(rig.call(claim(1)).is_ok());
}

#[test]
fn a_crash_while_the_node_looks_costs_nothing() {
    let asked = flow(json!([
        { "id": "a", "agent": "echo", "when": "true", "foreach": [1, 2], "retry": { "max_attempts": 3 } },
    ]));
    // The process dies after each number of commits: whatever was durable, the task comes to its end.
    for commits in 1..12 {
        let mut other = Rig::new();
        let command = other.submit_command(&asked, crate::driver::Until::Accepted);
        let _answered = other.send(command);
        let done = (0..commits).take_while(|_| other.commit_one()).count();
        let mut other = other.crash();
        other.settle();
        other.pass(60_000);
        other.pass(60_000);
        let tasks = other.disk.reader().tasks(&relaymesh_store::TaskFilter::default(), None, 10).unwrap();
        assert_eq!(tasks.iter().map(|task| task.status).collect::<Vec<_>>(), [Status::Success], "after {done} commits");
    }
}

#[test]
fn a_full_disk_while_the_node_looks_costs_nothing() {
    let mut rig = Rig::new();
    rig.settle();
    let asked = flow(json!([
        { "id": "a", "agent": "echo", "when": "true", "foreach": [1, 2], "retry": { "max_attempts": 1 } },
    ]));
    for full in 1..8 {
        let command = rig.submit_command(&asked, crate::driver::Until::Accepted);
        let answered = rig.send(command);
        for _ in 0..full {
            rig.commit_one();
        }
        if let Some(batch) = rig.engine.poll_batch() {
            let full = relaymesh_store::Error::Full { detail: "no room".to_owned() };
            rig.engine.handle_committed(if batch.is_empty() { Ok(()) } else { Err(full) });
            rig.engine.tell();
        }
        rig.pass(60_000);
        rig.pass(60_000);
        let Ok(Ok(crate::driver::Answer::Accepted { task, .. })) = answered.try_recv() else {
            panic!("accepted first")
        };
        assert_eq!(rig.status(task), Status::Success, "full at commit {full}");
        assert_eq!(rig.rows(task).steps[0].attempt, 1);
    }
}
