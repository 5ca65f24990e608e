//! What registers say counts, as of each op's own time, in whatever order it is heard.

use crate::author::{
    Author, Linked, START_MS, always, arrive, complete, everything, first_hand, give, link, mesh, name, only, scope,
    submit, task, why,
};
use relaymesh_core::{
    op::Scope,
    register,
    task::{self, Status},
};
use relaymesh_mesh::{
    capability::{Action, Chain as Ucan, Refusal, Resource},
    fold::NoEffect,
    mandate::Unauthorised,
    register::Register,
};

fn unauthorised(linked: &Linked, fold: &relaymesh_mesh::fold::Fold) -> Unauthorised {
    match why(fold, linked) {
        Some(NoEffect::Unauthorised(unauthorised)) => unauthorised,
        other => panic!("{other:?}"),
    }
}

fn two(authors: &mut [Author], who: usize, key: &str, agent: &str) -> (Linked, Linked) {
    let submitted = authors[0].say(scope(1), START_MS + 10, submit(key, &[agent]));
    authors[who].hear(&submitted, START_MS + 11);
    let claim = authors[who].claim(1, 0);
    (submitted, authors[who].say(scope(1), START_MS + 12, claim))
}

#[test]
fn l1_who_was_let_in_by_nobody_says_nothing() {
    let (_, known) = mesh(2);
    let mut stranger = Author::new(9);
    let submitted = stranger.say(scope(1), START_MS + 5, submit("k", &["a"]));
    always(&known, std::slice::from_ref(&submitted), |fold| {
        assert!(matches!(unauthorised(&submitted, fold), Unauthorised::NotEnrolled { .. }));
        assert!(fold.rows(scope(1)).is_none());
    });
}

#[test]
fn l1_a_chain_counts_from_the_op_that_gave_it_and_not_before() {
    let (mut authors, known) = mesh(2);
    let mut late = Author::new(7);
    let before = late.say(scope(1), START_MS + 5, submit("k", &["a"]));
    let given = authors[0].word(START_MS + 9, give(&first_hand(7, everything())));
    late.hear(&given, START_MS + 10);
    let after = late.say(scope(2), START_MS + 11, submit("l", &["a"]));
    always(&known, &[before.clone(), given, after.clone()], |fold| {
        assert!(matches!(unauthorised(&before, fold), Unauthorised::NotEnrolled { .. }));
        assert_eq!(why(fold, &after), None);
    });
}

#[test]
fn l1_only_whoever_issued_a_link_says_that_it_was_given() {
    let (mut authors, known) = mesh(3);
    let stolen = authors[2].word(START_MS + 5, give(&first_hand(7, everything())));
    always(&known, std::slice::from_ref(&stolen), |fold| {
        assert!(matches!(unauthorised(&stolen, fold), Unauthorised::NotIssuer { .. }));
    });
}

#[test]
fn l5_others_claims_on_a_routed_kind_are_refused_and_clearing_restores_the_default() {
    let (mut authors, known) = mesh(3);
    let target = Some(authors[2].node);
    let pattern = || "com.example.*".parse().unwrap();
    let routed = authors[0].word(START_MS + 5, register::Body::RouteKind { pattern: pattern(), target });
    let (submitted, claim) = two(&mut authors, 1, "k", "com.example.ocr");
    let cleared = authors[0].word(START_MS + 20, register::Body::RouteKind { pattern: pattern(), target: None });
    authors[1].hear(&cleared, START_MS + 21);
    let body = authors[1].claim(1, 0);
    let again = authors[1].say(scope(1), START_MS + 22, body);
    always(&known, &[routed, submitted, claim.clone(), cleared, again.clone()], |fold| {
        assert!(matches!(unauthorised(&claim, fold), Unauthorised::Routed(_)));
        assert_eq!(why(fold, &again), None);
        assert_eq!(task(fold, 1).steps[0].lease.as_ref().unwrap().owner, authors[1].node);
    });
}

#[test]
fn l5_l6_only_the_owner_says_where_work_goes_and_who_coordinates() {
    let (mut authors, known) = mesh(3);
    let node = authors[1].node;
    let words = [
        register::Body::RouteKind { pattern: "com.example.*".parse().unwrap(), target: Some(node) },
        register::Body::DesignateCoordinator { coordinator: node },
        register::Body::FreezeNode { node: authors[2].node, frozen: true },
        register::Body::SetSetting { name: name("a"), value: Some("1".to_owned()) },
        register::Body::SetFeatureLevel { level: 2 },
    ];
    let said: Vec<Linked> = words.into_iter().map(|body| authors[1].word(START_MS + 5, body)).collect();
    let fold = arrive(known.iter().chain(&said));
    for linked in &said {
        let refused = unauthorised(linked, &fold);
        assert_eq!(refused, Unauthorised::Capability(Refusal::OwnerOnly), "{:?}", linked.op.body.kind());
    }
}

