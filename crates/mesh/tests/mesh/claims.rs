//! Claims of several nodes, and one key on two nodes.

use crate::author::{Linked, START_MS, always, arrive, complete, mesh, scope, submit, task, why};
use relaymesh_core::{
    id::TaskId,
    op::{Body, ExpireReason, WriteClass},
    register,
    task::{self, LEASE_MS_MAX, Status},
};
use relaymesh_mesh::fold::{Fold, NoEffect};

#[test]
fn l4_of_two_concurrent_claims_the_smaller_stamp_wins_on_every_node() {
    let (mut authors, known) = mesh(3);
    let submitted = authors[0].say(scope(1), START_MS + 1, submit("k", &["a"]));
    authors[1].hear(&submitted, START_MS + 2);
    authors[2].hear(&submitted, START_MS + 2);
    let (one, two) = (authors[1].claim(1, 0), authors[2].claim(1, 0));
    let later = authors[1].say(scope(1), START_MS + 5, one);
    let earlier = authors[2].say(scope(1), START_MS + 4, two);
    always(&known, &[submitted, later.clone(), earlier.clone()], |fold| {
        assert_eq!(why(fold, &earlier), None);
        assert!(matches!(why(fold, &later), Some(NoEffect::Refused(_))));
        assert_eq!(task(fold, 1).steps[0].lease.as_ref().unwrap().owner, authors[2].node);
    });
}

#[test]
fn d30_of_two_tasks_with_one_key_the_earlier_stays_and_the_other_points_to_it() {
    let (mut authors, known) = mesh(3);
    let first = authors[1].say(scope(1), START_MS + 3, submit("k", &["a"]));
    let second = authors[2].say(scope(2), START_MS + 5, submit("k", &["a"]));
    let claim = authors[2].claim(2, 0);
    let claim = authors[2].say(scope(2), START_MS + 6, claim);
    let done = authors[2].say(scope(2), START_MS + 7, complete(&claim, 1, "for nothing"));
    always(&known, &[first, second.clone(), claim, done.clone()], |fold| {
        assert_eq!(why(fold, &second), Some(NoEffect::Superseded { by: TaskId::new(0, 1) }));
        assert!(fold.rows(scope(2)).is_none() && why(fold, &done).is_some());
        assert_eq!(task(fold, 1).task.status, Status::Pending);
    });
}

#[test]
fn d30_the_same_key_for_another_request_is_refused() {
    let (mut authors, known) = mesh(3);
    let first = authors[1].say(scope(1), START_MS + 3, submit("k", &["a"]));
    let mut other = submit("k", &["a"]);
    if let task::Body::ScheduleJob { schedule } = &mut other {
        schedule.fingerprint = relaymesh_core::hash::Hash::sha256(b"something else");
    }
    let second = authors[2].say(scope(2), START_MS + 5, other);
    always(&known, &[first, second.clone()], |fold| {
        assert_eq!(why(fold, &second), Some(NoEffect::KeyTaken { by: TaskId::new(0, 1) }));
    });
}

#[test]
fn d30_when_the_first_falls_away_the_next_one_stays() {
    let (mut authors, known) = mesh(4);
    let node = authors[1].node;
    let first = authors[1].say(scope(1), START_MS + 3, submit("k", &["a"]));
    let second = authors[2].say(scope(2), START_MS + 5, submit("k", &["a"]));
    let third = authors[3].say(scope(3), START_MS + 6, submit("k", &["a"]));
    let frozen = authors[0].word(START_MS + 2, register::Body::FreezeNode { node, frozen: true });
    always(&known, &[first, second, third.clone(), frozen], |fold| {
        assert!(fold.rows(scope(1)).is_none() && fold.rows(scope(2)).is_some());
        assert_eq!(why(fold, &third), Some(NoEffect::Superseded { by: TaskId::new(0, 2) }));
    });
}

#[test]
fn d30_a_key_is_free_again_when_its_task_is_purged() {
    let (mut authors, known) = mesh(2);
    let first = authors[1].say(scope(1), START_MS + 3, submit("k", &["a"]));
    let cancel =
        Body::Task(task::Body::CancelTask { mode: relaymesh_core::op::CancelMode::Hard, reason: String::new() });
    let ended = authors[1].say(scope(1), START_MS + 4, cancel);
    let early = authors[1].say(scope(2), START_MS + 5, submit("k", &["a"]));
    let purged = authors[1].say(scope(1), START_MS + 6, Body::PurgeScope {});
    let late = authors[1].say(scope(3), START_MS + 7, submit("k", &["a"]));
    always(&known, &[first, ended, early.clone(), purged, late.clone()], |fold| {
        assert_eq!(why(fold, &early), Some(NoEffect::Superseded { by: TaskId::new(0, 1) }));
        assert_eq!(why(fold, &late), None);
    });
}

