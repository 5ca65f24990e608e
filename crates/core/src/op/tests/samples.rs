//! One op of every kind, with nothing random in it.

use crate::{
    backoff::Backoff,
    content::{ContentRef, Media},
    hash::Hash,
    hlc::Hlc,
    id::{
        ItemId, LeaseToken, MessageId, NamespaceId, NodeId, OpId, PlanId, RepositoryId, RequestId, StepId, TaskId,
        ThreadId, WorkerId,
    },
    lanes::Priority,
    lock::{self, Case, Mode},
    message::{self, Draft},
    name::Name,
    namespace,
    op::{
        Body, CancelMode, ChainHead, ExpireReason, Header, HeldLock, HeldMessage, Hold, Kind, Op, Scope, SeenItem,
        WriteClass, log,
    },
    plan::{self, ItemKind, NewItem, Status},
    register::{self, Register},
    row::StateHash,
    task::{
        self,
        spec::{Ask, Flow, IdempotencyKey, RetryPolicy, Schedule, StepSpec, Terms, Workspace},
    },
};

/// A time as it is today: ids and stamps are as long as they will be.
pub(super) const NOW_MS: u64 = 1_760_000_000_000;

pub(super) fn name(text: &str) -> Name {
    text.parse().unwrap()
}

pub(super) fn node(n: u128) -> NodeId {
    NodeId::new(NOW_MS, n)
}

pub(super) fn hlc(after_ms: u64) -> Hlc {
    Hlc { wall_ms: NOW_MS + after_ms, logical: 3, node: node(1) }
}

/// The header of the op in place `seq` of the chain of node 1.
pub(super) fn header(seq: u64) -> Header {
    Header {
        op_id: OpId::new(NOW_MS + seq, u128::from(seq)),
        origin: node(1),
        origin_epoch: 1,
        seq,
        hlc: hlc(seq),
        author: name("alice"),
        source: name("cli"),
        namespace: name("default"),
        scope: Scope::Task(TaskId::new(NOW_MS, 9)),
        write_class: WriteClass::Strong,
        causal_deps: Vec::new(),
        via: None,
    }
}

/// The header of an op of this kind: about something that it can be about.
pub(super) fn header_of(kind: Kind, seq: u64) -> Header {
    let repository = Scope::Repository(RepositoryId::of(&name("default"), "github.com/acme/app"));
    let made = name("team-a");
    let thread = Scope::Thread(ThreadId::new(NOW_MS, 8));
    let plan = Scope::Plan(PlanId::new(NOW_MS, 7));
    let namespace = Scope::Namespace(NamespaceId::of(&made));
    let scopes = [header(seq).scope, thread, repository, Scope::Log, namespace, plan];
    let registers = Register::ALL.map(Scope::Register);
    let scope = scopes.into_iter().chain(registers).find(|scope| body(kind).fits(*scope)).unwrap();
    let namespace = if matches!(scope, Scope::Namespace(_)) { made } else { header(seq).namespace };
    Header { scope, namespace, ..header(seq) }
}

pub(super) fn held() -> Hold<u16> {
    Hold { step: 0, epoch: 1, token: LeaseToken::new(NOW_MS, 5) }
}

pub(super) fn single_step() -> StepSpec {
    StepSpec {
        name: name("echo"),
        agent: name("echo"),
        priority: Priority::Normal,
        depends_on: Vec::new(),
        compensates: None,
        input: Some(ContentRef::of(Media::Json, b"{}")),
        retry: RetryPolicy::default(),
        timeout_ms: None,
        approve: None,
        flow: None,
        terms: None,
    }
}

