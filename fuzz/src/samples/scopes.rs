//! Samples of what is not a task: threads with messages, repositories with locks, namespaces, and plans with items.

use super::{NOW_MS, hlc, name, node, task_id};
use relaymesh_core::{
    backoff::Backoff,
    content::{ContentRef, Media},
    id::{ItemId, LeaseToken, MessageId, NamespaceId, OpId, PlanId, RepositoryId, StepId, ThreadId, WorkerId},
    lanes::Priority,
    lock::{self, Case, Lock, Mode, Repository},
    message::{self, DeadReason, Draft, Message, State, Thread},
    namespace::Namespace,
    op::{Body, ExpireReason, HeldLock, HeldMessage, Hold, Kind, Scope, SeenItem},
    plan::{self, Item, ItemKind, NewItem, Plan, Status},
    task::Lease,
};
use relaymesh_mesh::register::Register;

/// Every scope in turn.
pub(crate) fn scope(turn: u64) -> Scope {
    match turn % 7 {
        0 => Scope::Log,
        1 => Scope::Task(task_id()),
        2 => Scope::Thread(thread_id()),
        3 => Scope::Repository(repository_id()),
        4 => Scope::Namespace(namespace_id()),
        5 => Scope::Plan(plan_id()),
        _ => Scope::Register(Register::Level),
    }
}

pub(crate) fn thread_id() -> ThreadId {
    ThreadId::new(NOW_MS, 8)
}

pub(crate) fn message_id() -> MessageId {
    MessageId::new(NOW_MS, 1)
}

pub(crate) fn repository_id() -> RepositoryId {
    RepositoryId::of(&name("default"), "acme/app")
}

pub(crate) fn namespace_id() -> NamespaceId {
    NamespaceId::of(&name("team-a"))
}

pub(crate) fn plan_id() -> PlanId {
    PlanId::new(NOW_MS, 7)
}

pub(crate) fn item_id() -> ItemId {
    ItemId::new(NOW_MS, 1)
}

pub(crate) fn token() -> LeaseToken {
    LeaseToken::new(NOW_MS, 5)
}

/// The body of an op about a lock, a message or an item of a plan.
pub(crate) fn body(kind: Kind) -> Body {
    let all = [of_lock(kind).map(Body::from), of_message(kind).map(Body::from), of_plan(kind).map(Body::from)];
    all.into_iter().flatten().next().unwrap_or_else(|| panic!("{kind:?} is about none of them"))
}

#[expect(clippy::wildcard_enum_match_arm, reason = "the other kinds are other machines'")]
fn of_lock(kind: Kind) -> Option<lock::Body> {
    let held = HeldLock { token: token(), fence: 1_000 };
    let text = |text: &str| text.to_owned();
    Some(match kind {
        Kind::AcquireLock => lock::Body::AcquireLock {
            repository: "acme/app".parse().expect("a sample is a repository"),
            key: "src/**/*.rs".parse().expect("a sample is a key"),
            mode: Mode::Exclusive,
            case: Case::Folded,
            holder: name("builder"),
            owner: node(),
            token: token(),
            ttl_ms: 30_000,
            purpose: text("rename a module"),
            seen: hlc(),
        },
        Kind::RenewLock => lock::Body::RenewLock { held, ttl_ms: 300_000 },
        Kind::ReleaseLock => lock::Body::ReleaseLock { held },
        Kind::ExpireLock => lock::Body::ExpireLock { held },
        _ => return None,
    })
}

