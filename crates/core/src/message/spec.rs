//! What a sender asks for, as it stands on the log.

use crate::{
    backoff::Backoff,
    content::ContentRef,
    id::{LeaseToken, MessageId, StepId, TaskId},
    lanes::Priority,
    name::Name,
    op::Held,
    trace::{self, Context, SpanId},
};
use serde::{Deserialize, Serialize};

/// The body of a SendMessage op.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct Draft {
    /// The message's own name: a second one with the same name in its thread is refused.
    pub id: MessageId,
    /// Who says it.
    pub from: Name,
    /// Who is to hear it.
    pub to: Name,
    /// Which lane it waits in.
    pub priority: Priority,
    /// The message of this thread that it is about.
    pub reply_to: Option<MessageId>,
    /// The step that waits for its answer (R38).
    pub asks: Option<Asks>,
    /// What it says; its media type is part of the reference.
    pub content: ContentRef,
    /// One trace from the first message to the last answer.
    #[serde(with = "crate::hex128")]
    pub trace_id: u128,
    /// After this time it is too old to be delivered.
    pub ttl_ms: Option<u64>,
    /// How often it may be handed out before it is given up, at least 1.
    pub max_deliveries: u32,
    /// Time between deliveries that failed.
    pub backoff: Backoff,
}

impl Draft {
    /// Where in its trace whoever gets it goes on: in the attempt that waits for the answer, if one does.
    pub fn context(&self, per_mille: u64) -> Context {
        let waits = |asks: Asks| SpanId::of_attempt(StepId { task: asks.task, index: asks.step }, asks.epoch);
        let span = self.asks.map_or_else(|| SpanId::of_message(self.id), waits);
        Context { trace_id: self.trace_id, span, is_sampled: trace::is_sampled(self.trace_id, per_mille) }
    }
}

/// The step that waits for an answer, and the lease under which it waits: the answer completes exactly that attempt.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
pub struct Asks {
    /// The step's task.
    pub task: TaskId,
    /// The step's place in its task.
    pub step: u16,
    /// The epoch of the attempt that waits.
    pub epoch: u32,
    /// The token of the attempt that waits.
    pub token: LeaseToken,
}

impl Asks {
    /// What the completing op shows to prove that it may.
    pub fn held(&self) -> Held {
        Held { step: self.step, epoch: self.epoch, token: self.token }
    }
}
