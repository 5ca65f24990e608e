//! Headers and bodies of all kinds, with any content that their types allow.

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
    lock::{self, Case, Key, Mode},
    message::{self, Draft},
    name::Name,
    namespace,
    op::{
        Body, CancelMode, ChainHead, ExpireReason, Header, HeldLock, HeldMessage, Hold, Kind, Scope, SeenItem, Via,
        WriteClass, log,
    },
    plan::{self, ItemKind, NewItem, Status},
    register::{self, Register},
    row::StateHash,
    task::{
        self,
        spec::{Ask, Flow, IdempotencyKey, Item, RetryPolicy, Schedule, StepSpec, Terms, Workspace},
    },
};
use proptest::{collection::vec, option, prelude::*, sample::select};
use std::sync::Arc;

pub(super) fn header() -> impl Strategy<Value = Header> {
    let ids = (any::<[u8; 16]>(), any::<[u8; 16]>(), scope());
    let class = select(vec![WriteClass::Strong, WriteClass::AppendOnly, WriteClass::Queued, WriteClass::Local]);
    let deps = vec(any::<[u8; 16]>().prop_map(OpId::from_bytes), 0..4);
    let chain = (any::<(u32, u64)>(), hlc());
    (ids, chain, (name(), name(), name()), class, deps, option::of(via())).prop_map(
        |(
            (op, origin, scope),
            ((origin_epoch, seq), hlc),
            (author, source, namespace),
            write_class,
            causal_deps,
            via,
        )| {
            Header {
                op_id: OpId::from_bytes(op),
                origin: NodeId::from_bytes(origin),
                origin_epoch,
                seq,
                hlc,
                author,
                source,
                namespace,
                scope,
                write_class,
                causal_deps,
                via: via.map(Arc::new),
            }
        },
    )
}

fn via() -> impl Strategy<Value = Via> {
    let said = || option::of(any::<String>());
    (any::<[String; 3]>(), said(), said(), said(), said()).prop_map(
        |([method, route, remote_addr], user_agent, x_forwarded_for, origin, referer)| {
            Via { method, route, remote_addr, user_agent, x_forwarded_for, origin, referer }.shortened()
        },
    )
}

fn scope() -> impl Strategy<Value = Scope> {
    (any::<[u8; 16]>(), 0..13u8).prop_map(|(id, sort)| match sort {
        0 => Scope::Task(TaskId::from_bytes(id)),
        1 => Scope::Thread(ThreadId::from_bytes(id)),
        2 => Scope::Repository(RepositoryId::from_bytes(id)),
        3 => Scope::Namespace(NamespaceId::from_bytes(id)),
        4 => Scope::Plan(PlanId::from_bytes(id)),
        5 => Scope::Log,
        sort => Scope::Register(Register::numbered(sort - 6).unwrap()),
    })
}

fn node() -> impl Strategy<Value = NodeId> {
    any::<[u8; 16]>().prop_map(NodeId::from_bytes)
}

pub(super) fn body() -> impl Strategy<Value = Body> {
    select(Kind::ALL).prop_flat_map(body_of)
}

#[expect(clippy::wildcard_enum_match_arm, reason = "the other kinds are other machines'")]
fn body_of(kind: Kind) -> BoxedStrategy<Body> {
    let all = [of_task(kind), of_lock(kind), of_message(kind), of_plan(kind), of_register(kind)];
    let other = || match kind {
        Kind::CreateNamespace => {
            any::<String>().prop_map(|about| Body::Namespace(namespace::Body::CreateNamespace { about })).boxed()
        }
        Kind::Checkpoint => (any::<(u64, u128)>(), vec(chain_head(), 0..4))
            .prop_map(|((pos, state), heads)| Body::Log(log::Body::Checkpoint { pos, heads, state: StateHash(state) }))
            .boxed(),
        Kind::AuditEvent => (name(), vec((name(), any::<String>()), 0..3))
            .prop_map(|(event, about)| Body::Log(log::Body::AuditEvent { event, about }))
            .boxed(),
        Kind::PurgeScope => Just(Body::PurgeScope {}).boxed(),
        other => panic!("{other:?} has no strategy"),
    };
    all.into_iter().flatten().next().unwrap_or_else(other)
}