#[test]
fn l6_l14_only_the_coordinator_in_force_derives_and_there_is_one_at_any_time() {
    let (mut authors, known) = mesh(3);
    let [first, second] = [authors[1].node, authors[2].node];
    let one = authors[0].word(START_MS + 10, register::Body::DesignateCoordinator { coordinator: first });
    let derive = |author: &mut Author, task: u128, now_ms: u64| {
        author.say(scope(task), now_ms, submit(&format!("k{task}"), &["relaymesh.derive.entities"]))
    };
    let early = derive(&mut authors[1], 1, START_MS + 5);
    let right = derive(&mut authors[1], 2, START_MS + 15);
    let wrong = derive(&mut authors[2], 3, START_MS + 16);
    let other = authors[0].word(START_MS + 20, register::Body::DesignateCoordinator { coordinator: second });
    let over = derive(&mut authors[1], 4, START_MS + 25);
    always(&known, &[one, early.clone(), right.clone(), wrong.clone(), other, over.clone()], |fold| {
        assert_eq!(why(fold, &right), None);
        for linked in [&early, &wrong, &over] {
            assert!(matches!(unauthorised(linked, fold), Unauthorised::CoordinatorOnly { .. }));
        }
    });
}

#[test]
fn a_late_revocation_takes_back_what_came_after_it_with_all_that_came_of_it() {
    let (mut authors, known) = mesh(3);
    let first = link(0, 1, everything(), None);
    let second = link(1, 7, vec![only(Resource::Job, Action::Schedule, None)], Some(&first));
    let given = authors[0].word(START_MS + 1, give(&Ucan::new(vec![first.clone()]).unwrap()));
    authors[1].hear(&given, START_MS + 2);
    let handed = authors[1].word(START_MS + 3, give(&Ucan::new(vec![first.clone(), second]).unwrap()));
    let mut below = Author::new(7);
    for linked in known.iter().chain([&given, &handed]) {
        below.hear(linked, START_MS + 4);
    }
    let before = below.say(scope(1), START_MS + 5, submit("k", &["a"]));
    // The owner takes back what it gave at the start, which is all that the first one has.
    let revoked = authors[0].word(START_MS + 10, register::Body::RevokeUcan { ucan_cid: first.cid() });
    let after = below.say(scope(2), START_MS + 15, submit("l", &["a"]));
    always(&known, &[given, handed, before.clone(), after.clone(), revoked], |fold| {
        assert_eq!(why(fold, &before), None, "it was allowed when it was said");
        assert!(matches!(unauthorised(&after, fold), Unauthorised::Capability(Refusal::Revoked { .. })));
    });
}

#[test]
fn whoever_speaks_for_another_node_is_not_heard_although_it_shows_the_token() {
    let (mut authors, known) = mesh(3);
    let (submitted, claim) = two(&mut authors, 1, "k", "a");
    authors[2].hear(&submitted, START_MS + 13);
    authors[2].hear(&claim, START_MS + 13);
    let stolen = authors[2].say(scope(1), START_MS + 14, complete(&claim, 1, "stolen"));
    let mut body = authors[2].claim(1, 0);
    if let task::Body::ClaimWork { owner, .. } = &mut body {
        *owner = authors[1].node;
    }
    let pretended = authors[2].say(scope(1), START_MS + 15, body);
    let right = authors[1].say(scope(1), START_MS + 16, complete(&claim, 1, "right"));
    always(&known, &[submitted, claim, stolen.clone(), pretended.clone(), right.clone()], |fold| {
        assert!(matches!(unauthorised(&stolen, fold), Unauthorised::NotClaimer { .. }));
        assert!(matches!(unauthorised(&pretended, fold), Unauthorised::NotClaimer { .. }));
        assert_eq!((why(fold, &right), task(fold, 1).task.status), (None, Status::Success));
    });
}

#[test]
fn l10_a_worker_claims_the_kinds_that_it_was_given_and_no_others() {
    let (mut authors, known) = mesh(2);
    let mut worker = Author::new(7);
    let att = vec![only(Resource::Job, Action::Claim, Some("com.example"))];
    let given = authors[0].word(START_MS + 1, give(&first_hand(7, att)));
    let mine = authors[0].say(scope(1), START_MS + 2, submit("k", &["com.example.ocr"]));
    let other = authors[0].say(scope(2), START_MS + 2, submit("l", &["com.examples.ocr"]));
    for linked in known.iter().chain([&given, &mine, &other]) {
        worker.hear(linked, START_MS + 3);
    }
    let (one, two) = (worker.claim(1, 0), worker.claim(2, 0));
    let right = worker.say(scope(1), START_MS + 4, one);
    let wrong = worker.say(scope(2), START_MS + 5, two);
    always(&known, &[given, mine, other, right.clone(), wrong.clone()], |fold| {
        assert_eq!(why(fold, &right), None);
        assert!(matches!(unauthorised(&wrong, fold), Unauthorised::Capability(Refusal::Caveat { .. })));
    });
}

