//! What a sender asks for, as it stands on the log.

use crate::{
    backoff::Backoff,
    content::ContentRef,
    id::{LeaseToken, MessageId, StepId, TaskId},
    lanes::Priority,
    name::Name,
    op::Hold,
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
    /// The attempt that waits for its answer, and that the answer completes (R38).
    #[serde(with = "attempt")]
    pub asks: Option<Hold>,
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
        let waits = |hold: Hold| SpanId::of_attempt(hold.step, hold.epoch);
        let span = self.asks.map_or_else(|| SpanId::of_message(self.id), waits);
        Context { trace_id: self.trace_id, span, is_sampled: trace::is_sampled(self.trace_id, per_mille) }
    }
}

/// The attempt that waits, with its task and its step's place as two fields. In bytes that is the same as a [`Hold`], in JSON it is not.
mod attempt {
    use super::{Deserialize, Hold, LeaseToken, Serialize, StepId, TaskId};
    use serde::{Deserializer, Serializer};

    #[derive(Serialize, Deserialize)]
    struct Flat {
        task: TaskId,
        step: u16,
        epoch: u32,
        token: LeaseToken,
    }

    #[expect(clippy::ref_option, reason = "serde calls it so")]
    pub(super) fn serialize<S: Serializer>(hold: &Option<Hold>, serializer: S) -> Result<S::Ok, S::Error> {
        let flat = |Hold { step: StepId { task, index: step }, epoch, token }| Flat { task, step, epoch, token };
        hold.map(flat).serialize(serializer)
    }

    pub(super) fn deserialize<'de, D: Deserializer<'de>>(deserializer: D) -> Result<Option<Hold>, D::Error> {
        let flat = Option::<Flat>::deserialize(deserializer)?;
        Ok(flat.map(|Flat { task, step, epoch, token }| Hold { step: StepId { task, index: step }, epoch, token }))
    }
}
