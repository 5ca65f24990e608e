//! Tasks and steps in every status that there is, each reached by the verbs that lead there.

use super::{
    author::{Author, LEASE_MS, OWNERS, WORKERS},
    graph::{Graph, asking, step},
};
use relaymesh_core::{
    id::TaskId,
    lanes::Priority,
    op::CancelMode,
    task::{
        Status,
        spec::{RetryPolicy, StepSpec},
    },
};

/// Makes a task for each way to rest, and gives them in the order of their making.
pub fn gallery(author: &mut Author) -> Vec<TaskId> {
    let tasks = vec![
        pending(author),
        waiting(author),
        running(author),
        retrying(author),
        success(author),
        failed(author),
        dead_letter(author),
        cancelled(author),
        compensated(author),
        redriven(author),
    ];
    let shown = |status| author.all_rows().flat_map(|rows| &rows.steps).any(|step| step.status == status);
    Status::ALL.into_iter().for_each(|status| assert!(shown(status), "no step rests in {status}"));
    tasks
}

fn pending(author: &mut Author) -> TaskId {
    author.submit(&Graph::chain(4).priority(Priority::Low).input(0, b"{\"a\":1}").input(3, b"[]"))
}

fn waiting(author: &mut Author) -> TaskId {
    let steps = vec![asking("soon", Some(60_000)), asking("ever", None), asking("agreed", Some(5_000)), step("free")];
    let task = author.submit(&Graph::of(steps).namespace("people"));
    author.decide(task, 2, true).unwrap();
    task
}

fn running(author: &mut Author) -> TaskId {
    let task = author.submit(&Graph::wide(3).priority(Priority::High));
    author.try_claim(task, 0, OWNERS[0], WORKERS[0]).unwrap();
    author.try_claim(task, 1, OWNERS[1], WORKERS[1]).unwrap();
    author.claim(task, 2);
    task
}

fn retrying(author: &mut Author) -> TaskId {
    let task = author.submit(&Graph::wide(2));
    let held = author.claim(task, 0);
    author.fail(task, held, true).unwrap();
    let held = author.claim(task, 1);
    author.now_ms += LEASE_MS + 1;
    author.expire(task, 1, held.epoch).unwrap();
    task
}

fn success(author: &mut Author) -> TaskId {
    let task = author.submit(&Graph::chain(2));
    let held = author.claim(task, 0);
    author.give_back(task, held).unwrap();
    author.finish(task, 0);
    author.finish(task, 1);
    task
}

fn failed(author: &mut Author) -> TaskId {
    let task = author.submit(&Graph::chain(3));
    author.finish(task, 0);
    let held = author.claim(task, 1);
    author.fail(task, held, false).unwrap();
    task
}

fn dead_letter(author: &mut Author) -> TaskId {
    let once = RetryPolicy { max_attempts: 1, ..RetryPolicy::default() };
    let task = author.submit(&Graph::of(vec![StepSpec { retry: once, ..step("once") }]));
    let held = author.claim(task, 0);
    author.fail(task, held, true).unwrap();
    task
}

fn cancelled(author: &mut Author) -> TaskId {
    let task = author.submit(&Graph::wide(2).namespace("people"));
    author.claim(task, 0);
    author.cancel(task, CancelMode::Hard).unwrap();
    task
}

/// The second step fails for good, so the first is undone.
fn compensated(author: &mut Author) -> TaskId {
    let undo = StepSpec { compensates: Some(0), ..step("undo") };
    let task = author.submit(&Graph::of(vec![step("do"), StepSpec { depends_on: vec![0], ..step("then") }, undo]));
    author.finish(task, 0);
    let held = author.claim(task, 1);
    author.fail(task, held, false).unwrap();
    author.finish(task, 2);
    assert_eq!(author.status(task), Status::Failed);
    task
}

fn redriven(author: &mut Author) -> TaskId {
    let task = failed(author);
    author.redrive(task).unwrap();
    author.finish(task, 1);
    task
}
