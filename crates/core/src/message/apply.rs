//! One op on the rows of its thread.

use super::{
    DELIVERIES_MAX, MESSAGES_MAX, acknowledge,
    body::Body,
    deliver, expire, fail, redrive, reply, returns, send,
    state::ThreadRows,
    table::{State, Verb},
};
use crate::{
    content::ContentRef,
    hlc::Hlc,
    id::{MessageId, NodeId, ThreadId, WorkerId},
    name::Name,
    op::{About, Header, Hold},
    task::lease::stale,
    utc::Utc,
};

/// What is to be done because an op took effect. All of it can be derived from the rows again, so that a restart
/// forgets nothing.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Effect {
    /// The message may be delivered now.
    Offer {
        /// The message.
        message: MessageId,
    },
    /// Look at the message again at this time: it falls due, or becomes too old.
    Wake {
        /// The message.
        message: MessageId,
        /// When.
        at_ms: u64,
    },
    /// The delivery counts: hand it over.
    Hand {
        /// The message.
        message: MessageId,
        /// The delivery's fence.
        epoch: u32,
    },
    /// The delivery no longer counts: end whatever works on it.
    Stop {
        /// The message.
        message: MessageId,
        /// The delivery's fence.
        epoch: u32,
    },
    /// A step was answered: complete it with this, in the same commit (R38).
    Answered {
        /// The step, and the lease under which it waits.
        asks: Hold,
        /// The message that asked.
        question: MessageId,
        /// The message that answers.
        message: MessageId,
        /// What it says: the step's result.
        content: ContentRef,
    },
    /// The message came to rest.
    End {
        /// The message.
        message: MessageId,
        /// Where.
        state: State,
    },
}

/// Why an op has no effect. It changed nothing; each says what was found.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
pub enum Refusal {
    /// Nothing was ever sent there.
    #[error("there is no such thread")]
    NoThread,
    /// The op names a message that the thread does not have.
    #[error("there is no {message} in this thread")]
    NoMessage {
        /// The message.
        message: MessageId,
    },
    /// A second message with the same id.
    #[error("{message} was already sent and is {found}")]
    MessageExists {
        /// The message.
        message: MessageId,
        /// Where it rests.
        found: State,
    },
    /// The thread has as many messages as it may.
    #[error("the thread has {count} messages; the maximum is {MESSAGES_MAX}: start a new thread")]
    ThreadFull {
        /// How many there are.
        count: usize,
    },
    /// Never, or far too often.
    #[error("a message can be delivered 1 to {DELIVERIES_MAX} times, not {found}")]
    Deliveries {
        /// What was asked for.
        found: u32,
    },
    /// It would be too old before anybody could read it.
    #[error("a message with a lifetime of 0 ms would expire at once")]
    NoTtl,
    /// The transition table has no such move.
    #[error("{message} is {found}: {verb:?} is not possible in this state")]
    NotPossible {
        /// The message.
        message: MessageId,
        /// What was tried.
        verb: Verb,
        /// Where it rests.
        found: State,
    },
    /// It is for somebody else.
    #[error("{message} is for `{to}`, not for `{found}`")]
    NotRecipient {
        /// The message.
        message: MessageId,
        /// Whom it is for.
        to: Name,
        /// Who wanted it.
        found: Name,
    },
    /// It is not due yet.
    #[error("{message} is not due before {} (now {})", Utc(*.due_ms), Utc(*.now_ms))]
    NotDue {
        /// The message.
        message: MessageId,
        /// When it will be.
        due_ms: u64,
        /// The op's time.
        now_ms: u64,
    },
    /// It is too old, and nobody has said so yet.
    #[error("{message} expired at {} (now {})", Utc(*.expires_ms), Utc(*.now_ms))]
    TooOld {
        /// The message.
        message: MessageId,
        /// Until when.
        expires_ms: u64,
        /// The op's time.
        now_ms: u64,
    },
    /// It is not too old.
    #[error("{message} is {found} and {}", lives(*.expires_ms, *.now_ms))]
    NotTooOld {
        /// The message.
        message: MessageId,
        /// Where it rests.
        found: State,
        /// Until when it lives; 0 for ever.
        expires_ms: u64,
        /// The op's time.
        now_ms: u64,
    },
    /// Another worker has it.
    #[error("{message} is held by {worker} (epoch {epoch}) until {}", Utc(*.deadline_ms))]
    Held {
        /// The message.
        message: MessageId,
        /// Who has it.
        worker: WorkerId,
        /// The delivery's fence.
        epoch: u32,
        /// When the lease ends.
        deadline_ms: u64,
    },
    /// The author does not have the message any more, or never did (D7).
    #[error("rejected_fenced: {message} is {found}: {}", stale(*.found == State::Processing, *.epoch, *.given))]
    Fenced {
        /// The message.
        message: MessageId,
        /// Where it rests.
        found: State,
        /// The fence in force.
        epoch: u32,
        /// The fence that was shown.
        given: u32,
    },
    /// The delivery cites an op that is not older than itself (D19).
    #[error("the delivery has the time {}, but its author had already seen an op of {}", Utc(.dated.wall_ms), Utc(.seen.wall_ms))]
    BackDated {
        /// The delivery's time.
        dated: Hlc,
        /// What it cites.
        seen: Hlc,
    },
    /// The lease has not run out.
    #[error("the lease on {message} runs until {} (now {})", Utc(*.deadline_ms), Utc(*.now_ms))]
    LeaseRuns {
        /// The message.
        message: MessageId,
        /// When the lease ends.
        deadline_ms: u64,
        /// The op's time.
        now_ms: u64,
    },
    /// Only the node that owns the lease may say this.
    #[error("{message} is leased by {owner}, not by {author}")]
    NotOwner {
        /// The message.
        message: MessageId,
        /// The node that owns the lease.
        owner: NodeId,
        /// The node that spoke.
        author: NodeId,
    },
    /// A message has not come to rest.
    #[error("{message} is {found}: only a thread without waiting messages can be purged")]
    NotAtRest {
        /// The first such message.
        message: MessageId,
        /// Where it rests.
        found: State,
    },
    /// The op belongs to another namespace than the thread.
    #[error("the thread belongs to the namespace `{found}`")]
    OtherNamespace {
        /// The thread's.
        found: Name,
    },
}