#[test]
fn whom_the_owner_freezes_says_nothing_until_it_is_thawed() {
    let (mut authors, known) = mesh(2);
    let node = authors[1].node;
    let frozen = authors[0].word(START_MS + 5, register::Body::FreezeNode { node, frozen: true });
    let during = authors[1].say(scope(1), START_MS + 6, submit("k", &["a"]));
    let thawed = authors[0].word(START_MS + 9, register::Body::FreezeNode { node, frozen: false });
    let after = authors[1].say(scope(2), START_MS + 10, submit("l", &["a"]));
    always(&known, &[frozen, during.clone(), thawed, after.clone()], |fold| {
        assert_eq!(unauthorised(&during, fold), Unauthorised::Frozen { node });
        assert_eq!(why(fold, &after), None);
    });
}

#[test]
fn l1_nobody_freezes_the_owners_own_node() {
    let (mut authors, mut known) = mesh(3);
    let root = authors[0].node;
    known.push(authors[0].word(START_MS, give(&first_hand(1, vec![only(Resource::Mesh, Action::Write, None)]))));
    authors[1].hear(&known[2], START_MS + 1);
    let frozen = authors[1].word(START_MS + 5, register::Body::FreezeNode { node: root, frozen: true });
    let own = authors[0].word(START_MS + 6, register::Body::FreezeNode { node: root, frozen: true });
    let (liar, third) = (authors[1].node, authors[2].node);
    let answer = authors[0].word(START_MS + 7, register::Body::FreezeNode { node: liar, frozen: true });
    let after = authors[1].word(START_MS + 8, register::Body::FreezeNode { node: third, frozen: true });
    always(&known, &[frozen.clone(), own.clone(), answer.clone(), after.clone()], |fold| {
        for linked in [&frozen, &own] {
            assert_eq!(unauthorised(linked, fold), Unauthorised::OwnersNode);
        }
        assert_eq!(why(fold, &answer), None, "the owner has the last word");
        assert_eq!(unauthorised(&after, fold), Unauthorised::Frozen { node: liar });
        let members = fold.registers().unwrap().members(after.op.header.hlc);
        assert!(members.iter().any(|member| member.node == root));
    });
}

#[test]
fn settings_and_levels_are_read_as_of_a_time() {
    let (mut authors, known) = mesh(1);
    let set = |value: &str| register::Body::SetSetting { name: name("a"), value: Some(value.to_owned()) };
    let one = authors[0].word(START_MS + 5, set("1"));
    let two = authors[0].word(START_MS + 9, set("2"));
    let up = authors[0].word(START_MS + 10, register::Body::SetFeatureLevel { level: 2 });
    let down = authors[0].word(START_MS + 11, register::Body::SetFeatureLevel { level: 1 });
    always(&known, &[one.clone(), two.clone(), up.clone(), down.clone()], |fold| {
        let registers = fold.registers().unwrap();
        assert_eq!(registers.setting(&name("a"), one.op.header.hlc), Some("1"));
        assert_eq!(registers.setting(&name("a"), two.op.header.hlc), Some("2"));
        assert_eq!((registers.level(one.op.header.hlc), registers.level(up.op.header.hlc)), (1, 2));
        assert!(registers.is_behind(), "this program knows the first level alone");
        assert!(why(fold, &down).is_some(), "a level only grows");
        assert!(fold.rows(Scope::Register(Register::Settings)).is_some());
    });
}

#[test]
fn l6_a_quiet_coordinator_can_be_told_and_is_never_replaced_by_itself() {
    let (mut authors, known) = mesh(2);
    let node = authors[1].node;
    let named = authors[0].word(START_MS + 5, register::Body::DesignateCoordinator { coordinator: node });
    let fold = arrive(known.iter().chain([&named]));
    let late = relaymesh_core::hlc::Hlc { wall_ms: START_MS + 9_000_000, logical: 0, node };
    assert_eq!(fold.registers().unwrap().coordinator(late), node);
    let quiet = fold.coordinator_quiet_ms(late).unwrap();
    assert_eq!(quiet, late.wall_ms - named.op.header.hlc.wall_ms);
}
