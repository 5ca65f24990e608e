//! L12: nodes that hold the same ops hold the same rows, whatever the order in which registers, work and lies arrived; and folding
//! again bit by bit comes to the same as folding everything from nothing.

use crate::{
    author::{Answers, Linked, START_MS, answers, arrive, everything, insert, link, mesh, root, scope, submit, task},
    history::{history, moves, scopes},
};
use proptest::prelude::*;
use relaymesh_core::{
    id::{NodeId, OpId, TaskId},
    kernel,
    op::{Body, CancelMode, Kind},
    register,
    task::{self, Refusal, Status},
};
use relaymesh_mesh::{
    feed,
    fold::{Fold, NoEffect, Standing, WAITING_MAX},
    rows::{Rows, validate},
};
use std::collections::{BTreeMap, VecDeque};

fn shuffled(ops: &[Linked], mut seed: u64) -> Vec<Linked> {
    let mut ops = ops.to_vec();
    for place in (1..ops.len()).rev() {
        seed = seed.wrapping_mul(6_364_136_223_846_793_005).wrapping_add(1_442_695_040_888_963_407);
        ops.swap(place, (seed >> 33) as usize % (place + 1));
    }
    ops
}

/// In any order that keeps that of each chain: as feeds come.
fn interleaved(ops: &[Linked], seed: u64) -> Vec<Linked> {
    let mut chains: BTreeMap<NodeId, VecDeque<Linked>> = BTreeMap::new();
    for linked in ops {
        chains.entry(linked.op.header.origin).or_default().push_back(linked.clone());
    }
    let turns = shuffled(ops, seed);
    turns.iter().filter_map(|turn| chains.get_mut(&turn.op.header.origin)?.pop_front()).collect()
}

/// Rights were taken back before the task was submitted, and that came out afterwards.
#[test]
fn a_command_is_tried_on_rows_that_know_all_that_is_here() {
    let (mut authors, ops) = mesh(2);
    let revoked =
        authors[0].word(START_MS + 10, register::Body::RevokeUcan { ucan_cid: link(0, 1, everything(), None).cid() });
    let submitted = authors[1].say(scope(1), START_MS + 20, submit("k", &["x.a"]));
    let cancel = Body::Task(task::Body::CancelTask { mode: CancelMode::Hard, reason: String::new() });
    let cancel = authors[0].say(scope(1), START_MS + 30, cancel);
    let mut fold = arrive(ops.iter().chain([&submitted]));
    assert_eq!(fold.attempt(&cancel.op), Ok(()));

    insert(&mut fold, &revoked);
    assert_eq!(fold.lag(), 1, "the task is yet to be folded again");
    assert_eq!(fold.attempt(&cancel.op), Err(NoEffect::Refused(kernel::Refusal::from(Refusal::NoTask).into())));
    assert_eq!(fold.lag(), 0);
}

proptest! {
    #![proptest_config(ProptestConfig { cases: 256, ..ProptestConfig::default() })]

    #[test]
    fn l12_incremental_is_full_in_whatever_order_and_however_often_one_settles(
        authors in 2..=5u8, moves in moves(10..120), seeds: [u64; 3], every in 1..9usize, limit in 1..4usize,
    ) {
        let ops = history(authors, &moves);
        let expected = answers(&arrive(&ops).again(), &ops);
        same(&answers(&arrive(&ops), &ops), &expected, &ops)?;
        for seed in seeds {
            let mut fold = Fold::of_mesh(root());
            for (at, linked) in shuffled(&ops, seed).iter().enumerate() {
                insert(&mut fold, linked);
                if at.is_multiple_of(every) {
                    fold.settle(limit);
                    fold.sum_up();
                }
            }
            fold.settle(usize::MAX);
            prop_assert_eq!(fold.lag(), 0);
            same(&answers(&fold, &ops), &expected, &ops)?;
            for rows in scopes().into_iter().filter_map(|scope| fold.rows(scope)) {
                prop_assert_eq!(validate(rows), Ok(()));
            }
        }
    }

    /// Ops that come together, as they do from another node, come to the same as one by one.
    #[test]
    fn l12_batches_come_to_the_same(authors in 2..=5u8, moves in moves(10..120), seed: u64, size in 1..40usize) {
        let ops = history(authors, &moves);
        let expected = answers(&arrive(&ops).again(), &ops);
        let mut fold = Fold::of_mesh(root());
        for batch in shuffled(&ops, seed).chunks(size) {
            fold.insert_all(batch.iter().map(|Linked { op, previous, hash }| feed::Linked {
                op: op.clone(),
                bytes: Vec::new(),
                previous: *previous,
                hash: *hash,
            }));
        }
        fold.settle(usize::MAX);
        same(&answers(&fold, &ops), &expected, &ops)?;
    }

    /// Whatever turns up after a seal changes nothing that was stable.
    #[test]
    fn d29_what_is_stable_stays_as_it_is(authors in 2..=5u8, moves in moves(40..160), seed: u64) {
        let ops = history(authors, &moves);
        let mut fold = Fold::of_mesh(root());
        let mut stable: BTreeMap<u128, _> = BTreeMap::new();
        let mut seals = Vec::new();
        for linked in interleaved(&ops, seed) {
            insert(&mut fold, &linked);
            fold.settle(usize::MAX);
            // A late word of the owner may take seals back: on the owner everything rests. Nothing else may.
            let now = fold.registers().unwrap().seals().all().to_vec();
            if !now.starts_with(&seals) {
                stable.clear();
            }
            seals = now;
            for number in 0..8u128 {
                let task = TaskId::new(0, number);
                let rows = fold.rows(scope(number)).cloned();
                let Some(head) = rows.as_ref().map(Rows::head) else { continue };
                let known = stable.get(&number).filter(|(_, upto)| head <= *upto);
                if let Some((known, _)) = known {
                    prop_assert_eq!(known, &rows);
                }
                if let (Standing::Stable, Some(upto)) = (fold.standing(task), fold.stable_upto()) {
                    stable.insert(number, (rows, upto));
                }
            }
        }
    }
}

