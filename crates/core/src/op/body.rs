//! What an op says happened, one variant per verb.

use super::{
    BODY_BYTES_MAX, DecodeError, append, earlier,
    patterns::{lock_bodies, log_bodies, message_bodies, namespace_bodies, plan_bodies, register_bodies, task_bodies},
};
use crate::{
    content::ContentRef,
    hash::Hash,
    hlc::Hlc,
    id::{ItemId, LeaseToken, MessageId, NodeId, OpId, TaskId, WorkerId},
    kind::Pattern,
    lock::{Case, Key, Mode, RepositoryName},
    message::Draft,
    name::Name,
    op::{ChainHead, Scope},
    plan::{NewItem, Status as ItemStatus},
    register::Register,
    row::StateHash,
    task::spec::Schedule,
};
use serde::{Deserialize, Serialize};

/// Proof that the author holds the step: checked against the lease in the write itself (D7).
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
pub struct Held {
    /// The step's place in its task.
    pub step: u16,
    /// The epoch that the claim got. Only grows.
    pub epoch: u32,
    /// The token that the claim made.
    pub token: LeaseToken,
}

/// Proof that the author holds the lock.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
pub struct HeldLock {
    /// The token that the acquire made.
    pub token: LeaseToken,
    /// The fence that it got. Only grows.
    pub fence: u64,
}

/// Proof that the author has the message.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
pub struct HeldMessage {
    /// The message.
    pub message: MessageId,
    /// The epoch that the delivery got. Only grows.
    pub epoch: u32,
    /// The token that the delivery made.
    pub token: LeaseToken,
}

/// What the author of a write about an item of a plan had seen of it: checked in the write itself (D23).
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
pub struct SeenItem {
    /// The item.
    pub item: ItemId,
    /// The number of its revision.
    pub rev: u32,
    /// The op that made that revision.
    pub by: OpId,
}

/// How a task is cancelled.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum CancelMode {
    /// Running steps are stopped.
    Hard,
    /// Running steps may finish; nothing new starts.
    Soft,
}

/// Why a lease ended without its holder's word.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum ExpireReason {
    /// The deadline passed without a renewal. Any node may say so.
    DeadlinePassed,
    /// The node that held it restarted and the process is gone. Only that node may say so (D6).
    OwnerGone,
}

