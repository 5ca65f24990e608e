//! What callers ask of the driver, and what they get.

use super::{caller::Caller, error::Error};
use crate::world::{Hold, Outcome};
use relaymesh_core::{
    content::{INLINE_BYTES_MAX, Media},
    hash::Hash,
    id::{LeaseToken, MessageId, StepId, TaskId, ThreadId, WorkerId},
    lanes::Priority,
    lock::{Case, Key, Mode, RepositoryName},
    message::{Draft, State},
    name::Name,
    op::{CancelMode, HeldLock, HeldMessage, Scope, WriteClass},
    task::{Status, request::Prepared, spec::Schedule},
};
use relaymesh_store::{Blobs, Content, ContentKey};
use serde::{Deserialize, Serialize};

/// One command with who asks and where the answer goes.
pub struct Request {
    /// Who asks.
    pub caller: Caller,
    /// What for.
    pub command: Command,
    /// Where the answer goes, once it is durable.
    pub reply: Reply,
}

/// Takes the answer. It runs on the driver's thread: hand the answer on, do nothing else.
pub type Reply = Box<dyn FnOnce(Result<Answer, Error>) + Send>;

/// What a caller asks for.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub enum Command {
    /// Accept a task.
    Submit(Submit),
    /// Tell when a task has ended.
    Wait {
        /// Which.
        task: TaskId,
    },
    /// Give a worker from outside a step.
    Claim {
        /// Which.
        step: StepId,
        /// Who.
        worker: WorkerId,
        /// For how long without a word.
        lease_ms: u64,
    },
    /// A worker from outside is still there: all its leases begin anew, those at least that the caller may renew.
    Heartbeat {
        /// Who.
        worker: WorkerId,
        /// Which the caller may renew; without it, all.
        within: Option<Within>,
    },
    /// A worker from outside is done with a step, one way or the other.
    Finish {
        /// Which attempt.
        hold: Hold,
        /// How it ended.
        outcome: Outcome,
    },
    /// A worker from outside gives a step back.
    Yield {
        /// Which attempt.
        hold: Hold,
        /// Why, for people.
        reason: String,
    },
    /// A worker from outside left something behind besides the result.
    Record {
        /// Which attempt.
        hold: Hold,
        /// What.
        artifact: Recorded,
    },
    /// About what is over.
    Life(LifeCommand),
    /// Stop a task.
    Cancel {
        /// Which.
        task: TaskId,
        /// How.
        mode: CancelMode,
        /// Why, for people.
        reason: String,
    },
    /// Try a task again that ended badly.
    Redrive {
        /// Which.
        task: TaskId,
        /// Why, for people.
        reason: String,
    },
    /// Agree to what a step asks.
    Approve {
        /// Which.
        step: StepId,
        /// Hash of what was read.
        ask: Hash,
    },
    /// Something about a lock.
    Lock(LockCommand),
    /// Something about a message.
    Message(MessageCommand),
    /// Refuse what a step asks.
    Deny {
        /// Which.
        step: StepId,
        /// Hash of what was read.
        ask: Hash,
        /// Why, for people.
        reason: String,
    },
    /// Make a namespace. One that is there stays as it is.
    CreateNamespace {
        /// What it is called.
        name: Name,
        /// What it is for, for people.
        about: String,
    },
    /// Write down that something was done that changes no row.
    Note {
        /// What.
        event: Name,
        /// The team or project it belongs to.
        namespace: Name,
        /// A few words about it, in the order of their names.
        about: Vec<(Name, String)>,
    },
    /// The files of a message lie here now, from the root on.
    Filed {
        /// Which message.
        message: MessageId,
        /// Its meta file.
        meta_path: String,
        /// Its payload.
        payload_path: String,
    },
}

/// What a caller asks for about a lock.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub enum LockCommand {
    /// Take it, or take it again.
    Acquire {
        /// The team or project it belongs to.
        namespace: Name,
        /// In which repository.
        repository: RepositoryName,
        /// A key or a path glob.
        key: Key,
        /// Alone, or with others.
        mode: Mode,
        /// Whether upper and lower case are one.
        case: Case,
        /// For whom.
        holder: Name,
        /// The token of a lock that is held already; without one, a new one is made.
        token: Option<LeaseToken>,
        /// For how long.
        ttl_ms: u64,
        /// What for, for people.
        purpose: String,
    },
    /// Keep it longer.
    Renew {
        /// The team or project it belongs to.
        namespace: Name,
        /// In which repository.
        repository: RepositoryName,
        /// Which.
        held: HeldLock,
        /// For how long from now.
        ttl_ms: u64,
    },
    /// Give it back.
    Release {
        /// The team or project it belongs to.
        namespace: Name,
        /// In which repository.
        repository: RepositoryName,
        /// Which.
        held: HeldLock,
    },
}

