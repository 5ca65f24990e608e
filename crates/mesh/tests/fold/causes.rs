//! L7: an op takes effect after everything that it cites, in whatever order they arrive; a cycle never does; and those
//! that wait are counted.

use crate::{
    author::{Author, START_MS, repository, scope, step, submit},
    history::{history, moves},
    reference::{answers, arrive, distinct, permutations, shuffled},
};
use proptest::prelude::*;
use relaymesh_core::{
    hlc::Hlc,
    id::OpId,
    op::{CAUSAL_DEPS_MAX, CancelMode, Op, Scope},
    task::{self, Status},
};
use relaymesh_mesh::fold::{Arrival, Fold, NoEffect};
use std::collections::BTreeSet;

fn task(author: &mut Author, number: u128, at_ms: u64, cites: &[&Op]) -> Op {
    author.cites = cites.iter().map(|op| op.header.op_id).collect();
    author.say(scope(number), at_ms, submit(vec![step("a", &[], None, false)]))
}

fn cancel(author: &mut Author, number: u128, at_ms: u64, cites: Vec<OpId>) -> Op {
    author.cites = cites;
    author.say(scope(number), at_ms, task::Body::CancelTask { mode: CancelMode::Hard, reason: String::new() })
}

fn why(fold: &Fold, op: &Op) -> Option<NoEffect> {
    fold.no_effect(op.header.scope, op.header.op_id).cloned()
}

fn waiting(missing: &Op) -> Option<NoEffect> {
    Some(NoEffect::Waiting { missing: missing.header.op_id })
}

#[test]
fn an_op_waits_for_what_it_cites_in_another_scope_and_then_takes_effect() {
    let mut author = Author::new(1);
    let first = task(&mut author, 0, START_MS, &[]);
    let second = task(&mut author, 1, START_MS + 1, &[&first]);
    let mut fold = Fold::default();
    assert_eq!(fold.insert(second.clone()), Arrival::Deferred);
    assert_eq!((why(&fold, &second), fold.rows(scope(1))), (waiting(&first), None));
    assert_eq!(fold.insert(first), Arrival::Newest);
    assert_eq!((why(&fold, &second), fold.waiting()), (None, 0));
    assert!(fold.rows(scope(1)).is_some());
}

#[test]
fn waiting_is_passed_on_along_a_chain_and_ends_at_once_along_it() {
    let mut author = Author::new(1);
    let first = task(&mut author, 0, START_MS, &[]);
    let second = task(&mut author, 1, START_MS + 1, &[&first]);
    let third = task(&mut author, 2, START_MS + 2, &[&second]);
    let fourth = task(&mut author, 3, START_MS + 3, &[&first, &third]);
    let mut fold = arrive([fourth.clone(), third.clone(), second.clone()]);
    assert_eq!(why(&fold, &third), waiting(&second), "it is there, but it waits itself");
    assert_eq!(why(&fold, &fourth), waiting(&first), "the first that is missing");
    assert_eq!((fold.waiting(), fold.all_rows().count()), (3, 0));
    fold.insert(first.clone());
    assert_eq!((fold.waiting(), fold.all_rows().count()), (0, 4));
    let ops = [first, second, third, fourth];
    for order in permutations(&ops) {
        assert_eq!(answers(&arrive(order), &ops), answers(&fold, &ops));
    }
}

#[test]
fn an_op_that_waited_takes_its_place_in_time_and_not_the_last_one() {
    let (mut one, mut other) = (Author::new(1), Author::new(2));
    let begun = task(&mut one, 0, START_MS, &[]);
    let cause = task(&mut other, 1, START_MS + 1, &[]);
    let cancelled = cancel(&mut one, 0, START_MS + 2, vec![cause.header.op_id]);
    one.cites.clear();
    let claim = one.say_at(scope(0), time(START_MS + 3, &one), one.claim_citing(0, begun.header.hlc));
    let mut fold = arrive([begun, cancelled.clone(), claim.clone()]);
    let status = |fold: &Fold| fold.rows(scope(0)).and_then(|rows| rows.task()).map(|rows| rows.task.status);
    assert_eq!(status(&fold), Some(Status::Running), "the claim counts while the cancel waits");
    fold.insert(cause);
    assert_eq!(status(&fold), Some(Status::Cancelled));
    assert!(why(&fold, &claim).is_some(), "it came after the cancel");
}

fn time(wall_ms: u64, author: &Author) -> Hlc {
    Hlc { wall_ms, logical: 0, node: author.node }
}

#[test]
fn an_op_that_had_no_effect_is_there_all_the_same() {
    let mut author = Author::new(1);
    let nothing = cancel(&mut author, 9, START_MS, Vec::new());
    let after = task(&mut author, 0, START_MS + 1, &[&nothing]);
    let fold = arrive([after.clone(), nothing.clone()]);
    assert!(matches!(why(&fold, &nothing), Some(NoEffect::Refused(_))));
    assert_eq!(why(&fold, &after), None);
}

