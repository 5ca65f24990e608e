//! The namespace machine as tables: what is found, what is said, what comes of it.

use super::{ABOUT_CHARS_MAX, Body, Namespace, Refusal, apply, purge, validate};
use crate::{
    hlc::Hlc,
    id::{NamespaceId, NodeId, OpId},
    name::Name,
    op::{self, Header, Op, Scope, WriteClass},
};

const NOW_MS: u64 = 1_000_000;

/// What is wrong with an op, and what the machine says to it.
type Wrong<'a> = (&'a dyn Fn(&mut Op), Refusal);

fn name(text: &str) -> Name {
    text.parse().unwrap()
}

/// What somebody says about a namespace.
fn said(namespace: &str, author: &str, at_ms: u64, body: impl Into<op::Body>) -> Op {
    let node = NodeId::new(0, 1);
    let header = Header {
        op_id: OpId::new(at_ms, 1),
        origin: node,
        origin_epoch: 1,
        seq: 1,
        hlc: Hlc { wall_ms: at_ms, logical: 0, node },
        author: name(author),
        source: name("test"),
        namespace: name(namespace),
        scope: Scope::Namespace(NamespaceId::of(&name(namespace))),
        write_class: WriteClass::Strong,
        causal_deps: Vec::new(),
        via: None,
    };
    Op { pos: 1, header, body: body.into() }
}

fn create(about: &str) -> Body {
    Body::CreateNamespace { about: about.to_owned() }
}

/// Applies the op; a refusal has changed nothing, and what took effect is valid.
fn tried(row: &mut Option<Namespace>, op: &Op) -> Result<(), Refusal> {
    let before = row.clone();
    let outcome = match (op.header.scope, &op.body) {
        (Scope::Namespace(id), op::Body::Namespace(body)) => apply(row, &op.about(id, body)),
        (Scope::Namespace(_), op::Body::PurgeScope {}) => purge(row.as_ref()),
        (scope, body) => panic!("{:?} about {scope} reaches no namespace", body.kind()),
    };
    match &outcome {
        Ok(()) => validate(row.as_ref().unwrap()).unwrap(),
        Err(refusal) => assert_eq!(*row, before, "refused ({refusal}) and changed all the same"),
    }
    outcome
}

fn team_a() -> Namespace {
    let mut row = None;
    tried(&mut row, &said("team-a", "ann", NOW_MS, create("the first team"))).unwrap();
    row.unwrap()
}

#[test]
fn a_namespace_says_who_made_it_when_and_what_for() {
    let Namespace { rev, id, name: called, author, about, created_ms, head } = team_a();
    assert_eq!((rev, id, called), (1, NamespaceId::of(&name("team-a")), name("team-a")));
    assert_eq!((author, about.as_str(), created_ms), (name("ann"), "the first team", NOW_MS));
    assert_eq!(head.wall_ms, NOW_MS);
}

#[test]
fn whoever_comes_second_changes_nothing() {
    let mut row = Some(team_a());
    let exists = Refusal::Exists { created_ms: NOW_MS, author: name("ann") };
    for (author, about) in [("ben", "mine"), ("ann", "the first team")] {
        assert_eq!(tried(&mut row, &said("team-a", author, NOW_MS + 5, create(about))), Err(exists.clone()));
    }
    assert_eq!(row, Some(team_a()));
}

#[test]
fn what_cannot_be_made_is_refused_and_leaves_nothing() {
    let other = Scope::Namespace(NamespaceId::of(&name("team-b")));
    let named = NamespaceId::of(&name("team-a"));
    let about = |op: &mut Op, text: String| op.body = Body::CreateNamespace { about: text }.into();
    let table: [Wrong<'_>; 5] = [
        (&|op| *op = said("default", "ann", NOW_MS, create("")), Refusal::AlwaysThere),
        (&|op| op.header.scope = other, Refusal::OtherNamespace { scope: other, named }),
        (&|op| about(op, "é".repeat(ABOUT_CHARS_MAX + 1)), Refusal::TooLong { chars: ABOUT_CHARS_MAX + 1 }),
        (&|op| about(op, "two\nlines".to_owned()), Refusal::NotOneLine { found: '\n' }),
        (&|op| about(op, "\u{1b}[31mred".to_owned()), Refusal::NotOneLine { found: '\u{1b}' }),
    ];
    for (change, refusal) in table {
        let mut op = said("team-a", "ann", NOW_MS, create(""));
        change(&mut op);
        let mut row = None;
        assert_eq!((tried(&mut row, &op), row), (Err(refusal), None));
    }
}

#[test]
fn five_hundred_characters_are_possible_and_so_are_none() {
    for about in [String::new(), "é".repeat(ABOUT_CHARS_MAX)] {
        let mut row = None;
        tried(&mut row, &said("team-a", "ann", NOW_MS, create(&about))).unwrap();
        assert_eq!(row.unwrap().about, about);
    }
}

#[test]
fn a_namespace_is_never_purged() {
    let purge = said("team-a", "ann", NOW_MS + 1, op::Body::PurgeScope {});
    assert_eq!(tried(&mut None, &purge), Err(Refusal::NoNamespace));
    let mut row = Some(team_a());
    assert_eq!((tried(&mut row, &purge), row), (Err(Refusal::NeverPurged), Some(team_a())));
}

#[test]
fn rows_that_cannot_be_are_found() {
    let changes: [&dyn Fn(&mut Namespace); 5] = [
        &|row| row.name = name("team-b"),
        &|row| (row.name, row.id) = (name("default"), NamespaceId::of(&name("default"))),
        &|row| row.rev = 2,
        &|row| row.created_ms += 1,
        &|row| row.about = "x".repeat(ABOUT_CHARS_MAX + 1),
    ];
    for change in changes {
        let mut row = team_a();
        change(&mut row);
        assert!(validate(&row).is_err(), "{row:?}");
    }
}