/// A graph that sets every field of a step at least once.
fn schedule() -> Schedule {
    let second = StepSpec {
        name: name("publish"),
        priority: Priority::High,
        depends_on: vec![0],
        input: None,
        retry: RetryPolicy { max_attempts: 7, backoff: Backoff { base_ms: 10, max_ms: 1000 } },
        timeout_ms: Some(30_000),
        approve: Some(Ask { text: "Publish?".to_owned(), deadline_ms: Some(60_000) }),
        flow: Some(Box::new(Flow {
            when: Some("steps.echo.result == 1".to_owned()),
            foreach: Some("[1]".to_owned()),
            templated: true,
            item: None,
        })),
        terms: Some(Box::new(Terms {
            result_schema: Some("{\"type\":\"object\"}".to_owned()),
            workspace: Some(Workspace {
                git: "https://example.com/app.git".to_owned(),
                reference: Some("main".to_owned()),
                branch: Some("agents/publish".to_owned()),
            }),
        })),
        ..single_step()
    };
    let undo = StepSpec { name: name("undo"), compensates: Some(0), input: None, ..single_step() };
    Schedule {
        name: name("release"),
        key: IdempotencyKey::RequestId(RequestId::new(NOW_MS, 4)),
        fingerprint: Hash::sha256(b"request"),
        trace_id: 0x0123_4567_89ab_cdef,
        input: Some(ContentRef::of(Media::Json, b"1")),
        steps: vec![single_step(), second, undo],
    }
}

#[expect(clippy::wildcard_enum_match_arm, reason = "the other kinds are other machines'")]
pub(super) fn body(kind: Kind) -> Body {
    let all = [
        of_task(kind).map(Body::from),
        of_lock(kind).map(Body::from),
        of_message(kind).map(Body::from),
        of_plan(kind).map(Body::from),
        of_register(kind).map(Body::from),
    ];
    let text = |text: &str| text.to_owned();
    let other = || match kind {
        Kind::CreateNamespace => Body::Namespace(namespace::Body::CreateNamespace { about: text("the first team") }),
        Kind::Checkpoint => Body::Log(log::Body::Checkpoint {
            pos: 1_000,
            heads: vec![ChainHead { origin: node(1), origin_epoch: 1, seq: 999, hash: Hash::sha256(b"head") }],
            state: StateHash(0x0123_4567_89ab_cdef),
        }),
        Kind::AuditEvent => {
            Body::Log(log::Body::AuditEvent { event: name("token.create"), about: vec![(name("scope"), text("rw"))] })
        }
        Kind::PurgeScope => Body::PurgeScope {},
        other => panic!("{other:?} has no sample"),
    };
    all.into_iter().flatten().next().unwrap_or_else(other)
}

#[expect(clippy::wildcard_enum_match_arm, reason = "the other kinds are other machines'")]
fn of_task(kind: Kind) -> Option<task::Body> {
    let held = held();
    let ask = Hash::sha256(b"Publish?");
    let text = |text: &str| text.to_owned();
    Some(match kind {
        Kind::ScheduleJob => task::Body::ScheduleJob { schedule: schedule() },
        Kind::ClaimWork => task::Body::ClaimWork {
            step: 0,
            owner: node(1),
            worker: WorkerId::new(NOW_MS, 2),
            token: held.token,
            lease_ms: 120_000,
            seen: hlc(0),
        },
        Kind::CompleteJob => task::Body::CompleteJob { held, result: ContentRef::of(Media::Json, b"{\"ok\":true}") },
        Kind::FailJob => task::Body::FailJob { held, retryable: true, jitter_ms: 250, error: text("exit code 3") },
        Kind::YieldWork => task::Body::YieldWork { held, reason: text("shutting down") },
        Kind::ExpireWork => {
            task::Body::ExpireWork { step: 2, epoch: 3, reason: ExpireReason::OwnerGone, jitter_ms: 17 }
        }
        Kind::TimeoutWork => task::Body::TimeoutWork { step: 2, epoch: 3, jitter_ms: 17 },
        Kind::CancelTask => task::Body::CancelTask { mode: CancelMode::Soft, reason: text("not needed") },
        Kind::RedriveTask => task::Body::RedriveTask { reason: text("disk was full") },
        Kind::ApproveStep => task::Body::ApproveStep { step: 1, ask },
        Kind::DenyStep => task::Body::DenyStep { step: 1, ask, reason: text("too early") },
        Kind::RecordArtifact => task::Body::RecordArtifact {
            held,
            kind: name("inference"),
            name: name("call-1"),
            content: ContentRef::of(Media::Json, b"{}"),
            about: vec![(name("model"), text("acme/large-2")), (name("tokens"), text("42"))],
        },
        Kind::PassWork => task::Body::PassWork { held },
        Kind::SkipWork => task::Body::SkipWork { held, reason: text("it is false") },
        Kind::FanOut => task::Body::FanOut { held, count: 300 },
        _ => return None,
    })
}