#[test]
fn a_cycle_never_takes_effect_and_holds_nobody_up() {
    let (mut one, mut other) = (Author::new(1), Author::new(2));
    let early = one.header(scope(0), time(START_MS, &one));
    let late = other.header(scope(1), time(START_MS + 5, &other));
    let op = |author: &mut Author, of: Scope, hlc: Hlc, cites: Vec<OpId>| {
        author.cites = cites;
        author.say_at(of, hlc, submit(vec![step("a", &[], None, false)]))
    };
    let first = op(&mut one, scope(0), early.hlc, vec![late.op_id]);
    let second = op(&mut other, scope(1), late.hlc, vec![first.header.op_id]);
    let third = task(&mut other, 2, START_MS + 9, &[&second]);
    for order in permutations(&[first.clone(), second.clone(), third.clone()]) {
        let fold = arrive(order);
        let cycle = NoEffect::CausalCycle { dependency: late.op_id, dated: late.hlc, own: early.hlc };
        assert_eq!(why(&fold, &first), Some(cycle));
        assert_eq!((why(&fold, &second), why(&fold, &third), fold.waiting()), (None, None, 0));
    }
}

#[test]
fn an_op_that_cites_itself_is_refused_whatever_else_it_cites() {
    let mut author = Author::new(1);
    let own = author.header(scope(0), author.oldest_time()).op_id;
    let op = cancel(&mut author, 0, START_MS, vec![OpId::new(99, 99), own]);
    let mut fold = Fold::with_waiting_max(0);
    assert_eq!(fold.insert(op.clone()), Arrival::Newest, "it does not wait");
    let expected = NoEffect::CausalCycle { dependency: own, dated: op.header.hlc, own: op.header.hlc };
    assert_eq!(why(&fold, &op), Some(expected));
}

#[test]
fn an_op_that_cites_too_much_is_refused() {
    let mut author = Author::new(1);
    let op = cancel(&mut author, 0, START_MS, vec![OpId::new(99, 99); CAUSAL_DEPS_MAX + 1]);
    let fold = arrive([op.clone()]);
    assert_eq!(why(&fold, &op), Some(NoEffect::TooManyDependencies { found: CAUSAL_DEPS_MAX + 1 }));
}

#[test]
fn when_as_many_wait_as_may_one_more_is_not_taken_in_and_nothing_is_lost() {
    let mut author = Author::new(1);
    let first = task(&mut author, 0, START_MS, &[]);
    let rest: Vec<Op> = (1..=5u64).map(|n| task(&mut author, n.into(), START_MS + n, &[&first])).collect();
    let mut fold = Fold::with_waiting_max(3);
    let told: Vec<Arrival> = rest.iter().map(|op| fold.insert(op.clone())).collect();
    let (deferred, full) = (Arrival::Deferred, Arrival::DeferralFull);
    assert_eq!(told, [deferred, deferred, deferred, full, full]);
    assert_eq!((fold.waiting(), fold.insert(rest[0].clone())), (3, Arrival::Duplicate));
    assert_eq!(why(&fold, &rest[4]), None, "it is not in the set at all");
    assert_eq!(fold.insert(first), Arrival::Newest, "what does not wait comes in");
    assert_eq!(fold.insert(rest[3].clone()), Arrival::Newest);
    assert_eq!(fold.insert(rest[4].clone()), Arrival::Newest);
    assert_eq!((fold.waiting(), fold.all_rows().count()), (0, 6));
}

#[test]
fn an_op_with_a_borrowed_id_that_is_older_will_do() {
    let (mut one, mut liar) = (Author::new(1), Author::new(2));
    let real = task(&mut one, 0, START_MS + 20, &[]);
    let early = cancel(&mut one, 5, START_MS + 30, Vec::new());
    let mut cites = one.clone();
    cites.cites = vec![real.header.op_id];
    let mut dated = cites.say_at(repository(), time(START_MS + 10, &one), early.body.clone());
    dated.header.seq = 77;
    let mut borrowed = task(&mut liar, 1, START_MS + 2, &[]);
    borrowed.header.op_id = real.header.op_id;
    for order in permutations(&[real.clone(), dated.clone(), borrowed]) {
        let fold = arrive(order);
        assert!(!matches!(why(&fold, &dated), Some(NoEffect::CausalCycle { .. } | NoEffect::Waiting { .. })));
    }
    assert!(matches!(why(&arrive([real, dated.clone()]), &dated), Some(NoEffect::CausalCycle { .. })));
}

