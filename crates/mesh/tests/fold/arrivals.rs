//! L12, D18: the rows depend on the set of ops and not on how they arrived.

use crate::{
    history::{history, moves},
    reference::{answers, arrive, permutations, reference, shuffled},
};
use proptest::prelude::*;
use relaymesh_core::{
    kernel::Rows,
    op::{Kind, Op},
};
use relaymesh_mesh::{fold::Fold, rows};
use std::collections::BTreeMap;

proptest! {
    #![proptest_config(ProptestConfig { cases: 96, ..ProptestConfig::default() })]

    #[test]
    fn rows_are_the_same_in_whatever_order_ops_arrive(
        authors in 2..=4usize, moves in moves(10..110), seeds: [u64; 3],
    ) {
        let ops = history(authors, &moves);
        let whole = Fold::of(ops.clone());
        let expected = answers(&whole, &ops);
        let plain: Vec<_> = reference(&ops).into_values().collect();
        prop_assert_eq!(&expected.0, &plain, "the fold is what it says it is");
        prop_assert_eq!(&answers(&arrive(ops.clone()), &ops), &expected, "as they were written");
        for seed in seeds {
            prop_assert_eq!(&answers(&arrive(shuffled(&ops, seed)), &ops), &expected, "seed {}", seed);
        }
    }

    #[test]
    fn where_ops_arrived_is_not_part_of_the_state(moves in moves(10..40), seed: u64) {
        let ops = history(3, &moves);
        let elsewhere: Vec<Op> = (100u64..).zip(shuffled(&ops, seed)).map(|(pos, op)| Op { pos, ..op }).collect();
        prop_assert_eq!(Fold::of(ops).state_hash(), arrive(elsewhere).state_hash());
    }
}

proptest! {
    #![proptest_config(ProptestConfig { cases: 16, ..ProptestConfig::default() })]

    #[test]
    fn every_order_of_few_ops_gives_the_same_rows(authors in 2..=4usize, moves in moves(20..30), from in 1..12usize) {
        let all = history(authors, &moves);
        let first = all[0].clone();
        let of_one_task = all[1..].iter().filter(|op| op.header.scope == first.header.scope).skip(from - 1).take(4).cloned();
        let ops: Vec<Op> = std::iter::once(first.clone()).chain(of_one_task).collect();
        let expected = answers(&Fold::of(ops.clone()), &ops);
        for order in permutations(&ops) {
            prop_assert_eq!(&answers(&arrive(order), &ops), &expected);
        }
    }
}

/// Histories are worth something only if things happen in them.
#[test]
fn histories_are_not_all_refusals() {
    use proptest::{strategy::ValueTree as _, test_runner::TestRunner};
    let mut runner = TestRunner::deterministic();
    let (mut took_effect, mut refused, mut successes, mut compensated) = (0, 0, 0, 0);
    let mut kinds: BTreeMap<Kind, usize> = BTreeMap::new();
    for _ in 0..180 {
        let moves = moves(20..140).new_tree(&mut runner).unwrap().current();
        let ops = history(3, &moves);
        let fold = Fold::of(ops.clone());
        let without = ops.iter().filter(|op| fold.no_effect(op.header.scope, op.header.op_id).is_some()).count();
        let effective = ops.iter().filter(|op| fold.no_effect(op.header.scope, op.header.op_id).is_none());
        effective.for_each(|op| *kinds.entry(op.body.kind()).or_default() += 1);
        refused += without;
        took_effect += ops.len() - without;
        let steps = || fold.all_rows().filter_map(rows::Rows::node).filter_map(Rows::task).flat_map(|rows| &rows.steps);
        successes += steps().filter(|step| step.result.is_some()).count();
        compensated += steps().filter(|step| step.result.is_some() && step.is_compensation()).count();
    }
    assert!(took_effect > 1500 && refused > 1000, "{took_effect} took effect, {refused} did not");
    // Words of registers are told in histories of meshes (`mesh/`).
    let told = |kind: &&Kind| !(33..=40).contains(&(**kind as u16));
    let never: Vec<_> = Kind::ALL.iter().filter(told).filter(|kind| !kinds.contains_key(kind)).collect();
    assert!(never.is_empty(), "{never:?} never took effect: {kinds:?}");
    assert!(successes > 100 && compensated > 0, "{successes} successes, {compensated} of compensations");
}
