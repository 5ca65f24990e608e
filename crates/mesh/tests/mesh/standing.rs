//! Results that do not count any more are kept, linked and told; and so is work that stands on them.

use crate::author::{Linked, START_MS, arrive, complete, insert, mesh, scope, submit, task, why};
use relaymesh_core::{id::TaskId, task::Status};
use relaymesh_mesh::fold::{News, NoEffect};

/// The second node has done the first step of two; the third one had claimed it earlier, which nobody heard of.
fn story() -> (Vec<Linked>, Vec<Linked>, [Linked; 2]) {
    let (mut authors, known) = mesh(3);
    let submitted = authors[0].say(scope(1), START_MS + 1, submit("k", &["a", "b"]));
    (1..3).for_each(|who| authors[who].hear(&submitted, START_MS + 2));
    let early = authors[2].claim(1, 0);
    let early = authors[2].say(scope(1), START_MS + 3, early);
    let claim = authors[1].claim(1, 0);
    let claim = authors[1].say(scope(1), START_MS + 5, claim);
    let done = authors[1].say(scope(1), START_MS + 6, complete(&claim, 1, "mine"));
    authors[1].cites = vec![done.op.header.op_id];
    let next = authors[1].claim(1, 1);
    let next = authors[1].say(scope(1), START_MS + 7, next);
    let other = authors[2].say(scope(1), START_MS + 8, complete(&early, 1, "theirs"));
    (known, vec![submitted, claim, done, next], [early, other])
}

#[test]
fn d29_a_displaced_result_is_kept_linked_and_told() {
    let (known, ops, [early, other]) = story();
    let mut fold = arrive(known.iter().chain(&ops));
    assert_eq!(task(&fold, 1).steps[0].status, Status::Success);
    insert(&mut fold, &early);
    let op = ops[2].op.header.op_id;
    let told = fold.poll_news();
    assert_eq!(told, Some(News::Displaced { task: TaskId::new(0, 1), step: 0, op, by: None }));
    insert(&mut fold, &other);
    let results = fold.results_of(TaskId::new(0, 1));
    assert_eq!(results.len(), 2, "both are kept");
    assert_eq!((results[0].op, results[0].counts, results[0].superseded_by), (op, false, Some(other.op.header.op_id)));
    assert!(results[1].counts && results[1].superseded_by.is_none());
}

#[test]
fn a_step_that_could_not_be_begun_yet_as_it_turns_out_is_pending_again_and_not_marked() {
    let (known, mut ops, [early, other]) = story();
    let fold = arrive(known.iter().chain(&ops));
    assert_eq!(task(&fold, 1).steps[1].status, Status::Running);
    ops.extend([early, other]);
    // The claim on the second step was made before the first was done, as it turns out: it does not count.
    let fold = arrive(known.iter().chain(&ops));
    let step = &task(&fold, 1).steps[1];
    assert_eq!((step.status, step.attempt, step.lease.as_ref()), (Status::Pending, 0, None));
    assert!(matches!(why(&fold, &ops[3]), Some(NoEffect::Refused(_))), "{:?}", why(&fold, &ops[3]));
    assert_eq!(fold.stale_inputs(TaskId::new(0, 1)), Vec::<u16>::new(), "nothing is under way that could be stale");
}

#[test]
fn stale_input_is_seen_where_the_claim_still_counts() {
    let (mut authors, known) = mesh(3);
    let submitted = authors[0].say(scope(1), START_MS + 1, submit("k", &["a", "b"]));
    (1..3).for_each(|who| authors[who].hear(&submitted, START_MS + 2));
    let early = authors[2].claim(1, 0);
    let early = authors[2].say(scope(1), START_MS + 3, early);
    let other = authors[2].say(scope(1), START_MS + 4, complete(&early, 1, "theirs"));
    let claim = authors[1].claim(1, 0);
    let claim = authors[1].say(scope(1), START_MS + 5, claim);
    let done = authors[1].say(scope(1), START_MS + 6, complete(&claim, 1, "mine"));
    authors[1].cites = vec![done.op.header.op_id];
    let next = authors[1].claim(1, 1);
    let next = authors[1].say(scope(1), START_MS + 7, next);
    let mut fold = arrive(known.iter().chain([&submitted, &claim, &done, &next]));
    assert!(fold.stale_inputs(TaskId::new(0, 1)).is_empty());
    insert(&mut fold, &early);
    insert(&mut fold, &other);
    assert_eq!(fold.stale_inputs(TaskId::new(0, 1)), [1], "it was begun with what the second node had said");
    assert_eq!(task(&fold, 1).steps[1].status, Status::Running, "and goes on");
}