#[test]
fn what_was_let_in_may_have_to_wait_beside_a_full_room() {
    let (mut one, mut liar) = (Author::new(1), Author::new(2));
    let real = task(&mut one, 0, START_MS + 20, &[]);
    let mut cites = one.clone();
    cites.cites = vec![real.header.op_id];
    let mut dated = cites.say_at(
        repository(),
        time(START_MS + 10, &one),
        task::Body::CancelTask { mode: CancelMode::Soft, reason: String::new() },
    );
    dated.header.seq = 77;
    let missing = task(&mut liar, 1, START_MS + 1, &[]);
    let mut borrowed = task(&mut liar, 2, START_MS + 2, &[&missing]);
    borrowed.header.op_id = real.header.op_id;
    let mut fold = Fold::with_waiting_max(1);
    fold.insert(real);
    fold.insert(dated.clone());
    assert!(matches!(why(&fold, &dated), Some(NoEffect::CausalCycle { .. })));
    assert_eq!(fold.insert(borrowed), Arrival::Deferred);
    assert!(matches!(why(&fold, &dated), Some(NoEffect::Waiting { .. })), "{:?}", why(&fold, &dated));
    assert_eq!(fold.waiting(), 2, "one more than the room");
    fold.insert(missing);
    assert_eq!(fold.waiting(), 0);
}

proptest! {
    #![proptest_config(ProptestConfig { cases: 48, ..ProptestConfig::default() })]

    #[test]
    fn with_little_room_to_wait_everything_gets_in_that_can_and_the_rows_are_those_of_what_is_in(
        moves in moves(10..80), seed: u64, room in 0..4usize,
    ) {
        let ops = history(3, &moves);
        let mut fold = Fold::with_waiting_max(room);
        let (mut kept, mut inside) = (shuffled(&ops, seed), Vec::new());
        loop {
            let before = inside.len();
            kept.retain(|op| match fold.insert(op.clone()) {
                Arrival::DeferralFull => true,
                Arrival::Newest | Arrival::Late | Arrival::Deferred | Arrival::Equivocation | Arrival::SealedOut => {
                    inside.push(op.clone());
                    false
                }
                Arrival::Duplicate => false,
            });
            prop_assert!(fold.waiting() <= room + may_wait_later(&inside));
            if inside.len() == before {
                break;
            }
        }
        prop_assert_eq!(answers(&fold, &ops), answers(&Fold::of(inside), &ops));
        let all = distinct(&ops);
        prop_assert!(honest(&all).iter().all(|op| !kept.contains(op)), "an op that could take effect was kept out");
    }
}

/// How many ops may have to wait although they did not when they were let in: those that cite an id that two ops have, and whoever
/// cites those. The older of the two may come last, and it is not kept out for what it does to others.
fn may_wait_later(inside: &[Op]) -> usize {
    let mut ids: Vec<OpId> = inside.iter().map(|op| op.header.op_id).collect();
    ids.sort_unstable();
    let mut doubtful: BTreeSet<OpId> = ids.windows(2).filter(|pair| pair[0] == pair[1]).map(|pair| pair[0]).collect();
    loop {
        let cites = |op: &&Op| op.header.causal_deps.iter().any(|dep| doubtful.contains(dep));
        let found: Vec<OpId> = inside.iter().filter(cites).map(|op| op.header.op_id).collect();
        let before = doubtful.len();
        let count = found.len();
        doubtful.extend(found);
        if doubtful.len() == before {
            return count;
        }
    }
}

/// Ops with nothing but older ones behind them. An op that cites a cycle has to wait for the cycle to show, and may be
/// kept out for want of room.
fn honest(ops: &[Op]) -> Vec<&Op> {
    let mut in_order: Vec<&Op> = ops.iter().collect();
    in_order.sort_by_key(|op| op.header.hlc);
    let mut honest: Vec<&Op> = Vec::new();
    for op in in_order {
        let older = |dep: &OpId| honest.iter().any(|o| o.header.op_id == *dep && o.header.hlc < op.header.hlc);
        if op.header.causal_deps.iter().all(older) {
            honest.push(op);
        }
    }
    honest
}

/// Histories are worth something here only if things wait in them.
#[test]
fn histories_have_all_sorts_of_citations() {
    use proptest::{strategy::ValueTree as _, test_runner::TestRunner};
    let mut runner = TestRunner::deterministic();
    let (mut cycles, mut stuck, mut deferred) = (0, 0, 0);
    for _ in 0..100 {
        let moves = moves(20..100).new_tree(&mut runner).expect("a history").current();
        let ops = history(3, &moves);
        let mut fold = Fold::default();
        for op in shuffled(&ops, 7) {
            deferred += usize::from(fold.insert(op) == Arrival::Deferred);
        }
        stuck += fold.waiting();
        let cycle = |op: &&Op| matches!(why(&fold, op), Some(NoEffect::CausalCycle { .. }));
        cycles += ops.iter().filter(cycle).count();
    }
    assert!(cycles > 50 && stuck > 20 && deferred > 200, "{cycles} cycles, {stuck} stuck, {deferred} deferred");
}