/// What a caller asks for about a message.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub enum MessageCommand {
    /// Say something to an agent.
    Send(Box<Letter>),
    /// Take the next message for an agent, if there is one.
    Take {
        /// The team or project it belongs to.
        namespace: Name,
        /// For whom.
        agent: Name,
        /// Who works on it.
        worker: WorkerId,
        /// For how long without a word.
        lease_ms: u64,
        /// This one and no other.
        only: Option<(ThreadId, MessageId)>,
    },
    /// It is dealt with.
    Acknowledge {
        /// Its thread.
        thread: ThreadId,
        /// Which delivery.
        held: HeldMessage,
    },
    /// It is dealt with, and this is the answer.
    Reply {
        /// Its thread.
        thread: ThreadId,
        /// Which delivery.
        held: HeldMessage,
        /// What kind of bytes.
        media: Media,
        /// The answer.
        content: Content,
    },
    /// It could not be dealt with.
    Fail {
        /// Its thread.
        thread: ThreadId,
        /// Which delivery.
        held: HeldMessage,
        /// Whether another delivery may help.
        retryable: bool,
        /// Why, for people.
        error: String,
    },
    /// Give it back undone; the delivery does not count.
    Return {
        /// Its thread.
        thread: ThreadId,
        /// Which delivery.
        held: HeldMessage,
        /// Why, for people.
        reason: String,
    },
    /// Deliver a failed message again.
    Redrive {
        /// Its thread.
        thread: ThreadId,
        /// Which.
        message: MessageId,
        /// Why, for people.
        reason: String,
    },
}

/// What is over, and is to be let go of (D33).
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub enum LifeCommand {
    /// Forget a task that has ended, or a thread in which nothing waits, with the key that it has.
    Purge {
        /// Which.
        scope: Scope,
    },
    /// Forget some of what was over at a time, longest over first (R35). Ask again as long as there is more.
    Sweep {
        /// What ended up to here.
        until_ms: u64,
    },
    /// Give up keys of tasks that ended up to a time (R14). Ask again as long as there is more.
    SweepKeys {
        /// What ended up to here.
        until_ms: u64,
    },
    /// Say on the log what it has come to. From now on ops about what was purged before may go.
    Checkpoint,
    /// Look at some more of the ops before the checkpoint, and let go of those that may go. Ask again as long as there is
    /// more.
    Compact,
}

/// Steps that a caller may act on. The id of a worker is only its own word: without this, one would renew the leases of another.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct Within {
    /// Of tasks in these namespaces; without it, in all.
    pub namespaces: Option<Vec<Name>>,
    /// Of this agent; without it, of all.
    pub agent: Option<Name>,
}

/// Something that an attempt left behind.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct Recorded {
    /// What sort of thing: `inference`, `file`, `log`, …
    pub kind: Name,
    /// What it is called.
    pub name: Name,
    /// What kind of bytes.
    pub media: Media,
    /// The thing itself.
    pub content: Content,
    /// A few words about it, in the order of their names.
    pub about: Vec<(Name, String)>,
}

/// A message to be sent.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct Letter {
    /// The team or project it belongs to.
    pub namespace: Name,
    /// In which thread; without one, it begins a new one.
    pub thread: Option<ThreadId>,
    /// Its own name; whoever repeats a send repeats it. Without one, a new one is made.
    pub message: Option<MessageId>,
    /// Who says it.
    pub from: Name,
    /// Who is to hear it.
    pub to: Name,
    /// Which lane it waits in.
    pub priority: Priority,
    /// The message of this thread that it is about.
    pub reply_to: Option<MessageId>,
    /// The step that the answer completes, held by the caller (R38).
    pub asks: Option<Hold>,
    /// What kind of bytes.
    pub media: Media,
    /// What it says.
    pub content: Content,
    /// One trace from the first message to the last answer.
    pub trace_id: u128,
    /// After this time it is too old.
    pub ttl_ms: Option<u64>,
    /// How often it may be handed out.
    pub max_deliveries: u32,
}

/// A message in its recipient's hands.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct Delivery {
    /// Its thread.
    pub thread: ThreadId,
    /// What its recipient shows to prove it.
    pub held: HeldMessage,
    /// What was sent.
    pub draft: Draft,
    /// Where the content lies.
    pub content: ContentKey,
}

/// A task to be accepted.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct Submit {
    /// The team or project it belongs to.
    pub namespace: Name,
    /// The graph.
    pub schedule: Schedule,
    /// Each step's input, by the step's place.
    pub inputs: Vec<(u16, Content)>,
    /// When to answer.
    pub until: Until,
}

impl Submit {
    /// A request that was prepared.
    pub fn new(namespace: Name, prepared: Prepared, until: Until) -> Self {
        let inputs = prepared.inputs.into_iter().map(|(place, bytes)| (place, Content::Inline(bytes))).collect();
        Self { namespace, schedule: prepared.schedule, inputs, until }
    }
}

