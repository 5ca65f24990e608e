//! Seals: what everybody agreed on never changes, whatever turns up later.

use crate::author::{Author, Linked, START_MS, always, arrive, complete, insert, mesh, scope, submit, task, why};
use relaymesh_core::{
    hlc::Hlc,
    id::TaskId,
    op::{CancelMode, Chain},
    task::{self, Status},
};
use relaymesh_mesh::{
    fold::{Arrival, NoEffect, Standing},
    register,
};

/// A task that the second node has done, heard of by the owner.
fn done(authors: &mut [Author]) -> Vec<Linked> {
    let submitted = authors[1].say(scope(1), START_MS + 1, submit("k", &["a"]));
    let claim = authors[1].claim(1, 0);
    let claim = authors[1].say(scope(1), START_MS + 5, claim);
    let done = authors[1].say(scope(1), START_MS + 6, complete(&claim, 1, "done"));
    let ops = vec![submitted, claim, done];
    ops.iter().for_each(|linked| authors[0].hear(linked, START_MS + 7));
    ops
}

fn upto(linked: &Linked) -> Hlc {
    linked.op.header.hlc
}

#[test]
fn d29_a_result_is_provisional_until_it_is_sealed_and_stable_from_then_on() {
    let (mut authors, known) = mesh(2);
    let ops = done(&mut authors);
    let all: Vec<Linked> = known.iter().chain(&ops).cloned().collect();
    let body = authors[0].seal(upto(&ops[2]), &all);
    let seal = authors[0].word(START_MS + 20, body);
    let mut fold = arrive(&all);
    assert_eq!(fold.standing(TaskId::new(0, 1)), Standing::Provisional);
    insert(&mut fold, &seal);
    assert_eq!((fold.standing(TaskId::new(0, 1)), fold.lag()), (Standing::Stable, 0));
    let mut without = arrive(known.iter().chain([&ops[0], &ops[1], &seal]));
    assert_eq!(without.missing().len(), 1, "it knows what it lacks");
    assert_eq!(without.standing(TaskId::new(0, 1)), Standing::Provisional);
    insert(&mut without, &ops[2]);
    assert_eq!(without.standing(TaskId::new(0, 1)), Standing::Stable);
}

#[test]
fn d29_what_nobody_knew_who_agreed_is_sealed_out_for_ever() {
    let (mut authors, known) = mesh(3);
    let ops = done(&mut authors);
    // The third node was cut off, and claimed and finished the same work earlier.
    authors[2].hear(&ops[0], START_MS + 2);
    let claim = authors[2].claim(1, 0);
    let claim = authors[2].say(scope(1), START_MS + 3, claim);
    let late = authors[2].say(scope(1), START_MS + 4, complete(&claim, 1, "unheard"));
    let all: Vec<Linked> = known.iter().chain(&ops).cloned().collect();
    let body = authors[0].seal(upto(&ops[2]), &all);
    let seal = authors[0].word(START_MS + 20, body);
    let mut story = ops.clone();
    story.extend([seal, claim.clone(), late.clone()]);
    always(&known, &story, |fold| {
        for linked in [&claim, &late] {
            assert_eq!(why(fold, linked), Some(NoEffect::SealedOut { upto: upto(&ops[2]) }));
        }
        assert_eq!(task(fold, 1).steps[0].result.as_ref(), Some(&crate::author::result("done")));
    });
    let mut fold = arrive(known.iter().chain(&story[..4]));
    let arrival = fold.insert_linked(claim.op.clone(), claim.previous, claim.hash);
    assert_eq!(arrival, Arrival::SealedOut);
}

#[test]
fn d24_a_fork_that_comes_out_later_changes_nothing_that_was_sealed() {
    let (mut authors, known) = mesh(2);
    let mut liar = authors[1].clone();
    let ops = done(&mut authors);
    // The liar shows another op in the place of its submit.
    let fork = liar.say(scope(1), START_MS + 1, submit("other", &["b"]));
    let more = authors[1].say(scope(2), START_MS + 30, submit("l", &["a"]));
    let all: Vec<Linked> = known.iter().chain(&ops).cloned().collect();
    let body = authors[0].seal(upto(&ops[2]), &all);
    let seal = authors[0].word(START_MS + 20, body);
    let mut story = ops.clone();
    story.extend([seal.clone(), fork.clone(), more.clone()]);
    always(&known, &story, |fold| {
        assert_eq!(fold.standing(TaskId::new(0, 1)), Standing::Stable);
        assert_eq!(task(fold, 1).task.status, Status::Success);
        assert!(matches!(why(fold, &more), Some(NoEffect::Frozen { .. })), "from there on it is frozen all the same");
    });
    let mut unsealed = story.clone();
    unsealed.retain(|linked| linked.hash != seal.hash);
    always(&known, &unsealed, |fold| {
        assert!(fold.rows(scope(1)).is_none(), "without a seal the liar's ops are gone");
    });
}