#[expect(clippy::wildcard_enum_match_arm, reason = "the other kinds are other machines'")]
fn of_message(kind: Kind) -> Option<message::Body> {
    let message = message_id();
    let held = HeldMessage { message, epoch: 3, token: token() };
    let text = |text: &str| text.to_owned();
    Some(match kind {
        Kind::SendMessage => message::Body::SendMessage { draft: draft() },
        Kind::DeliverMessage => message::Body::DeliverMessage {
            message,
            recipient: name("reviewer"),
            owner: node(),
            worker: WorkerId::new(NOW_MS, 2),
            token: token(),
            lease_ms: 120_000,
            seen: hlc(),
        },
        Kind::AcknowledgeMessage => message::Body::AcknowledgeMessage { held },
        Kind::ReplyMessage => {
            message::Body::ReplyMessage { held, answer: message, content: ContentRef::of(Media::Text, b"looks good") }
        }
        Kind::FailMessage => {
            message::Body::FailMessage { held, retryable: true, jitter_ms: 250, error: text("no such file") }
        }
        Kind::ReturnMessage => message::Body::ReturnMessage { held, reason: text("shutting down") },
        Kind::ExpireDelivery => {
            message::Body::ExpireDelivery { message, epoch: 3, reason: ExpireReason::DeadlinePassed, jitter_ms: 17 }
        }
        Kind::ExpireMessage => message::Body::ExpireMessage { message },
        Kind::RedriveMessage => message::Body::RedriveMessage { message, reason: text("reviewer is back") },
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

fn new_item() -> NewItem {
    NewItem {
        id: item_id(),
        kind: ItemKind::Task,
        parent: Some(ItemId::new(NOW_MS, 2)),
        place: 1 << 32,
        title: "Sign the release".to_owned(),
        notes: "With the key of the team.".to_owned(),
        task: Some(task_id()),
    }
}

fn seen_item() -> SeenItem {
    SeenItem { item: item_id(), rev: 300, by: OpId::new(NOW_MS, 4) }
}

fn draft() -> Draft {
    Draft {
        id: message_id(),
        from: name("builder"),
        to: name("reviewer"),
        priority: Priority::High,
        reply_to: Some(MessageId::new(NOW_MS, 0)),
        asks: Some(Hold { step: StepId { task: task_id(), index: 1 }, epoch: 2, token: token() }),
        content: ContentRef::of(Media::Text, b"please review"),
        trace_id: 77,
        ttl_ms: Some(300_000),
        max_deliveries: 5,
        backoff: Backoff::default(),
    }
}

/// A thread's row.
pub(crate) fn thread() -> Thread {
    let (created_ms, updated_ms) = (NOW_MS, NOW_MS + 1);
    Thread { rev: 2, id: thread_id(), namespace: name("default"), created_ms, updated_ms, head: hlc() }
}

/// A message's row with every field set.
pub(crate) fn message() -> Message {
    let (claimed_ms, deadline_ms) = (NOW_MS, NOW_MS + 120_000);
    Message {
        content_pos: 0,
        rev: 3,
        draft: draft(),
        state: State::Processing,
        due_ms: 1,
        expires_ms: NOW_MS,
        deliveries: 2,
        epoch: 2,
        lease: Some(Lease { owner: node(), worker: WorkerId::new(1, 2), token: token(), claimed_ms, deadline_ms }),
        answered_by: Some(message_id()),
        dead: Some(DeadReason::Expired),
        error: Some("no such file".to_owned()),
        sent_ms: NOW_MS,
        updated_ms: NOW_MS,
    }
}

/// A repository's row.
pub(crate) fn repository() -> Repository {
    Repository {
        rev: 2,
        id: repository_id(),
        namespace: name("default"),
        name: "acme/app".parse().expect("a sample is a repository"),
        fence: 1_000,
        head: hlc(),
        updated_ms: NOW_MS,
    }
}

/// A namespace's row.
pub(crate) fn namespace() -> Namespace {
    Namespace {
        rev: 1,
        id: namespace_id(),
        name: name("team-a"),
        author: name("ann"),
        about: "the first team".to_owned(),
        created_ms: NOW_MS,
        head: hlc(),
    }
}

/// A plan's row.
pub(crate) fn plan() -> Plan {
    Plan {
        rev: 3,
        id: plan_id(),
        namespace: name("default"),
        mission: ItemId::new(NOW_MS, 2),
        author: name("ann"),
        created_ms: NOW_MS,
        updated_ms: NOW_MS + 1,
        head: hlc(),
    }
}

/// The row of a plan's item, with every field set.
pub(crate) fn item() -> Item {
    let NewItem { id, kind, parent, place, title, notes, task } = new_item();
    Item {
        rev: 2,
        by: OpId::new(NOW_MS, 4),
        id,
        kind,
        parent,
        place,
        title,
        notes,
        status: Status::Blocked,
        task,
        author: name("ann"),
        created_ms: NOW_MS,
        updated_ms: NOW_MS + 1,
    }
}

/// A lock's row.
pub(crate) fn lock() -> Lock {
    Lock {
        rev: 1,
        key: "src/**/*.rs".parse().expect("a sample is a key"),
        mode: Mode::Shared,
        case: Case::Sensitive,
        holder: name("builder"),
        owner: node(),
        token: token(),
        fence: 1_000,
        acquired_ms: NOW_MS,
        deadline_ms: NOW_MS + 30_000,
        purpose: "rename a module".to_owned(),
    }
}
