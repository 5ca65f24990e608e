//! Valid values to start from: one op of every kind, and the rows of a task on its way.

pub(crate) mod scopes;

use relaymesh_core::{
    backoff::Backoff,
    content::{ContentRef, Media},
    hash::Hash,
    hlc::Hlc,
    id::{LeaseToken, NodeId, OpId, RequestId, TaskId, WorkerId},
    lanes::Priority,
    name::Name,
    namespace,
    op::{Body, CancelMode, ChainHead, ExpireReason, Header, Hold, Kind, WriteClass, log},
    register,
    row::StateHash,
    task::{
        self, Artifact, Attempt, Lease, Outcome, Status, Step, Task,
        spec::{Ask, Flow, IdempotencyKey, RetryPolicy, Schedule, StepSpec, Terms, Workspace},
        state::Failing,
    },
};

pub(crate) const NOW_MS: u64 = 1_760_000_000_000;

pub(crate) fn name(text: &str) -> Name {
    text.parse().expect("a sample is a name")
}

pub(crate) fn node() -> NodeId {
    NodeId::new(NOW_MS, 1)
}

/// A stamp.
pub(crate) fn hlc() -> Hlc {
    Hlc { wall_ms: NOW_MS + 4, logical: 3, node: node() }
}

pub(crate) fn task_id() -> TaskId {
    TaskId::new(NOW_MS, 9)
}

/// The header of the op in place `seq` of its chain.
pub(crate) fn header(seq: u64) -> Header {
    Header {
        op_id: OpId::new(NOW_MS + seq, u128::from(seq)),
        origin: node(),
        origin_epoch: 1,
        seq,
        hlc: hlc(),
        author: name("alice"),
        source: name("cli"),
        namespace: name("default"),
        scope: scopes::scope(seq),
        write_class: WriteClass::Strong,
        causal_deps: if seq.is_multiple_of(2) { Vec::new() } else { vec![OpId::new(NOW_MS, 7)] },
        via: None,
    }
}