#[expect(clippy::wildcard_enum_match_arm, reason = "the other kinds are other machines'")]
fn of_task(kind: Kind) -> Option<BoxedStrategy<Body>> {
    Some(match kind {
        Kind::ScheduleJob => schedule().prop_map(|schedule| Body::Task(task::Body::ScheduleJob { schedule })).boxed(),
        Kind::ClaimWork => (any::<u16>(), any::<[[u8; 16]; 3]>(), any::<u64>(), hlc())
            .prop_map(|(step, [owner, worker, token], lease_ms, seen)| {
                Body::Task(task::Body::ClaimWork {
                    step,
                    owner: NodeId::from_bytes(owner),
                    worker: WorkerId::from_bytes(worker),
                    token: LeaseToken::from_bytes(token),
                    lease_ms,
                    seen,
                })
            })
            .boxed(),
        Kind::CompleteJob => {
            (held(), content()).prop_map(|(held, result)| Body::Task(task::Body::CompleteJob { held, result })).boxed()
        }
        Kind::FailJob => (held(), any::<(bool, u32, String)>())
            .prop_map(|(held, (retryable, jitter_ms, error))| {
                Body::Task(task::Body::FailJob { held, retryable, jitter_ms, error })
            })
            .boxed(),
        Kind::YieldWork => (held(), any::<String>())
            .prop_map(|(held, reason)| Body::Task(task::Body::YieldWork { held, reason }))
            .boxed(),
        Kind::ExpireWork => any::<(u16, u32, bool, u32)>()
            .prop_map(|(step, epoch, gone, jitter_ms)| {
                let reason = if gone { ExpireReason::OwnerGone } else { ExpireReason::DeadlinePassed };
                Body::Task(task::Body::ExpireWork { step, epoch, reason, jitter_ms })
            })
            .boxed(),
        Kind::TimeoutWork => any::<(u16, u32, u32)>()
            .prop_map(|(step, epoch, jitter_ms)| Body::Task(task::Body::TimeoutWork { step, epoch, jitter_ms }))
            .boxed(),
        Kind::CancelTask => any::<(bool, String)>()
            .prop_map(|(hard, reason)| {
                let mode = if hard { CancelMode::Hard } else { CancelMode::Soft };
                Body::Task(task::Body::CancelTask { mode, reason })
            })
            .boxed(),
        Kind::RedriveTask => any::<String>().prop_map(|reason| Body::Task(task::Body::RedriveTask { reason })).boxed(),
        Kind::ApproveStep => {
            (any::<u16>(), hash()).prop_map(|(step, ask)| Body::Task(task::Body::ApproveStep { step, ask })).boxed()
        }
        Kind::DenyStep => (any::<u16>(), hash(), any::<String>())
            .prop_map(|(step, ask, reason)| Body::Task(task::Body::DenyStep { step, ask, reason }))
            .boxed(),
        Kind::RecordArtifact => (held(), name(), name(), content(), vec((name(), any::<String>()), 0..3))
            .prop_map(|(held, kind, name, content, about)| {
                Body::Task(task::Body::RecordArtifact { held, kind, name, content, about })
            })
            .boxed(),
        Kind::PassWork => held().prop_map(|held| Body::Task(task::Body::PassWork { held })).boxed(),
        Kind::SkipWork => (held(), any::<String>())
            .prop_map(|(held, reason)| Body::Task(task::Body::SkipWork { held, reason }))
            .boxed(),
        Kind::FanOut => {
            (held(), any::<u16>()).prop_map(|(held, count)| Body::Task(task::Body::FanOut { held, count })).boxed()
        }
        _ => return None,
    })
}

#[expect(clippy::wildcard_enum_match_arm, reason = "the other kinds are other machines'")]
fn of_lock(kind: Kind) -> Option<BoxedStrategy<Body>> {
    Some(match kind {
        Kind::AcquireLock => acquire().boxed(),
        Kind::RenewLock => (held_lock(), any::<u64>())
            .prop_map(|(held, ttl_ms)| Body::Lock(lock::Body::RenewLock { held, ttl_ms }))
            .boxed(),
        Kind::ReleaseLock => held_lock().prop_map(|held| Body::Lock(lock::Body::ReleaseLock { held })).boxed(),
        Kind::ExpireLock => held_lock().prop_map(|held| Body::Lock(lock::Body::ExpireLock { held })).boxed(),
        _ => return None,
    })
}