#[expect(clippy::wildcard_enum_match_arm, reason = "the other kinds are other machines'")]
fn of_lock(kind: Kind) -> Option<lock::Body> {
    let held = held();
    let text = |text: &str| text.to_owned();
    Some(match kind {
        Kind::AcquireLock => lock::Body::AcquireLock {
            repository: "github.com/acme/app".parse().unwrap(),
            key: "src/**/*.rs".parse().unwrap(),
            mode: Mode::Exclusive,
            case: Case::Folded,
            holder: name("builder"),
            owner: node(1),
            token: held.token,
            ttl_ms: 30_000,
            purpose: text("rename a module"),
            seen: hlc(0),
        },
        Kind::RenewLock => lock::Body::RenewLock { held: held_lock(), ttl_ms: 300_000 },
        Kind::ReleaseLock => lock::Body::ReleaseLock { held: held_lock() },
        Kind::ExpireLock => lock::Body::ExpireLock { held: held_lock() },
        _ => return None,
    })
}

#[expect(clippy::wildcard_enum_match_arm, reason = "the other kinds are other machines'")]
fn of_message(kind: Kind) -> Option<message::Body> {
    let held = held();
    let text = |text: &str| text.to_owned();
    Some(match kind {
        Kind::SendMessage => message::Body::SendMessage { draft: draft() },
        Kind::DeliverMessage => message::Body::DeliverMessage {
            message: message(1),
            recipient: name("reviewer"),
            owner: node(1),
            worker: WorkerId::new(NOW_MS, 2),
            token: held.token,
            lease_ms: 120_000,
            seen: hlc(0),
        },
        Kind::AcknowledgeMessage => message::Body::AcknowledgeMessage { held: held_message() },
        Kind::ReplyMessage => message::Body::ReplyMessage {
            held: held_message(),
            answer: message(2),
            content: ContentRef::of(Media::Text, b"looks good"),
        },
        Kind::FailMessage => message::Body::FailMessage {
            held: held_message(),
            retryable: true,
            jitter_ms: 250,
            error: text("no such file"),
        },
        Kind::ReturnMessage => message::Body::ReturnMessage { held: held_message(), reason: text("shutting down") },
        Kind::ExpireDelivery => {
            let reason = ExpireReason::DeadlinePassed;
            message::Body::ExpireDelivery { message: message(1), epoch: 3, reason, jitter_ms: 17 }
        }
        Kind::ExpireMessage => message::Body::ExpireMessage { message: message(1) },
        Kind::RedriveMessage => message::Body::RedriveMessage { message: message(1), reason: text("reviewer is back") },
        _ => return None,
    })
}

#[expect(clippy::wildcard_enum_match_arm, reason = "the other kinds are other machines'")]
fn of_plan(kind: Kind) -> Option<plan::Body> {
    let text = |text: &str| text.to_owned();
    Some(match kind {
        Kind::AddItem => plan::Body::AddItem { item: new_item() },
        Kind::ChangeItem => {
            let NewItem { title, notes, task, .. } = new_item();
            plan::Body::ChangeItem { seen: seen_item(), title, notes, task }
        }
        Kind::MoveItem => plan::Body::MoveItem { seen: seen_item(), parent: ItemId::new(NOW_MS, 3), place: 1 << 33 },
        Kind::SetItemStatus => {
            plan::Body::SetItemStatus { seen: seen_item(), status: Status::Blocked, reason: text("no key yet") }
        }
        Kind::RemoveItem => plan::Body::RemoveItem { seen: seen_item() },
        _ => return None,
    })
}