impl Command {
    /// Whether it lets go of a little of what is over, and is asked for again and again: it can wait for others.
    pub(super) fn is_upkeep(&self) -> bool {
        matches!(self, Self::Life(LifeCommand::Sweep { .. } | LifeCommand::SweepKeys { .. } | LifeCommand::Compact))
    }

    /// Whether it carries content that must become a blob first, see [`Command::stowed`].
    pub fn is_long(&mut self) -> bool {
        let long = |content: &&mut Content| matches!(content, Content::Inline(bytes) if bytes.len() > INLINE_BYTES_MAX);
        self.contents().iter().any(long)
    }

    /// The same with its content in place: what is long is a blob, durable when this returns. Do it on the caller's thread,
    /// before the command is handed over.
    pub fn stowed<B: Blobs>(mut self, blobs: &B) -> Result<Self, relaymesh_store::Error> {
        for content in self.contents() {
            *content = std::mem::replace(content, Content::Inline(Vec::new())).stowed(blobs)?;
        }
        Ok(self)
    }

    fn contents(&mut self) -> Vec<&mut Content> {
        match self {
            Self::Submit(submit) => submit.inputs.iter_mut().map(|(_, content)| content).collect(),
            Self::Finish { outcome: Outcome::Done { result: content, .. }, .. }
            | Self::Record { artifact: Recorded { content, .. }, .. }
            | Self::Message(MessageCommand::Reply { content, .. }) => vec![content],
            Self::Message(MessageCommand::Send(letter)) => vec![&mut letter.content],
            Self::Wait { .. }
            | Self::Claim { .. }
            | Self::Heartbeat { .. }
            | Self::Filed { .. }
            | Self::Finish {
                outcome: Outcome::Failed { .. } | Outcome::Weighed(_) | Outcome::Limited { .. }, ..
            }
            | Self::Yield { .. }
            | Self::Life(_)
            | Self::Cancel { .. }
            | Self::Redrive { .. }
            | Self::Approve { .. }
            | Self::Deny { .. }
            | Self::CreateNamespace { .. }
            | Self::Note { .. }
            | Self::Lock(_)
            | Self::Message(
                MessageCommand::Take { .. }
                | MessageCommand::Acknowledge { .. }
                | MessageCommand::Fail { .. }
                | MessageCommand::Return { .. }
                | MessageCommand::Redrive { .. },
            ) => Vec::new(),
        }
    }
}

/// When a submit is answered.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
pub enum Until {
    /// Once it is durable.
    Accepted,
    /// Once the task has ended.
    Ended,
}

/// What a caller gets. It is durable.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub enum Answer {
    /// The task is accepted, or was before.
    Accepted {
        /// The task.
        task: TaskId,
        /// Where it rests.
        status: Status,
        /// Whether an equal request had made it before (D5).
        merged: bool,
        /// How the write was ordered.
        class: WriteClass,
    },
    /// The task has ended.
    Ended {
        /// The task.
        task: TaskId,
        /// How.
        status: Status,
        /// Hash of the result.
        result_hash: Option<Hash>,
    },
    /// The step is the worker's.
    Claimed(Hold),
    /// The lock is the caller's.
    Locked {
        /// What its holder shows to prove it.
        held: HeldLock,
        /// Until when, without a renewal.
        deadline_ms: u64,
    },
    /// The lock is nobody's.
    Released,
    /// The message rests here now.
    Message {
        /// Its thread.
        thread: ThreadId,
        /// The message.
        message: MessageId,
        /// Where it rests.
        state: State,
    },
    /// The next message, if there was one.
    Taken(Option<Box<Delivery>>),
    /// The message is answered.
    Replied {
        /// Its thread.
        thread: ThreadId,
        /// The answer.
        message: MessageId,
        /// The step that asked, if one did, and whether the answer completed it.
        completed: Option<(StepId, bool)>,
    },
    /// So much was forgotten or given up.
    Swept {
        /// How many.
        count: u64,
        /// Whether there is more.
        more: bool,
    },
    /// So many ops were let go of.
    Compacted {
        /// How many.
        ops: u64,
        /// Ops up to here were looked at.
        pos: u64,
        /// Nothing above this goes.
        horizon: u64,
    },
    /// The leases of these steps are renewed: all that the worker holds.
    Renewed {
        /// Which steps; none if it holds none any more.
        steps: Vec<StepId>,
    },
    /// It is done; the step or task rests here now.
    Done {
        /// Where it rests.
        status: Status,
    },
    /// It is written down, here.
    Noted {
        /// Where on the log.
        pos: u64,
    },
    /// The namespace is there.
    Namespace {
        /// Which.
        name: Name,
        /// Whether it was not there before.
        is_new: bool,
    },
}