#[expect(clippy::wildcard_enum_match_arm, reason = "the other kinds are other machines'")]
fn of_message(kind: Kind) -> Option<BoxedStrategy<Body>> {
    Some(match kind {
        Kind::SendMessage => draft().prop_map(|draft| Body::Message(message::Body::SendMessage { draft })).boxed(),
        Kind::DeliverMessage => (message(), name(), any::<[[u8; 16]; 3]>(), any::<u64>(), hlc())
            .prop_map(|(message, recipient, [owner, worker, token], lease_ms, seen)| {
                Body::Message(message::Body::DeliverMessage {
                    message,
                    recipient,
                    owner: NodeId::from_bytes(owner),
                    worker: WorkerId::from_bytes(worker),
                    token: LeaseToken::from_bytes(token),
                    lease_ms,
                    seen,
                })
            })
            .boxed(),
        Kind::AcknowledgeMessage => {
            held_message().prop_map(|held| Body::Message(message::Body::AcknowledgeMessage { held })).boxed()
        }
        Kind::ReplyMessage => (held_message(), message(), content())
            .prop_map(|(held, answer, content)| Body::Message(message::Body::ReplyMessage { held, answer, content }))
            .boxed(),
        Kind::FailMessage => (held_message(), any::<(bool, u32, String)>())
            .prop_map(|(held, (retryable, jitter_ms, error))| {
                Body::Message(message::Body::FailMessage { held, retryable, jitter_ms, error })
            })
            .boxed(),
        Kind::ReturnMessage => (held_message(), any::<String>())
            .prop_map(|(held, reason)| Body::Message(message::Body::ReturnMessage { held, reason }))
            .boxed(),
        Kind::ExpireDelivery => (message(), any::<(u32, bool, u32)>())
            .prop_map(|(message, (epoch, gone, jitter_ms))| {
                let reason = if gone { ExpireReason::OwnerGone } else { ExpireReason::DeadlinePassed };
                Body::Message(message::Body::ExpireDelivery { message, epoch, reason, jitter_ms })
            })
            .boxed(),
        Kind::ExpireMessage => {
            message().prop_map(|message| Body::Message(message::Body::ExpireMessage { message })).boxed()
        }
        Kind::RedriveMessage => (message(), any::<String>())
            .prop_map(|(message, reason)| Body::Message(message::Body::RedriveMessage { message, reason }))
            .boxed(),
        _ => return None,
    })
}

#[expect(clippy::wildcard_enum_match_arm, reason = "the other kinds are other machines'")]
fn of_plan(kind: Kind) -> Option<BoxedStrategy<Body>> {
    Some(match kind {
        Kind::AddItem => new_item().prop_map(|item| Body::Plan(plan::Body::AddItem { item })).boxed(),
        Kind::ChangeItem => (seen_item(), any::<(String, String)>(), option::of(task()))
            .prop_map(|(seen, (title, notes), task)| Body::Plan(plan::Body::ChangeItem { seen, title, notes, task }))
            .boxed(),
        Kind::MoveItem => (seen_item(), item(), any::<u64>())
            .prop_map(|(seen, parent, place)| Body::Plan(plan::Body::MoveItem { seen, parent, place }))
            .boxed(),
        Kind::SetItemStatus => (seen_item(), select(&Status::ALL[..]), any::<String>())
            .prop_map(|(seen, status, reason)| Body::Plan(plan::Body::SetItemStatus { seen, status, reason }))
            .boxed(),
        Kind::RemoveItem => seen_item().prop_map(|seen| Body::Plan(plan::Body::RemoveItem { seen })).boxed(),
        _ => return None,
    })
}