fn lives(expires_ms: u64, now_ms: u64) -> String {
    if expires_ms == 0 {
        "never expires".to_owned()
    } else {
        format!("expires at {} (now {})", Utc(expires_ms), Utc(now_ms))
    }
}

/// What a verb may know of the op that it applies.
#[derive(Debug, Clone, Copy)]
pub(super) struct At {
    pub(super) pos: u64,
    pub(super) now_ms: u64,
    pub(super) hlc: Hlc,
    pub(super) origin: NodeId,
}

/// Applies `op` to the rows of its thread. An effect is pushed for whatever has to be done about it; a refusal has
/// changed neither rows nor effects.
pub fn apply(
    rows: &mut Option<ThreadRows>,
    op: &About<'_, ThreadId, Body>,
    effects: &mut Vec<Effect>,
) -> Result<(), Refusal> {
    let header = op.header;
    let at = At { pos: op.pos, now_ms: header.hlc.wall_ms, hlc: header.hlc, origin: header.origin };
    check_namespace(rows.as_ref(), header)?;
    match op.body {
        Body::SendMessage { draft } => send::send(rows, op.id, header, draft, at, effects)?,
        Body::DeliverMessage { message, recipient, owner, worker, token, lease_ms, seen } => {
            let (owner, worker, token, lease_ms, seen) = (*owner, *worker, *token, *lease_ms, *seen);
            let asked = deliver::Asked { recipient, owner, worker, token, lease_ms, seen };
            deliver::deliver(there(rows)?, *message, asked, at, effects)?;
        }
        Body::AcknowledgeMessage { held } => acknowledge::acknowledge(there(rows)?, held, at, effects)?,
        Body::ReplyMessage { held, answer, content } => {
            reply::reply(there(rows)?, held, *answer, *content, at, effects)?;
        }
        Body::FailMessage { held, retryable, jitter_ms, error } => {
            let failure = fail::Failure { retryable: *retryable, jitter_ms: *jitter_ms, error };
            fail::fail(there(rows)?, held, failure, at, effects)?;
        }
        Body::ReturnMessage { held, reason } => returns::give_back(there(rows)?, held, reason, at, effects)?,
        Body::ExpireDelivery { message, epoch, reason, jitter_ms } => {
            expire::delivery(there(rows)?, *message, *epoch, *reason, *jitter_ms, at, effects)?;
        }
        Body::ExpireMessage { message } => expire::message(there(rows)?, *message, at, effects)?,
        Body::RedriveMessage { message, .. } => redrive::redrive(there(rows)?, *message, at, effects)?,
    }
    let thread = &mut there(rows)?.thread;
    thread.head = at.hlc;
    thread.rev += 1;
    thread.updated_ms = at.now_ms;
    Ok(())
}

/// Whether the op belongs to the namespace that the rows belong to.
pub(super) fn check_namespace(rows: Option<&ThreadRows>, header: &Header) -> Result<(), Refusal> {
    match rows.map(|rows| &rows.thread.namespace).filter(|found| **found != header.namespace) {
        Some(found) => Err(Refusal::OtherNamespace { found: found.clone() }),
        None => Ok(()),
    }
}

pub(super) fn there(rows: &mut Option<ThreadRows>) -> Result<&mut ThreadRows, Refusal> {
    rows.as_mut().ok_or(Refusal::NoThread)
}
