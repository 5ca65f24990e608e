//! Claims by authors who have not heard of each other, and claims that are dated back (L4, D19, D7).

use crate::{
    author::{Author, LEASE_MS, START_MS, held, result, scope, step, submit},
    reference::{arrive, permutations},
};
use relaymesh_core::{
    hlc::Hlc,
    kernel::{self, Rows},
    op::{Body, ExpireReason, Op},
    task::{self, Refusal, Status, Step},
};
use relaymesh_mesh::fold::{Fold, NoEffect};
use relaymesh_mesh::rows;

/// Two authors who both know of a task of one step.
fn two() -> (Author, Author, Op) {
    let (mut one, mut other) = (Author::new(1), Author::new(2));
    let task = one.say(scope(0), START_MS, submit(vec![step("a", &[], None, false)]));
    other.hear(&task, START_MS);
    (one, other, task)
}

fn complete(author: &mut Author, claim: &Op, at_ms: u64, text: &str) -> Op {
    author.say(scope(0), at_ms, task::Body::CompleteJob { held: held(claim, 1), result: result(text) })
}

fn only(fold: &Fold) -> &Step {
    &fold.rows(scope(0)).and_then(rows::Rows::node).and_then(Rows::task).expect("the task is there").steps[0]
}

fn refusal(fold: &Fold, op: &Op) -> Option<Refusal> {
    let why = fold.no_effect(scope(0), op.header.op_id)?;
    let NoEffect::Refused(rows::Refusal::Node(kernel::Refusal::Task(refusal))) = why else { panic!("{why}") };
    Some(refusal.clone())
}

#[test]
fn of_two_concurrent_claims_the_earlier_wins_and_the_other_ones_result_is_fenced() {
    let (mut one, mut other, task) = two();
    let early = one.say(scope(0), START_MS + 5, one.claim(scope(0), 0));
    let late = other.say(scope(0), START_MS + 6, other.claim(scope(0), 0));
    let displaced = complete(&mut other, &late, START_MS + 7, "displaced");
    let counts = complete(&mut one, &early, START_MS + 20, "counts");
    let ops = [task, early, late.clone(), displaced.clone(), counts];
    for order in permutations(&ops) {
        let fold = arrive(order);
        assert_eq!(only(&fold).result, Some(result("counts")));
        assert!(matches!(refusal(&fold, &late), Some(Refusal::Held { epoch: 1, .. })));
        assert!(matches!(refusal(&fold, &displaced), Some(Refusal::Fenced { epoch: 1, given: 1, .. })));
    }
}

#[test]
fn a_result_that_counted_is_displaced_when_an_earlier_claim_arrives_late() {
    let (mut one, mut other, task) = two();
    let early = one.say(scope(0), START_MS + 5, one.claim(scope(0), 0));
    let late = other.say(scope(0), START_MS + 6, other.claim(scope(0), 0));
    let done = complete(&mut other, &late, START_MS + 7, "provisional");
    let mut fold = arrive([task, late, done.clone()]);
    assert_eq!(only(&fold).result, Some(result("provisional")));
    fold.insert(early.clone());
    assert_eq!((only(&fold).status, only(&fold).result), (Status::Running, None));
    assert_eq!(only(&fold).lease.as_ref().map(|lease| lease.token), Some(held(&early, 1).token));
    assert!(matches!(refusal(&fold, &done), Some(Refusal::Fenced { .. })));
}

#[test]
fn at_equal_wall_time_and_count_the_smaller_node_wins() {
    let (mut one, mut other, task) = two();
    let time = |author: &Author| Hlc { wall_ms: START_MS + 5, logical: 0, node: author.node };
    let first = one.say_at(scope(0), time(&one), one.claim(scope(0), 0));
    let second = other.say_at(scope(0), time(&other), other.claim(scope(0), 0));
    for order in permutations(&[task, first.clone(), second]) {
        let fold = arrive(order);
        assert_eq!(only(&fold).lease.as_ref().map(|lease| lease.token), Some(held(&first, 1).token));
    }
}