#[expect(clippy::wildcard_enum_match_arm, reason = "the other kinds are other machines'")]
fn of_register(kind: Kind) -> Option<BoxedStrategy<Body>> {
    Some(match kind {
        Kind::RouteKind => (select(vec!["com.example.ocr", "com.example.*"]), option::of(node()))
            .prop_map(|(text, target)| {
                Body::Register(register::Body::RouteKind { pattern: text.parse().unwrap(), target })
            })
            .boxed(),
        Kind::DesignateCoordinator => {
            node().prop_map(|coordinator| Body::Register(register::Body::DesignateCoordinator { coordinator })).boxed()
        }
        Kind::DelegateUcan => vec(any::<u8>(), 0..64)
            .prop_map(|ucan_bytes| Body::Register(register::Body::DelegateUcan { ucan_bytes }))
            .boxed(),
        Kind::RevokeUcan => hash().prop_map(|ucan_cid| Body::Register(register::Body::RevokeUcan { ucan_cid })).boxed(),
        Kind::FreezeNode => (node(), any::<bool>())
            .prop_map(|(node, frozen)| Body::Register(register::Body::FreezeNode { node, frozen }))
            .boxed(),
        Kind::SetSetting => (name(), option::of(any::<String>()))
            .prop_map(|(name, value)| Body::Register(register::Body::SetSetting { name, value }))
            .boxed(),
        Kind::SetFeatureLevel => {
            any::<u32>().prop_map(|level| Body::Register(register::Body::SetFeatureLevel { level })).boxed()
        }
        Kind::Seal => (hlc(), vec(chain_head(), 0..4))
            .prop_map(|(upto, heads)| Body::Register(register::Body::Seal { upto, heads }))
            .boxed(),
        _ => return None,
    })
}

fn new_item() -> impl Strategy<Value = NewItem> {
    let place = (select(&ItemKind::ALL[..]), option::of(item()), any::<u64>());
    (item(), place, any::<(String, String)>(), option::of(task())).prop_map(
        |(id, (kind, parent, place), (title, notes), task)| NewItem { id, kind, parent, place, title, notes, task },
    )
}

fn seen_item() -> impl Strategy<Value = SeenItem> {
    (item(), any::<(u32, [u8; 16])>()).prop_map(|(item, (rev, by))| SeenItem { item, rev, by: OpId::from_bytes(by) })
}

fn item() -> impl Strategy<Value = ItemId> {
    any::<[u8; 16]>().prop_map(ItemId::from_bytes)
}

fn task() -> impl Strategy<Value = TaskId> {
    any::<[u8; 16]>().prop_map(TaskId::from_bytes)
}

fn chain_head() -> impl Strategy<Value = ChainHead> {
    (any::<([u8; 16], u32, u64)>(), hash()).prop_map(|((origin, origin_epoch, seq), hash)| ChainHead {
        origin: NodeId::from_bytes(origin),
        origin_epoch,
        seq,
        hash,
    })
}

fn draft() -> impl Strategy<Value = Draft> {
    let asks = any::<([[u8; 16]; 2], u16, u32)>().prop_map(|([task, token], index, epoch)| Hold {
        step: StepId { task: TaskId::from_bytes(task), index },
        epoch,
        token: LeaseToken::from_bytes(token),
    });
    let about = (option::of(message()), option::of(asks), content());
    let numbers = any::<(u128, Option<u64>, u32, u64, u64)>();
    (message(), (name(), name()), select(&Priority::ALL[..]), about, numbers).prop_map(
        |(id, (from, to), priority, (reply_to, asks, content), numbers)| {
            let (trace_id, ttl_ms, max_deliveries, base_ms, max_ms) = numbers;
            let backoff = Backoff { base_ms, max_ms };
            Draft { id, from, to, priority, reply_to, asks, content, trace_id, ttl_ms, max_deliveries, backoff }
        },
    )
}

fn message() -> impl Strategy<Value = MessageId> {
    any::<[u8; 16]>().prop_map(MessageId::from_bytes)
}

fn held_message() -> impl Strategy<Value = HeldMessage> {
    (message(), any::<(u32, [u8; 16])>()).prop_map(|(message, (epoch, token))| HeldMessage {
        message,
        epoch,
        token: LeaseToken::from_bytes(token),
    })
}

