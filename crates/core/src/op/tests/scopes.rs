//! What can be said about which sort of scope: the kernel hands an op to one machine, or refuses it by name.

use super::samples::{NOW_MS, body, header, header_of};
use crate::{
    id::{NamespaceId, PlanId, RepositoryId, TaskId, ThreadId},
    kernel::{Refusal, Rows, apply, apply_task},
    message,
    op::{Body, Header, Kind, Op, Scope},
    plan,
    register::Register,
};

fn scopes() -> [Scope; 7] {
    [
        Scope::Task(TaskId::new(NOW_MS, 9)),
        Scope::Thread(ThreadId::new(NOW_MS, 9)),
        Scope::Repository(RepositoryId::new(NOW_MS, 9)),
        Scope::Log,
        Scope::Namespace(NamespaceId::new(NOW_MS, 9)),
        Scope::Plan(PlanId::new(NOW_MS, 9)),
        Scope::Register(Register::Level),
    ]
}

fn op(kind: Kind, scope: Scope) -> Op {
    Op { pos: 1, header: Header { scope, ..header(1) }, body: body(kind) }
}

/// By number, and not by asking the code that is tested: tasks, threads, repositories, the log, namespaces, plans, the level.
fn belongs(kind: Kind) -> [bool; 7] {
    match kind as u16 {
        1..=11 | 25 | 28..=30 => [true, false, false, false, false, false, false],
        12..=15 => [false, false, true, false, false, false, false],
        16..=24 => [false, true, false, false, false, false, false],
        26 => [true, true, true, false, true, true, true],
        27 | 32 => [false, false, false, true, false, false, false],
        31 => [false, false, false, false, true, false, false],
        33..=38 | 40 => [false; 7],
        39 => [false, false, false, false, false, false, true],
        48..=52 => [false, false, false, false, false, true, false],
        other => panic!("say where kind {other} belongs"),
    }
}

#[test]
fn what_does_not_belong_to_a_scope_reaches_no_machine() {
    for kind in Kind::ALL {
        for (scope, belongs) in scopes().into_iter().zip(belongs(*kind)) {
            assert_eq!(body(*kind).fits(scope), belongs, "{kind:?} about {scope}");
            let (mut rows, mut effects) = (None, Vec::new());
            let outcome = apply(&mut rows, &op(*kind, scope), &mut effects);
            let wrong = outcome == Err(Refusal::WrongScope { kind: *kind, scope });
            assert_eq!(wrong, !belongs, "{kind:?} about {scope}: {outcome:?}");
        }
    }
}

/// The body of the op that makes something of this sort: the sample as it is, but for what refers to something else.
fn first(kind: Kind) -> Op {
    let mut body = body(kind);
    if let Body::Message(message::Body::SendMessage { draft }) = &mut body {
        draft.reply_to = None;
    }
    if let Body::Plan(plan::Body::AddItem { item }) = &mut body {
        (item.kind, item.parent, item.task) = (plan::ItemKind::Mission, None, None);
    }
    Op { pos: 1, header: header_of(kind, 1), body }
}

#[test]
fn nor_does_it_when_there_are_rows() {
    for made in [Kind::ScheduleJob, Kind::SendMessage, Kind::AcquireLock, Kind::CreateNamespace, Kind::AddItem] {
        let (made, mut rows, mut effects) = (first(made), None, Vec::new());
        apply(&mut rows, &made, &mut effects).unwrap();
        let (before, told, scope) = (rows.clone(), effects.clone(), made.header.scope);
        for kind in Kind::ALL.iter().filter(|kind| !body(**kind).fits(scope)) {
            let refusal = Refusal::WrongScope { kind: *kind, scope };
            let later = Op { pos: 2, header: Header { scope, ..header_of(made.body.kind(), 2) }, body: body(*kind) };
            assert_eq!(apply(&mut rows, &later, &mut effects), Err(refusal.clone()));
            assert_eq!((&rows, &effects), (&before, &told), "{kind:?} about {scope}");
            if let Some(Rows::Task(task)) = &before {
                let mut own = Some(task.clone());
                assert_eq!(apply_task(&mut own, &later, &mut Vec::new()), Err(refusal));
                assert_eq!(own.as_ref(), Some(task));
            }
        }
    }
}

#[test]
fn rows_of_another_sort_than_the_scope_stay_as_they_are() {
    let first = |kind: Kind| Op { pos: 1, header: header_of(kind, 1), body: body(kind) };
    let mut rows: Option<Rows> = None;
    apply(&mut rows, &first(Kind::ScheduleJob), &mut Vec::new()).unwrap();
    let before = rows.clone();
    let lock = first(Kind::AcquireLock);
    let outcome = apply(&mut rows, &lock, &mut Vec::new());
    assert_eq!(outcome, Err(Refusal::WrongScope { kind: Kind::AcquireLock, scope: lock.header.scope }));
    assert_eq!(rows, before);
}

#[test]
fn a_scope_is_written_as_the_id_of_what_it_is() {
    for (scope, prefix) in scopes().into_iter().zip(["tsk_", "thr_", "rep_", "log", "nsp_", "pln_", "level"]) {
        assert!(scope.to_string().starts_with(prefix), "{scope}");
    }
    assert!(std::mem::size_of::<Scope>() <= 32, "a scope is copied everywhere");
}

#[test]
fn json_has_the_kind_and_the_fields_and_no_machine() {
    for kind in Kind::ALL {
        let value = serde_json::to_value(body(*kind)).unwrap();
        let fields: Vec<&str> = value.as_object().unwrap().keys().map(String::as_str).collect();
        assert_eq!(fields, ["body", "kind"], "{kind:?}");
        assert!(value["body"].is_object(), "{kind:?}: {value}");
    }
    assert_eq!(serde_json::to_string(&body(Kind::PurgeScope)).unwrap(), r#"{"kind":"PurgeScope","body":{}}"#);
    assert_eq!(
        serde_json::to_string(&body(Kind::RedriveTask)).unwrap(),
        r#"{"kind":"RedriveTask","body":{"reason":"disk was full"}}"#
    );
}
