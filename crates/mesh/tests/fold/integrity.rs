//! Two ops at one time (L4), two ops in one place of a chain (D24).

use crate::{
    author::{Author, START_MS, held, result, scope, step, submit},
    history::{history, moves},
    reference::{answers, arrive, forks, permutations},
};
use proptest::prelude::*;
use relaymesh_core::{
    id::OpId,
    kernel::Rows,
    op::{Body, CancelMode, Op, Scope},
    task::{self, Status, TaskRows},
};
use relaymesh_mesh::fold::{Arrival, Fold, NoEffect};
use relaymesh_mesh::rows;

fn one_step(author: &mut Author, scope: Scope) -> Op {
    author.say(scope, START_MS, submit(vec![step("a", &[], None, false)]))
}

fn task_of(fold: &Fold, scope: Scope) -> &TaskRows {
    fold.rows(scope).and_then(rows::Rows::node).and_then(Rows::task).expect("the task is there")
}

fn hard_cancel(reason: &str) -> Body {
    Body::Task(task::Body::CancelTask { mode: CancelMode::Hard, reason: reason.to_owned() })
}

#[test]
fn two_ops_at_one_time_are_both_refused_whichever_arrives_first() {
    let (mut one, mut other) = (Author::new(1), Author::new(2));
    let task = one_step(&mut one, scope(0));
    other.hear(&task, START_MS);
    let first = one.say(scope(0), START_MS + 5, one.claim(scope(0), 0));
    let second = other.say_at(scope(0), first.header.hlc, other.claim(scope(0), 0));
    let after = one.say(scope(0), START_MS + 9, task::Body::CompleteJob { held: held(&first, 1), result: result("x") });
    for order in permutations(&[task, first.clone(), second.clone(), after]) {
        let fold = arrive(order);
        for op in [&first, &second] {
            let why = fold.no_effect(scope(0), op.header.op_id);
            assert_eq!(why, Some(&NoEffect::SameTime(first.header.hlc)));
        }
        let step = &task_of(&fold, scope(0)).steps[0];
        assert_eq!((step.status, step.epoch), (Status::Pending, 0), "neither was ever claimed");
    }
}

#[test]
fn a_third_op_at_the_same_time_is_refused_too() {
    let mut authors = [1, 2, 3].map(Author::new);
    let task = one_step(&mut authors[0], scope(0));
    let hlc = authors[0].clock.tick(START_MS + 5).unwrap();
    let claims = authors.each_mut().map(|author| author.say_at(scope(0), hlc, author.claim(scope(0), 0)));
    for order in permutations(&[task, claims[0].clone(), claims[1].clone(), claims[2].clone()]) {
        let fold = arrive(order);
        assert_eq!(task_of(&fold, scope(0)).steps[0].epoch, 0);
        assert!(claims.iter().all(|op| fold.no_effect(scope(0), op.header.op_id).is_some()));
    }
}

/// A task, a claim and a completion; and another op in the place of the claim.
fn forked(same_id: bool, same_time: bool) -> (Vec<Op>, u64) {
    let mut liar = Author::new(1);
    let task = one_step(&mut liar, scope(0));
    let other_task = one_step(&mut liar, scope(1));
    let claim = liar.say(scope(0), START_MS + 5, liar.claim(scope(0), 0));
    let done = liar.say(scope(0), START_MS + 6, task::Body::CompleteJob { held: held(&claim, 1), result: result("x") });
    let mut fork = claim.clone();
    fork.header.scope = scope(1);
    fork.body = hard_cancel("fork");
    if !same_id {
        fork.header.op_id = OpId::new(99, 99);
    }
    if !same_time {
        fork.header.hlc.logical += 1;
    }
    (vec![task, other_task, claim.clone(), done, fork], claim.header.seq)
}

#[test]
fn a_forked_chain_freezes_its_author_from_there_on_in_whatever_order_it_is_found() {
    for (same_id, same_time) in [(false, false), (false, true), (true, false), (true, true)] {
        let (ops, seq) = forked(same_id, same_time);
        let expected = answers(&Fold::of(ops.clone()), &ops);
        for order in permutations(&ops) {
            let fold = arrive(order);
            assert_eq!(answers(&fold, &ops), expected);
            for op in &ops {
                let frozen = NoEffect::Frozen { origin: op.header.origin, seq };
                let why = fold.no_effect(op.header.scope, op.header.op_id);
                assert_eq!(
                    why,
                    (op.header.seq >= seq).then_some(&frozen),
                    "same id: {same_id}, same time: {same_time}"
                );
            }
            for of in [scope(0), scope(1)] {
                assert_eq!(task_of(&fold, of).task.status, Status::Pending, "what came before stands");
            }
        }
    }
}

#[test]
fn arrivals_say_what_they_were() {
    let (ops, _) = forked(true, true);
    let [task, other, claim, done, fork] = &ops[..] else { panic!() };
    let mut fold = Fold::default();
    assert_eq!(fold.insert(done.clone()), Arrival::Newest);
    assert_eq!(fold.insert(task.clone()), Arrival::Late);
    assert_eq!(fold.insert(claim.clone()), Arrival::Late);
    assert_eq!(fold.insert(claim.clone()), Arrival::Duplicate);
    assert_eq!(fold.insert(other.clone()), Arrival::Newest);
    assert_eq!(fold.insert(fork.clone()), Arrival::Equivocation);
    assert_eq!(fold.insert(fork.clone()), Arrival::Duplicate);
    assert_eq!(fold.insert(claim.clone()), Arrival::Duplicate);
}

#[test]
fn an_earlier_fork_that_is_found_later_freezes_from_the_earlier_place() {
    let mut liar = Author::new(1);
    let ops: Vec<Op> = (0..4).map(|n| one_step(&mut liar, scope(n))).collect();
    let fork_of = |op: &Op| Op { body: hard_cancel("fork"), ..op.clone() };
    let mut fold = arrive(ops.clone());
    for (fork, left) in [(3, 3), (1, 1), (2, 1), (0, 0)] {
        fold.insert(fork_of(&ops[fork]));
        assert_eq!(fold.all_rows().count(), left, "after a fork in place {fork}");
    }
}

#[test]
fn a_new_origin_epoch_is_another_chain() {
    let mut author = Author::new(1);
    let first = one_step(&mut author, scope(0));
    let mut restored = one_step(&mut author, scope(1));
    (restored.header.origin_epoch, restored.header.seq) = (2, first.header.seq);
    let fold = arrive([first, restored]);
    assert_eq!(fold.all_rows().count(), 2);
}

proptest! {
    #![proptest_config(ProptestConfig { cases: 64, ..ProptestConfig::default() })]

    #[test]
    fn nothing_from_a_fork_on_takes_effect(moves in moves(10..60)) {
        let ops = history(2, &moves);
        let (fold, forks) = (Fold::of(ops.clone()), forks(&ops));
        for op in &ops {
            let from = forks.get(&(op.header.origin, op.header.origin_epoch));
            if let Some(seq) = from.filter(|from| op.header.seq >= **from) {
                let expected = NoEffect::Frozen { origin: op.header.origin, seq: *seq };
                prop_assert_eq!(fold.no_effect(op.header.scope, op.header.op_id), Some(&expected));
            }
        }
    }
}