#[test]
fn a_back_dated_claim_cannot_displace_a_completion_that_its_author_had_seen() {
    let (mut one, mut liar, task) = two();
    let claim = one.say(scope(0), START_MS + 50, one.claim(scope(0), 0));
    let done = complete(&mut one, &claim, START_MS + 60, "stands");
    for op in [&claim, &done] {
        liar.hear(op, START_MS + 61);
    }
    let dated = Hlc { wall_ms: START_MS + 1, logical: 0, node: liar.node };
    let theft = liar.say_at(scope(0), dated, liar.claim(scope(0), 0));
    for order in permutations(&[task, claim, done.clone(), theft.clone()]) {
        let fold = arrive(order);
        assert_eq!(only(&fold).result, Some(result("stands")));
        assert_eq!(refusal(&fold, &theft), Some(Refusal::BackDated { dated, seen: done.header.hlc }));
    }
}

#[test]
fn a_claim_that_cites_its_own_time_has_no_effect() {
    let (_, mut liar, task) = two();
    let dated = Hlc { wall_ms: START_MS + 5, logical: 0, node: liar.node };
    let claim = liar.say_at(scope(0), dated, liar.claim_citing(0, dated));
    for order in permutations(&[task, claim.clone()]) {
        let fold = arrive(order);
        assert_eq!(refusal(&fold, &claim), Some(Refusal::BackDated { dated, seen: dated }));
        assert_eq!((only(&fold).status, only(&fold).epoch), (Status::Pending, 0));
    }
}

#[test]
fn a_back_dated_renewal_of_ones_own_lease_has_no_effect_either() {
    let (mut one, other, task) = two();
    let claim = one.say(scope(0), START_MS + 5, one.claim(scope(0), 0));
    let Body::Task(task::Body::ClaimWork { step, owner, worker, token, .. }) = claim.body.clone() else { panic!() };
    let seen = Hlc { wall_ms: START_MS + 500, logical: 0, node: other.node };
    let again = Body::Task(task::Body::ClaimWork { step, owner, worker, token, lease_ms: 10 * LEASE_MS, seen });
    let renewal = one.say(scope(0), START_MS + 9, again);
    let fold = arrive([task, claim, renewal.clone()]);
    assert!(matches!(refusal(&fold, &renewal), Some(Refusal::BackDated { .. })));
    assert_eq!(only(&fold).lease.as_ref().map(|lease| lease.deadline_ms), Some(START_MS + 5 + LEASE_MS));
}

#[test]
fn concurrent_expiries_count_once_and_a_renewal_before_them_beats_both() {
    let (mut one, mut other, task) = two();
    let claim = one.say(scope(0), START_MS + 5, one.claim(scope(0), 0));
    other.hear(&claim, START_MS + 6);
    let expire =
        Body::Task(task::Body::ExpireWork { step: 0, epoch: 1, reason: ExpireReason::DeadlinePassed, jitter_ms: 0 });
    let mut quiet = one.clone();
    let first = quiet.say(scope(0), START_MS + 5 + LEASE_MS + 1, expire.clone());
    let second = other.say(scope(0), START_MS + 5 + LEASE_MS + 2, expire);
    for order in permutations(&[task.clone(), claim.clone(), first, second.clone()]) {
        let fold = arrive(order);
        assert_eq!((only(&fold).status, only(&fold).history.len()), (Status::Retrying, 1));
    }
    let renewal = one.say(scope(0), START_MS + 50, claim.body.clone());
    for order in permutations(&[task, claim, renewal, second.clone()]) {
        let fold = arrive(order);
        assert_eq!(only(&fold).status, Status::Running);
        assert!(matches!(refusal(&fold, &second), Some(Refusal::LeaseRuns { .. })));
    }
}

#[test]
fn a_completion_beats_an_expiry_exactly_when_it_is_older() {
    for (done_ms, expected) in [(LEASE_MS + 7, Status::Success), (LEASE_MS + 9, Status::Retrying)] {
        let (mut one, mut other, task) = two();
        let claim = one.say(scope(0), START_MS + 5, one.claim(scope(0), 0));
        other.hear(&claim, START_MS + 6);
        let body = Body::Task(task::Body::ExpireWork {
            step: 0,
            epoch: 1,
            reason: ExpireReason::DeadlinePassed,
            jitter_ms: 0,
        });
        let expiry = other.say(scope(0), START_MS + LEASE_MS + 8, body);
        let done = complete(&mut one, &claim, START_MS + done_ms, "x");
        for order in permutations(&[task, claim, expiry, done]) {
            assert_eq!(only(&arrive(order)).status, expected);
        }
    }
}