#[test]
fn a_seal_does_not_go_back_and_is_the_coordinators_alone() {
    let (mut authors, known) = mesh(2);
    let ops = done(&mut authors);
    let all: Vec<Linked> = known.iter().chain(&ops).cloned().collect();
    let body = authors[1].seal(upto(&ops[2]), &all);
    let stolen = authors[1].word(START_MS + 19, body);
    let first = authors[0].seal(upto(&ops[2]), &all);
    let first = authors[0].word(START_MS + 20, first);
    let back = authors[0].seal(upto(&ops[1]), &all[..all.len() - 1]);
    let back = authors[0].word(START_MS + 21, back);
    let ahead = authors[0].seal(Hlc { wall_ms: START_MS + 99, ..upto(&ops[2]) }, &all);
    let ahead = authors[0].word(START_MS + 22, ahead);
    let fold = arrive(all.iter().chain([&stolen, &first, &back, &ahead]));
    assert!(matches!(why(&fold, &stolen), Some(NoEffect::Unauthorised(_))));
    assert_eq!(why(&fold, &first), None);
    assert!(why(&fold, &back).is_some() && why(&fold, &ahead).is_some());
}

#[test]
fn nobody_waits_for_what_was_sealed_out() {
    let (mut authors, known) = mesh(3);
    let ops = done(&mut authors);
    let unknown = authors[2].say(scope(3), START_MS + 2, submit("m", &["a"]));
    authors[1].cites = vec![unknown.op.header.op_id];
    let cites = authors[1].say(
        scope(1),
        START_MS + 8,
        task::Body::CancelTask { mode: CancelMode::Hard, reason: String::new() },
    );
    let all: Vec<Linked> = known.iter().chain(&ops).chain([&cites]).cloned().collect();
    let body = authors[0].seal(upto(&cites), &all);
    let seal = authors[0].word(START_MS + 20, body);
    let mut story = ops.clone();
    story.extend([cites.clone(), seal, unknown]);
    always(&known, &story, |fold| {
        assert!(matches!(why(fold, &cites), Some(NoEffect::Waiting { .. })), "what it cites is as if never written");
        assert_eq!(task(fold, 1).task.status, Status::Success);
    });
}

/// A word that waited for what a seal takes away would be judged by what it judges: which seal counts would depend on the order of arrival.
#[test]
fn words_wait_for_nothing_and_one_that_cites_is_refused_in_whatever_order() {
    let (mut authors, known) = mesh(3);
    let third = authors[2].node;
    let first = authors[2].say(scope(3), START_MS + 2, submit("m", &["a"]));
    authors[0].hear(&first, START_MS + 2);
    authors[0].cites = vec![first.op.header.op_id];
    let second = authors[0].say(scope(4), START_MS + 3, submit("n", &["a"]));
    authors[0].cites = vec![second.op.header.op_id];
    let named = authors[0].word(START_MS + 4, register::Body::DesignateCoordinator { coordinator: third });
    authors[0].cites = Vec::new();
    let heard: Vec<Linked> = known.iter().chain([&second, &named]).cloned().collect();
    // What it leaves out would make the word count by which it is not the coordinator's.
    let body = authors[0].seal(upto(&named), &heard);
    let seal = authors[0].word(START_MS + 20, body);
    always(&known, &[first.clone(), second.clone(), named.clone(), seal.clone()], |fold| {
        let cites = register::Refusal::Cites { found: 1 };
        assert_eq!(why(fold, &named), Some(NoEffect::Refused(cites.into())));
        assert_eq!(why(fold, &seal), None);
        assert_eq!(why(fold, &first), Some(NoEffect::SealedOut { upto: upto(&named) }));
        assert!(matches!(why(fold, &second), Some(NoEffect::Waiting { .. })));
    });
}

#[test]
fn the_owners_own_words_are_never_sealed_out() {
    let (mut authors, known) = mesh(3);
    let coordinator = authors[1].node;
    let named = authors[0].word(START_MS + 1, register::Body::DesignateCoordinator { coordinator });
    authors[1].hear(&named, START_MS + 2);
    let third = authors[2].node;
    let other = authors[0].word(START_MS + 3, register::Body::DesignateCoordinator { coordinator: third });
    // The first coordinator leaves out that it was replaced.
    let all: Vec<Linked> = known.iter().chain([&named]).cloned().collect();
    let body = authors[1].seal(Hlc { wall_ms: START_MS + 5, logical: 0, node: coordinator }, &all);
    let seal = authors[1].word(START_MS + 20, body);
    always(&known, &[named, other.clone(), seal.clone()], |fold| {
        assert_eq!(why(fold, &other), None);
        assert!(matches!(why(fold, &seal), Some(NoEffect::Unauthorised(_))));
    });
}

#[test]
fn chains_begin_with_their_own_name() {
    let mut author = Author::new(3);
    let begins = [(author.node, 1), (author.node, 2), (Author::new(4).node, 1)];
    let begins = begins.map(|(node, epoch)| Chain::new(node, epoch).head);
    let distinct: std::collections::BTreeSet<_> = begins.into_iter().collect();
    assert_eq!(distinct.len(), 3, "no op can be moved to the beginning of another chain");
    let first = author.say(scope(1), START_MS, submit("k", &["a"]));
    let second = author.say(scope(1), START_MS, submit("k", &["a"]));
    assert_eq!((first.previous, second.previous), (begins[0], first.hash));
}
