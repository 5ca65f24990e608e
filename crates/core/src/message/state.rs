//! The rows: what a thread and its messages are now, as folded from the log.

use super::{
    spec::Draft,
    table::{State, Verb, targets},
};
use crate::{
    content::ContentRef,
    hlc::Hlc,
    id::{MessageId, ThreadId},
    name::Name,
    op::Hold,
    task::Lease,
};
use serde::{Deserialize, Serialize};
use std::collections::BTreeMap;

/// A thread with its messages: all rows of one scope.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct ThreadRows {
    /// The thread.
    pub thread: Thread,
    /// Its messages.
    pub messages: BTreeMap<MessageId, Message>,
}

/// The row of a thread.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct Thread {
    /// Grows by one with every op that took effect here.
    pub rev: u32,
    /// The thread's id.
    pub id: ThreadId,
    /// The team or project it belongs to.
    pub namespace: Name,
    /// When its first message was sent.
    pub created_ms: u64,
    /// When it last changed.
    pub updated_ms: u64,
    /// The newest op that took effect here; deliveries cite it (D19).
    pub head: Hlc,
}

/// The row of a message.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct Message {
    /// Arrival number of the op that carried the content; where it lies. Of this node only.
    #[serde(skip)]
    pub content_pos: u64,
    /// Grows by one with every op that changed this row.
    pub rev: u32,
    /// What was sent, from whom, to whom.
    pub draft: Draft,
    /// Where it rests.
    pub state: State,
    /// While it is queued: from when on it may be delivered.
    pub due_ms: u64,
    /// When it becomes too old; 0 for never.
    pub expires_ms: u64,
    /// Deliveries since it was sent or redriven.
    pub deliveries: u32,
    /// Deliveries in all its life. The fence: only grows.
    pub epoch: u32,
    /// Who has it.
    pub lease: Option<Lease>,
    /// The message that answered it.
    pub answered_by: Option<MessageId>,
    /// Why it is dead.
    pub dead: Option<DeadReason>,
    /// Why the last delivery came to nothing, for people.
    pub error: Option<String>,
    /// When it was sent.
    pub sent_ms: u64,
    /// When it last changed.
    pub updated_ms: u64,
}

/// Why a message is dead.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum DeadReason {
    /// All deliveries are used up.
    Exhausted,
    /// It became too old before it was done.
    Expired,
}

impl ThreadRows {
    /// Every step that was answered here, with the answer: what the driver has to have completed. A restart reads it
    /// again; a step that is done already fences the second completion.
    pub fn answered(&self) -> impl Iterator<Item = (Hold, MessageId, ContentRef)> {
        self.messages.values().filter_map(|question| {
            let (asks, answer) = (question.draft.asks?, question.answered_by?);
            Some((asks, answer, self.messages.get(&answer)?.draft.content))
        })
    }
}

impl Message {
    /// Whether its recipient may take it at `now_ms`.
    pub fn is_deliverable(&self, now_ms: u64) -> bool {
        self.state == State::Queued && self.due_ms <= now_ms && !self.is_too_old(now_ms)
    }

    /// Whether its time to live is over at `now_ms`.
    pub fn is_too_old(&self, now_ms: u64) -> bool {
        self.expires_ms > 0 && self.expires_ms <= now_ms
    }

    /// A message that was just sent and waits.
    pub(super) fn fresh(draft: Draft, pos: u64, now_ms: u64) -> Self {
        let expires_ms = draft.ttl_ms.map_or(0, |ttl_ms| now_ms.saturating_add(ttl_ms));
        Self {
            content_pos: pos,
            rev: 1,
            draft,
            state: State::Queued,
            due_ms: now_ms,
            expires_ms,
            deliveries: 0,
            epoch: 0,
            lease: None,
            answered_by: None,
            dead: None,
            error: None,
            sent_ms: now_ms,
            updated_ms: now_ms,
        }
    }

    /// Moves the message along the transition table. Verbs have checked that they may before they change anything.
    pub(super) fn go(&mut self, verb: Verb, to: State, now_ms: u64) {
        assert!(targets(self.state, verb).contains(&to), "{verb:?} cannot take a message from {} to {to}", self.state);
        self.state = to;
        self.rev += 1;
        self.updated_ms = now_ms;
        if to != State::Processing {
            self.lease = None;
        }
        if to != State::Queued {
            self.due_ms = 0;
        }
    }
}