fn first_step() -> StepSpec {
    StepSpec {
        name: name("draft"),
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

fn second_step() -> StepSpec {
    StepSpec {
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
        ..first_step()
    }
}

/// The kinds of words about the mesh itself, as a pattern.
macro_rules! words {
    () => {
        Kind::RouteKind
            | Kind::DesignateCoordinator
            | Kind::DelegateUcan
            | Kind::RevokeUcan
            | Kind::FreezeNode
            | Kind::SetSetting
            | Kind::SetFeatureLevel
            | Kind::Seal
    };
}

/// The body of an op of this kind.
pub(crate) fn body(kind: Kind) -> Body {
    let text = |text: &str| text.to_owned();
    match kind {
        Kind::PurgeScope => Body::PurgeScope {},
        Kind::Checkpoint => Body::Log(log::Body::Checkpoint {
            pos: 1_000,
            heads: vec![ChainHead { origin: node(), origin_epoch: 1, seq: 999, hash: Hash::sha256(b"head") }],
            state: StateHash(0x0123_4567_89ab),
        }),
        Kind::CreateNamespace => Body::Namespace(namespace::Body::CreateNamespace { about: text("the first team") }),
        Kind::AuditEvent => {
            Body::Log(log::Body::AuditEvent { event: name("token.create"), about: vec![(name("scope"), text("rw"))] })
        }
        Kind::AcquireLock
        | Kind::RenewLock
        | Kind::ReleaseLock
        | Kind::ExpireLock
        | Kind::SendMessage
        | Kind::DeliverMessage
        | Kind::AcknowledgeMessage
        | Kind::ReplyMessage
        | Kind::FailMessage
        | Kind::ReturnMessage
        | Kind::ExpireDelivery
        | Kind::ExpireMessage
        | Kind::RedriveMessage
        | Kind::AddItem
        | Kind::ChangeItem
        | Kind::MoveItem
        | Kind::SetItemStatus
        | Kind::RemoveItem => scopes::body(kind),
        words!() => word(kind).into(),
        Kind::ScheduleJob
        | Kind::ClaimWork
        | Kind::CompleteJob
        | Kind::FailJob
        | Kind::YieldWork
        | Kind::ExpireWork
        | Kind::TimeoutWork
        | Kind::CancelTask
        | Kind::RedriveTask
        | Kind::ApproveStep
        | Kind::DenyStep
        | Kind::RecordArtifact
        | Kind::PassWork
        | Kind::SkipWork
        | Kind::FanOut => of_task(kind).into(),
    }
}

#[expect(clippy::wildcard_enum_match_arm, reason = "the other kinds are sampled above")]
fn of_task(kind: Kind) -> task::Body {
    let held = Hold { step: 0, epoch: 1, token: LeaseToken::new(NOW_MS, 5) };
    let ask = Hash::sha256(b"Publish?");
    let text = |text: &str| text.to_owned();
    match kind {
        Kind::ScheduleJob => {
            let undo = StepSpec { name: name("undo"), compensates: Some(0), input: None, ..first_step() };
            let key = IdempotencyKey::RequestId(RequestId::new(NOW_MS, 4));
            let fingerprint = Hash::sha256(b"request");
            let steps = vec![first_step(), second_step(), undo];
            let schedule =
                Schedule { name: name("release"), key, fingerprint, trace_id: 0x0123_4567_89ab, input: None, steps };
            task::Body::ScheduleJob { schedule }
        }
        Kind::ClaimWork => task::Body::ClaimWork {
            step: 0,
            owner: node(),
            worker: WorkerId::new(NOW_MS, 2),
            token: held.token,
            lease_ms: 120_000,
            seen: hlc(),
        },
        Kind::CompleteJob => task::Body::CompleteJob { held, result: ContentRef::of(Media::Text, b"done") },
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
        other => panic!("{other:?} is not about a task"),
    }
}

/// A word about the mesh itself.
fn word(kind: Kind) -> register::Body {
    let words = [
        register::Body::RouteKind { pattern: "com.example.*".parse().expect("a pattern"), target: Some(node()) },
        register::Body::DesignateCoordinator { coordinator: node() },
        register::Body::DelegateUcan { ucan_bytes: vec![0, 0, 0, 1, 7] },
        register::Body::RevokeUcan { ucan_cid: Hash::sha256(b"link") },
        register::Body::FreezeNode { node: node(), frozen: true },
        register::Body::SetSetting { name: name("lease_timeout_ms"), value: Some("15000".to_owned()) },
        register::Body::SetFeatureLevel { level: 2 },
        register::Body::Seal { upto: hlc(), heads: Vec::new() },
    ];
    words.into_iter().find(|word| word.kind() == kind).expect("every kind has its word")
}

/// A task row with every field set.
pub(crate) fn task() -> Task {
    Task {
        key: 0,
        rev: 5,
        id: task_id(),
        namespace: name("default"),
        name: name("release"),
        status: Status::Running,
        idempotency_key: IdempotencyKey::Given(name("key-1").into()),
        fingerprint: Hash::sha256(b"request"),
        trace_id: 77,
        created_ms: NOW_MS,
        updated_ms: NOW_MS + 9,
        head: hlc(),
        successes: 1,
        failing: Some(Failing { step: 1, status: Status::DeadLetter }),
        cancel: Some(CancelMode::Hard),
        input: None,
        result_hash: Some(Hash::sha256(b"result")),
    }
}

/// A step row with every field set.
pub(crate) fn step() -> Step {
    let worker = WorkerId::new(NOW_MS, 2);
    let (claimed_ms, deadline_ms) = (NOW_MS, NOW_MS + 120_000);
    Step {
        result_pos: 0,
        rev: 4,
        spec: second_step(),
        status: Status::Running,
        ready: true,
        passed: false,
        fan: None,
        attempt: 2,
        epoch: 2,
        due_ms: NOW_MS,
        lease: Some(Lease { owner: node(), worker, token: LeaseToken::new(NOW_MS, 5), claimed_ms, deadline_ms }),
        result: Some(ContentRef::of(Media::Json, b"[]")),
        output_artifacts: vec![Artifact {
            pos: 0,
            epoch: 1,
            kind: name("log"),
            name: name("out"),
            content: ContentRef::of(Media::Text, b"line"),
            about: vec![(name("lines"), "1".to_owned())],
        }],
        success: 1,
        error: Some("exit code 3".to_owned()),
        decided_by: Some(name("alice")),
        history: vec![Attempt {
            epoch: 1,
            worker,
            started_ms: 1,
            ended_ms: 2,
            outcome: Outcome::Timeout,
            error: Some("slow".to_owned()),
        }],
        updated_ms: NOW_MS,
    }
}