macro_rules! bodies {
    ($($(#[$doc:meta])* $name:ident = $number:literal { $($(#[$fdoc:meta])* $field:ident: $type:ty,)* })*) => {
        /// The number of each kind on the wire. Numbers are never used again for something else.
        #[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Serialize, Deserialize)]
        #[repr(u16)]
        pub enum Kind { $($(#[$doc])* $name = $number,)* }

        impl Kind {
            /// Every kind there is.
            pub const ALL: &[Kind] = &[$(Kind::$name),*];
        }

        /// What happened.
        #[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
        #[serde(tag = "kind", content = "body")]
        pub enum Body { $($(#[$doc])* $name { $($(#[$fdoc])* $field: $type,)* },)* }

        impl Body {
            /// Which kind it is.
            pub fn kind(&self) -> Kind {
                match self { $(Body::$name { .. } => Kind::$name,)* }
            }

            pub(super) fn encode(&self, out: &mut Vec<u8>) {
                match self { $(Body::$name { $($field,)* } => { $(append($field, out);)* })* }
            }

            fn decode_kind(kind: u16, rest: &[u8]) -> Result<Option<(Self, &[u8])>, postcard::Error> {
                match kind {
                    $($number => {
                        $(let ($field, rest) = postcard::take_from_bytes::<$type>(rest)?;)*
                        Ok(Some((Body::$name { $($field,)* }, rest)))
                    })*
                    _ => Ok(None),
                }
            }
        }
    };
}

bodies! {
    /// A task was submitted; all its steps are scheduled.
    ScheduleJob = 1 {
        /// The graph and what it needs.
        schedule: Schedule,
    }
    /// A worker took a step, or renewed its lease on it.
    ClaimWork = 2 {
        /// The step's place in its task.
        step: u16,
        /// The node that answers for the worker.
        owner: NodeId,
        /// Who works on it.
        worker: WorkerId,
        /// What the worker will show to prove it.
        token: LeaseToken,
        /// How long the lease lasts from the op's HLC.
        lease_ms: u64,
        /// The newest op of the task that the claimer had seen (D19).
        seen: Hlc,
    }
    /// The step is done and this is its result.
    CompleteJob = 3 {
        /// Who says so.
        held: Held,
        /// The result.
        result: ContentRef,
    }
    /// The attempt failed.
    FailJob = 4 {
        /// Who says so.
        held: Held,
        /// Whether another attempt may help.
        retryable: bool,
        /// Random part of the backoff, drawn by the author.
        jitter_ms: u32,
        /// What went wrong, for people.
        error: String,
    }
    /// The worker gave the step back unfinished; the attempt does not count.
    YieldWork = 5 {
        /// Who says so.
        held: Held,
        /// Why, for people.
        reason: String,
    }
    /// A lease ended without its holder's word.
    ExpireWork = 6 {
        /// The step's place in its task.
        step: u16,
        /// The epoch of the lease that ended.
        epoch: u32,
        /// Why.
        reason: ExpireReason,
        /// Random part of the backoff, drawn by the author.
        jitter_ms: u32,
    }
    /// The attempt ran longer than the step allows. Said by the node that owns the lease.
    TimeoutWork = 7 {
        /// The step's place in its task.
        step: u16,
        /// The epoch of the attempt.
        epoch: u32,
        /// Random part of the backoff, drawn by the author.
        jitter_ms: u32,
    }
    /// A person or program stopped the task.
    CancelTask = 8 {
        /// How.
        mode: CancelMode,
        /// Why, for people.
        reason: String,
    }
    /// A task that ended badly is to be tried again.
    RedriveTask = 9 {
        /// Why, for people.
        reason: String,
    }
    /// A person agreed to what a step asked.
    ApproveStep = 10 {
        /// The step's place in its task.
        step: u16,
        /// Hash of exactly what was asked.
        ask: Hash,
    }
    /// A person refused what a step asked, or nobody answered in time.
    DenyStep = 11 {
        /// The step's place in its task.
        step: u16,
        /// Hash of exactly what was asked.
        ask: Hash,
        /// Why, for people.
        reason: String,
    }
    /// Somebody took a lock, renewed it, or holds it in another mode from now on.
    AcquireLock = 12 {
        /// What people call the repository; the op's scope is derived from it.
        repository: RepositoryName,
        /// What is locked: one key, or every path that a glob matches.
        key: Key,
        /// Alone, or with others of the same mind.
        mode: Mode,
        /// Whether `README` and `readme` are one.
        case: Case,
        /// Who holds it.
        holder: Name,
        /// The node that answers for the holder.
        owner: NodeId,
        /// What the holder will show to prove it.
        token: LeaseToken,
        /// How long it lasts from the op's HLC.
        ttl_ms: u64,
        /// What for, for people.
        purpose: String,
        /// The newest op of the repository that the author had seen (D19).
        seen: Hlc,
    }
    /// The holder keeps its lock longer.
    RenewLock = 13 {
        /// Who says so.
        held: HeldLock,
        /// How long it lasts from the op's HLC.
        ttl_ms: u64,
    }
    /// The holder gave its lock back.
    ReleaseLock = 14 {
        /// Who says so.
        held: HeldLock,
    }
    /// A lock's time ran out. Any node may say so.
    ExpireLock = 15 {
        /// The lock.
        held: HeldLock,
    }
    /// Somebody said something to somebody.
    SendMessage = 16 {
        /// What, from whom, to whom.
        draft: Draft,
    }
    /// The recipient took a message, or renewed its lease on it.
    DeliverMessage = 17 {
        /// The message.
        message: MessageId,
        /// Who takes it: the one whom it is for.
        recipient: Name,
        /// The node that answers for the worker.
        owner: NodeId,
        /// Who works on it.
        worker: WorkerId,
        /// What the worker will show to prove it.
        token: LeaseToken,
        /// How long the lease lasts from the op's HLC.
        lease_ms: u64,
        /// The newest op of the thread that the author had seen (D19).
        seen: Hlc,
    }
    /// The recipient has dealt with the message.
    AcknowledgeMessage = 18 {
        /// Who says so.
        held: HeldMessage,
    }
    /// The recipient answered the message, and has dealt with it so.
    ReplyMessage = 19 {
        /// Who says so.
        held: HeldMessage,
        /// The answer's own name.
        answer: MessageId,
        /// What it says.
        content: ContentRef,
    }
    /// The recipient could not deal with the message.
    FailMessage = 20 {
        /// Who says so.
        held: HeldMessage,
        /// Whether another delivery may help.
        retryable: bool,
        /// Random part of the backoff, drawn by the author.
        jitter_ms: u32,
        /// What went wrong, for people.
        error: String,
    }
    /// The recipient gave the message back undone; the delivery does not count.
    ReturnMessage = 21 {
        /// Who says so.
        held: HeldMessage,
        /// Why, for people.
        reason: String,
    }
    /// A delivery's lease ended without its holder's word.
    ExpireDelivery = 22 {
        /// The message.
        message: MessageId,
        /// The epoch of the delivery.
        epoch: u32,
        /// Why.
        reason: ExpireReason,
        /// Random part of the backoff, drawn by the author.
        jitter_ms: u32,
    }
    /// A message became too old. Any node may say so.
    ExpireMessage = 23 {
        /// The message.
        message: MessageId,
    }
    /// A message that came to nothing is to be delivered again.
    RedriveMessage = 24 {
        /// The message.
        message: MessageId,
        /// Why, for people.
        reason: String,
    }
    /// The holder of a step left something behind besides its result.
    RecordArtifact = 25 {
        /// Who says so.
        held: Held,
        /// What sort of thing: `inference`, `file`, `log`, …
        kind: Name,
        /// What it is called.
        name: Name,
        /// The thing itself.
        content: ContentRef,
        /// A few words about it, in the order of their names.
        about: Vec<(Name, String)>,
    }
    /// What the op is about is over and is to be forgotten. Its rows go, and nothing can be said about it any more (D33).
    PurgeScope = 26 {
    }
    /// What the log had come to: about the log itself.
    Checkpoint = 27 {
        /// How many ops the author had.
        pos: u64,
        /// Where every chain stood, by origin and epoch.
        heads: Vec<ChainHead>,
        /// The hash of all rows.
        state: StateHash,
    }
    /// The holder found that the step's condition holds.
    PassWork = 28 {
        /// Who says so.
        held: Held,
    }
    /// The holder found that the step's condition does not hold.
    SkipWork = 29 {
        /// Who says so.
        held: Held,
        /// What it found, for people.
        reason: String,
    }
    /// The holder found out for how many items the step runs; each gets a step of its own.
    FanOut = 30 {
        /// Who says so.
        held: Held,
        /// How many.
        count: u16,
    }
    /// Somebody made a namespace: the one in the op's header.
    CreateNamespace = 31 {
        /// What it is for, for people.
        about: String,
    }
    /// Something was done, or seen, that changes no row and that somebody may ask about: about the log itself.
    AuditEvent = 32 {
        /// What: `settings.update`, `token.create`, `web.write.get_compat`, …
        event: Name,
        /// A few words about it, in the order of their names; never a value that may be secret.
        about: Vec<(Name, String)>,
    }
    /// From now on work of these kinds goes to one node, or to anybody again. Said by the owner (L5).
    RouteKind = 33 {
        /// Which kinds.
        pattern: Pattern,
        /// The node that alone may claim them; none: whoever may.
        target: Option<NodeId>,
    }
    /// From now on this node says what follows from the log. Said by the owner (L6).
    DesignateCoordinator = 34 {
        /// Which node.
        coordinator: NodeId,
    }
    /// Somebody is given a right. Said by whoever gives it: it counts from here on (L1).
    DelegateUcan = 35 {
        /// The whole chain, from the owner's key down.
        ucan_bytes: Vec<u8>,
    }
    /// A right is taken back, with all that came of it. Said by whoever gave it, or what it came from.
    RevokeUcan = 36 {
        /// The name of the link.
        ucan_cid: Hash,
    }
    /// From now on nothing that a node says counts, or what it says counts again. Said by the owner.
    FreezeNode = 37 {
        /// Which node.
        node: NodeId,
        /// Whether it is frozen from now on.
        frozen: bool,
    }
    /// A setting of the whole mesh. Said by the owner.
    SetSetting = 38 {
        /// Which one.
        name: Name,
        /// What it is from now on; none: its default.
        value: Option<String>,
    }
    /// From now on ops mean what programs of this level take them to mean. Said by the owner.
    SetFeatureLevel = 39 {
        /// The level.
        level: u32,
    }
    /// What is dated up to here is agreed on: `relaymesh.derive.seal`. Said by the coordinator (L14, D29).
    Seal = 40 {
        /// Nothing that is dated up to this time and lies behind the heads counts any more.
        upto: Hlc,
        /// Where each chain stood then: its newest op that is dated up to that time.
        heads: Vec<ChainHead>,
    }
    /// Something more is planned. A mission begins a plan.
    AddItem = 48 {
        /// What, and where in the plan.
        item: NewItem,
    }
    /// Other words about an item of a plan, or another task that does it.
    ChangeItem = 49 {
        /// What the author had seen of it.
        seen: SeenItem,
        /// What people call it from now on.
        title: String,
        /// What else there is to say about it from now on.
        notes: String,
        /// Of an item of the lowest level: the task that does it.
        task: Option<TaskId>,
    }
    /// An item of a plan goes to another place, with everything below it.
    MoveItem = 50 {
        /// What the author had seen of it.
        seen: SeenItem,
        /// What it lies in from now on.
        parent: ItemId,
        /// Where among its siblings.
        place: u64,
    }
    /// An item of a plan is begun, blocked, done, dropped, or planned once more.
    SetItemStatus = 51 {
        /// What the author had seen of it.
        seen: SeenItem,
        /// Where it rests from now on.
        status: ItemStatus,
        /// Why, for people.
        reason: String,
    }
    /// An item of a plan was never meant.
    RemoveItem = 52 {
        /// What the author had seen of it.
        seen: SeenItem,
    }
}

impl Body {
    /// Whether this can be said about a scope of that sort.
    pub fn fits(&self, scope: Scope) -> bool {
        match self {
            task_bodies!() => matches!(scope, Scope::Task(_)),
            lock_bodies!() => matches!(scope, Scope::Repository(_)),
            message_bodies!() => matches!(scope, Scope::Thread(_)),
            log_bodies!() => scope == Scope::Log,
            namespace_bodies!() => matches!(scope, Scope::Namespace(_)),
            plan_bodies!() => matches!(scope, Scope::Plan(_)),
            register_bodies!() => Register::of(self).is_some_and(|register| scope == Scope::Register(register)),
            Self::PurgeScope {} => scope != Scope::Log,
        }
    }

    /// The version of the body's form. A new form of a kind gets the next number here.
    pub fn version(&self) -> u8 {
        if matches!(self, Self::ScheduleJob { .. }) { 3 } else { 1 }
    }

    pub(super) fn decode(kind: u16, version: u8, bytes: &[u8]) -> Result<Self, DecodeError> {
        let damaged = |detail: String| DecodeError::Damaged { part: "body", detail };
        if bytes.len() > BODY_BYTES_MAX {
            return Err(damaged(format!("{} bytes, more than {BODY_BYTES_MAX}", bytes.len())));
        }
        let decoded = match (kind, version) {
            (earlier::SCHEDULE_JOB, 1) => earlier::first_schedule(bytes).map(Some),
            (earlier::SCHEDULE_JOB, 2) => earlier::second_schedule(bytes).map(Some),
            (earlier::SCHEDULE_JOB, 3) | (_, 1) => Self::decode_kind(kind, bytes),
            _ => Ok(None),
        };
        match decoded.map_err(|error| damaged(error.to_string()))? {
            None => Err(DecodeError::Kind { kind, version }),
            Some((body, [])) => Ok(body),
            Some((_, rest)) => Err(damaged(format!("{} bytes too many", rest.len()))),
        }
    }
}