/// Whoever fills the room for ops that wait would otherwise decide what others see, by the order in which things arrive.
#[test]
fn l7_nothing_in_a_mesh_is_turned_away_because_too_much_waits() {
    let (mut authors, known) = mesh(2);
    let mut fold = arrive(&known);
    authors[1].cites = vec![OpId::new(1, 99)];
    for _ in 0..=WAITING_MAX {
        let waits = authors[1].say(scope(1), START_MS + 1, submit("k", &["a"]));
        fold.insert_linked(waits.op.clone(), waits.previous, waits.hash);
    }
    assert_eq!(fold.waiting(), WAITING_MAX + 1);
    let submitted = authors[0].say(scope(2), START_MS + 2, submit("l", &["a"]));
    authors[0].cites = vec![submitted.op.header.op_id];
    let claim = authors[0].claim(2, 0);
    let claim = authors[0].say(scope(2), START_MS + 3, claim);
    insert(&mut fold, &claim);
    insert(&mut fold, &submitted);
    assert_eq!(task(&fold, 2).steps[0].status, Status::Running);
}

/// Histories are worth something only if things happen in them.
#[test]
fn histories_of_meshes_are_not_all_refusals() {
    use proptest::{strategy::ValueTree as _, test_runner::TestRunner};
    let mut runner = TestRunner::deterministic();
    let mut kinds: BTreeMap<Kind, usize> = BTreeMap::new();
    let mut reasons: BTreeMap<&'static str, usize> = BTreeMap::new();
    for _ in 0..150 {
        let moves = moves(30..150).new_tree(&mut runner).unwrap().current();
        let ops = history(4, &moves);
        let fold = arrive(&ops);
        for linked in &ops {
            match fold.no_effect(linked.op.header.scope, linked.op.header.op_id) {
                None => *kinds.entry(linked.op.body.kind()).or_default() += 1,
                Some(reason) => *reasons.entry(short(reason)).or_default() += 1,
            }
        }
    }
    let registers = Kind::ALL.iter().filter(|kind| (33..=40).contains(&(**kind as u16)));
    let never: Vec<_> = registers.chain([&Kind::CompleteJob]).filter(|kind| !kinds.contains_key(kind)).collect();
    assert!(never.is_empty(), "{never:?} never took effect: {kinds:?}");
    let wanted = ["frozen", "waiting", "unauthorised", "sealed_out", "superseded", "refused"];
    assert!(wanted.iter().all(|reason| reasons.contains_key(reason)), "{reasons:?}");
}

/// Why first: it is shorter than rows.
fn same(found: &Answers, expected: &Answers, ops: &[Linked]) -> Result<(), TestCaseError> {
    for ((one, other), linked) in found.2.iter().zip(&expected.2).zip(ops) {
        let header = &linked.op.header;
        prop_assert_eq!(one, other, "{:?} of {} at {}", linked.op.body.kind(), header.scope, header.hlc);
    }
    prop_assert_eq!(found, expected);
    Ok(())
}

fn short(reason: &NoEffect) -> &'static str {
    match reason {
        NoEffect::Refused(_) => "refused",
        NoEffect::SameTime(_) => "same_time",
        NoEffect::Frozen { .. } => "frozen",
        NoEffect::Waiting { .. } => "waiting",
        NoEffect::CausalCycle { .. } => "cycle",
        NoEffect::Unauthorised(_) => "unauthorised",
        NoEffect::SealedOut { .. } => "sealed_out",
        NoEffect::Superseded { .. } => "superseded",
        NoEffect::KeyTaken { .. } => "key_taken",
        NoEffect::TooManyDependencies { .. } => "too_many",
        NoEffect::WrongClass(_) => "wrong_class",
    }
}