fn acquire() -> impl Strategy<Value = Body> {
    let key = "[a-zÄ*?]{1,6}(/[a-z?]{1,4}){0,3}(/\\*\\*)?".prop_filter_map("two stars", |key| key.parse::<Key>().ok());
    let how = (select(vec![Mode::Shared, Mode::Exclusive]), select(vec![Case::Sensitive, Case::Folded]));
    let who = (name(), any::<[[u8; 16]; 2]>());
    ("[a-z/.é]{0,40}", key, how, who, any::<(u64, String)>(), hlc()).prop_map(
        |(repository, key, (mode, case), (holder, [owner, token]), (ttl_ms, purpose), seen)| {
            Body::Lock(lock::Body::AcquireLock {
                repository: repository.parse().unwrap(),
                key,
                mode,
                case,
                holder,
                owner: NodeId::from_bytes(owner),
                token: LeaseToken::from_bytes(token),
                ttl_ms,
                purpose,
                seen,
            })
        },
    )
}

fn held_lock() -> impl Strategy<Value = HeldLock> {
    any::<([u8; 16], u64)>().prop_map(|(token, fence)| HeldLock { token: LeaseToken::from_bytes(token), fence })
}

fn schedule() -> impl Strategy<Value = Schedule> {
    let key = prop_oneof![
        hash().prop_map(IdempotencyKey::Request),
        any::<[u8; 16]>().prop_map(|bytes| IdempotencyKey::RequestId(RequestId::from_bytes(bytes))),
        name().prop_map(|name| IdempotencyKey::Given(name.into())),
    ];
    (name(), key, hash(), any::<u128>(), option::of(content()), vec(step(), 0..4)).prop_map(
        |(name, key, fingerprint, trace_id, input, steps)| Schedule { name, key, fingerprint, trace_id, input, steps },
    )
}

fn step() -> impl Strategy<Value = StepSpec> {
    let graph = (vec(any::<u16>(), 0..4), any::<Option<u16>>(), option::of(content()));
    let ask = option::of(any::<(String, Option<u64>)>().prop_map(|(text, deadline_ms)| Ask { text, deadline_ms }));
    let item = |(of, index)| Item { of, index };
    let flow = any::<(Option<String>, Option<String>, bool, Option<(u16, u16)>)>()
        .prop_map(move |(when, foreach, templated, of)| Flow { when, foreach, templated, item: of.map(item) });
    let workspace = any::<(String, Option<String>, Option<String>)>().prop_map(|(git, reference, branch)| Workspace {
        git,
        reference,
        branch,
    });
    let terms = (any::<Option<String>>(), option::of(workspace))
        .prop_map(|(result_schema, workspace)| Terms { result_schema, workspace });
    let parts = (option::of(flow.prop_map(Box::new)), option::of(terms.prop_map(Box::new)));
    let limits = (any::<(u32, u64, u64)>(), any::<Option<u64>>(), ask, parts);
    (name(), name(), select(&Priority::ALL[..]), graph, limits).prop_map(
        |(name, agent, priority, (depends_on, compensates, input), (retry, timeout_ms, approve, (flow, terms)))| {
            StepSpec {
                name,
                agent,
                priority,
                depends_on,
                compensates,
                input,
                retry: RetryPolicy { max_attempts: retry.0, backoff: Backoff { base_ms: retry.1, max_ms: retry.2 } },
                timeout_ms,
                approve,
                flow,
                terms,
            }
        },
    )
}

fn held() -> impl Strategy<Value = Hold<u16>> {
    any::<(u16, u32, [u8; 16])>().prop_map(|(step, epoch, token)| Hold {
        step,
        epoch,
        token: LeaseToken::from_bytes(token),
    })
}

fn content() -> impl Strategy<Value = ContentRef> {
    (hash(), any::<u32>(), select(vec![Media::Json, Media::Text])).prop_map(|(hash, len, media)| ContentRef {
        hash,
        len,
        media,
    })
}

fn hlc() -> impl Strategy<Value = Hlc> {
    any::<(u64, u32, [u8; 16])>().prop_map(|(wall_ms, logical, node)| Hlc {
        wall_ms,
        logical,
        node: NodeId::from_bytes(node),
    })
}

fn hash() -> impl Strategy<Value = Hash> {
    any::<[u8; 32]>().prop_map(Hash)
}

fn name() -> impl Strategy<Value = Name> {
    "[a-zA-Z0-9_][a-zA-Z0-9._-]{0,63}".prop_map(|text| text.parse().unwrap())
}
