//! What holds along the fold, op by op in the order of time.

use crate::{
    history::{history, moves},
    reference::admitted,
};
use proptest::prelude::*;
use relaymesh_core::{
    id::MessageId,
    kernel::{Rows, apply},
    op::{Body, Scope},
    task,
};
use relaymesh_mesh::{fold::Fold, rows};
use std::collections::BTreeMap;

/// Everything in these rows that only grows, by what it belongs to.
fn fences(rows: &Rows) -> BTreeMap<u128, u64> {
    match rows {
        Rows::Task(rows) => (0u128..).zip(rows.steps.iter().map(|step| step.epoch.into())).collect(),
        Rows::Thread(rows) => {
            let number = |id: &MessageId| u128::from_be_bytes(id.to_bytes());
            rows.messages.iter().map(|(id, message)| (number(id), message.epoch.into())).collect()
        }
        Rows::Repository(rows) => BTreeMap::from([(0, rows.repository.fence)]),
        // An item may go and come again, with its first revision.
        Rows::Plan(rows) => BTreeMap::from([(0, rows.plan.rev.into())]),
        Rows::Namespace(_) | Rows::Purged(_) => BTreeMap::new(),
    }
}

proptest! {
    #![proptest_config(ProptestConfig { cases: 128, ..ProptestConfig::default() })]

    #[test]
    fn epochs_never_shrink_and_a_step_has_one_result_until_it_is_redriven(
        authors in 2..=4usize, moves in moves(10..80),
    ) {
        let ops = history(authors, &moves);
        let mut scopes: BTreeMap<Scope, Option<Rows>> = BTreeMap::new();
        let mut results: BTreeMap<(Scope, u16), usize> = BTreeMap::new();
        for op in admitted(&ops) {
            let scope = op.header.scope;
            let rows = scopes.entry(scope).or_default();
            let before = rows.clone();
            let outcome = apply(rows, &op, &mut Vec::new());
            if outcome.is_err() {
                prop_assert_eq!(&*rows, &before);
                continue;
            }
            let purged = matches!(rows, Some(Rows::Purged(_)));
            if let Some((before, after)) = before.as_ref().zip(rows.as_ref()).filter(|_| !purged) {
                let after = fences(after);
                prop_assert!(fences(before).iter().all(|(of, old)| after.get(of) >= Some(old)), "a fence shrank");
            }
            if let Body::Task(task::Body::CompleteJob { held, .. }) = &op.body {
                let count = results.entry((scope, held.step)).or_default();
                *count += 1;
                prop_assert_eq!(*count, 1, "a second result for step {}", held.step);
            }
            if let Body::Task(task::Body::RedriveTask { .. }) = &op.body {
                results.retain(|(of, index), _| {
                    *of != scope || rows.as_ref().and_then(Rows::task).is_some_and(|rows| rows.steps[usize::from(*index)].result.is_some())
                });
            }
        }
    }

    #[test]
    fn a_result_is_always_of_the_claim_with_the_fence_in_force(moves in moves(10..80)) {
        let ops = history(3, &moves);
        let fold = Fold::of(ops.clone());
        for rows in fold.all_rows().filter_map(rows::Rows::node).filter_map(Rows::task) {
            for (index, step) in rows.indexed().filter(|(_, step)| step.result.is_some()) {
                let of_step = |body: &Body| matches!(body, Body::Task(task::Body::CompleteJob { held, result })
                    if held.step == index && held.epoch == step.epoch && Some(*result) == step.result);
                prop_assert!(ops.iter().any(|op| of_step(&op.body)));
            }
        }
    }
}