#[test]
fn l8_the_roster_tells_the_state_of_a_job_what_is_pending_and_what_is_overdue() {
    let (mut authors, known) = mesh(3);
    let submitted = authors[0].say(scope(1), START_MS + 1, submit("k", &["x.a", "x.b"]));
    let other = authors[0].say(scope(2), START_MS + 1, submit("l", &["y.a"]));
    let target = Some(authors[2].node);
    let routed = authors[0].word(START_MS + 2, register::Body::RouteKind { pattern: "y.*".parse().unwrap(), target });
    [&submitted, &other, &routed].into_iter().for_each(|linked| authors[1].hear(linked, START_MS + 3));
    let kind = |text: &str| text.parse::<relaymesh_mesh::capability::Kind>().unwrap();
    let now = |wall_ms| relaymesh_core::hlc::Hlc { wall_ms, logical: 9, node: authors[1].node };
    let fold = arrive(known.iter().chain([&submitted, &other, &routed]));
    let pending = |fold: &Fold, prefix: &str, who: usize| {
        let jobs = fold.pending(&kind(prefix), authors[who].node, now(START_MS + 5));
        jobs.into_iter().map(|job| (job.step.task, job.step.index)).collect::<Vec<_>>()
    };
    assert_eq!(pending(&fold, "x", 1), [(TaskId::new(0, 1), 0)], "the second step is not ready");
    assert_eq!((pending(&fold, "y", 1), pending(&fold, "y", 2)), (vec![], vec![(TaskId::new(0, 2), 0)]));
    let claim = authors[1].claim(1, 0);
    let claim = authors[1].say(scope(1), START_MS + 5, claim);
    let fold = arrive(known.iter().chain([&submitted, &claim]));
    let step = relaymesh_core::id::StepId { task: TaskId::new(0, 1), index: 0 };
    assert_eq!(fold.job(step).map(|job| job.status), Some(Status::Running));
    let at = |wall_ms| relaymesh_core::hlc::Hlc { wall_ms, logical: 9, node: authors[1].node };
    let overdue = |wall_ms| fold.overdue(at(wall_ms)).into_iter().map(|job| job.step).collect::<Vec<_>>();
    let deadline = START_MS + 5 + crate::author::LEASE_MS;
    assert_eq!((overdue(deadline), overdue(deadline + 1)), (vec![], vec![step]));
}

#[test]
fn l3_a_liars_claim_without_end_is_taken_back_by_another_node() {
    let (mut authors, known) = mesh(3);
    let submitted = authors[0].say(scope(1), START_MS + 1, submit("k", &["a"]));
    (1..3).for_each(|who| authors[who].hear(&submitted, START_MS + 2));
    let mut body = authors[1].claim(1, 0);
    if let task::Body::ClaimWork { lease_ms, .. } = &mut body {
        *lease_ms = u64::MAX;
    }
    let claim = authors[1].say(scope(1), START_MS + 3, body);
    authors[2].hear(&claim, START_MS + 4);
    let over =
        Body::Task(task::Body::ExpireWork { step: 0, epoch: 1, reason: ExpireReason::DeadlinePassed, jitter_ms: 0 });
    let early = authors[2].say(scope(1), START_MS + LEASE_MS_MAX, over.clone());
    let right = authors[2].say(scope(1), START_MS + LEASE_MS_MAX + 4, over);
    always(&known, &[submitted, claim.clone(), early.clone(), right.clone()], |fold| {
        assert_eq!((why(fold, &claim), why(fold, &right)), (None, None));
        assert!(matches!(why(fold, &early), Some(NoEffect::Refused(_))));
    });
}

#[test]
fn d34_what_names_another_class_than_its_kind_has_in_a_feed_has_no_effect() {
    let (mut authors, known) = mesh(3);
    let right = authors[1].say(scope(1), START_MS + 1, submit("k", &["a"]));
    let wrong = [WriteClass::Strong, WriteClass::Queued, WriteClass::Local].map(|class| {
        authors[2].class = class;
        authors[2].say(scope(2), START_MS + 2, submit("l", &["a"]))
    });
    authors[0].class = WriteClass::Strong;
    let node = authors[1].node;
    let word = authors[0].word(START_MS + 1, register::Body::FreezeNode { node, frozen: true });
    let ops: Vec<Linked> = wrong.iter().chain([&right, &word]).cloned().collect();
    always(&known, &ops, |fold| {
        for linked in wrong.iter().chain([&word]) {
            let Some(NoEffect::WrongClass(refusal)) = why(fold, linked) else { panic!("{:?}", why(fold, linked)) };
            assert_eq!((refusal.declared, refusal.asked), (WriteClass::AppendOnly, linked.op.header.write_class));
        }
        assert!(fold.rows(scope(2)).is_none());
        assert_eq!(why(fold, &right), None, "the freeze of its author does not count");
    });
}