#[expect(clippy::wildcard_enum_match_arm, reason = "the other kinds are other machines'")]
fn of_register(kind: Kind) -> Option<register::Body> {
    let text = |text: &str| text.to_owned();
    Some(match kind {
        Kind::RouteKind => {
            register::Body::RouteKind { pattern: "com.example.*".parse().unwrap(), target: Some(node(2)) }
        }
        Kind::DesignateCoordinator => register::Body::DesignateCoordinator { coordinator: node(2) },
        Kind::DelegateUcan => register::Body::DelegateUcan { ucan_bytes: vec![1, 2, 3] },
        Kind::RevokeUcan => register::Body::RevokeUcan { ucan_cid: Hash::sha256(b"link") },
        Kind::FreezeNode => register::Body::FreezeNode { node: node(2), frozen: true },
        Kind::SetSetting => register::Body::SetSetting { name: name("lease_timeout_ms"), value: Some(text("15000")) },
        Kind::SetFeatureLevel => register::Body::SetFeatureLevel { level: 2 },
        Kind::Seal => register::Body::Seal {
            upto: hlc(0),
            heads: vec![ChainHead { origin: node(1), origin_epoch: 1, seq: 7, hash: Hash::sha256(b"head") }],
        },
        _ => return None,
    })
}

fn new_item() -> NewItem {
    NewItem {
        id: ItemId::new(NOW_MS, 1),
        kind: ItemKind::Task,
        parent: Some(ItemId::new(NOW_MS, 2)),
        place: 1 << 32,
        title: "Sign the release".to_owned(),
        notes: "With the key of the team.".to_owned(),
        task: Some(TaskId::new(NOW_MS, 9)),
    }
}

fn seen_item() -> SeenItem {
    SeenItem { item: ItemId::new(NOW_MS, 1), rev: 300, by: OpId::new(NOW_MS, 4) }
}

fn message(n: u128) -> MessageId {
    MessageId::new(NOW_MS, n)
}

fn held_message() -> HeldMessage {
    HeldMessage { message: message(1), epoch: 3, token: LeaseToken::new(NOW_MS, 5) }
}

fn draft() -> Draft {
    let (task, token) = (TaskId::new(NOW_MS, 9), LeaseToken::new(NOW_MS, 6));
    Draft {
        id: message(1),
        from: name("builder"),
        to: name("reviewer"),
        priority: Priority::High,
        reply_to: Some(message(0)),
        asks: Some(Hold { step: StepId { task, index: 1 }, epoch: 2, token }),
        content: ContentRef::of(Media::Text, b"please review"),
        trace_id: 0x0123_4567_89ab_cdef,
        ttl_ms: Some(300_000),
        max_deliveries: 5,
        backoff: Backoff::default(),
    }
}

fn held_lock() -> HeldLock {
    HeldLock { token: LeaseToken::new(NOW_MS, 5), fence: 1_000 }
}

pub(super) fn bytes_of(header: &Header, body: &Body) -> Vec<u8> {
    let mut bytes = Vec::new();
    Op::encode(header, body, &mut bytes);
    bytes
}

/// The bytes of one op of every kind, each with the number of its kind for its sequence: a kind that is new changes no
/// other's bytes.
pub(super) fn one_of_each() -> Vec<(Kind, Vec<u8>)> {
    let bytes = |kind: &Kind| (*kind, bytes_of(&header_of(*kind, u64::from(*kind as u16)), &body(*kind)));
    Kind::ALL.iter().map(bytes).collect()
}
