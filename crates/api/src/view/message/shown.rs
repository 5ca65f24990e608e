//! Messages as they are shown.

use crate::view::Reference;
use relaymesh_core::{
    content::Media,
    id::{MessageId, StepId, TaskId, ThreadId},
    lanes::Priority,
    message::{DeadReason, State},
    name::Name,
};
use serde::{Deserialize, Serialize};
use serde_json::Value;
use utoipa::ToSchema;

/// A waiting message.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize, ToSchema)]
#[schema(as = WaitingMessage)]
pub struct Waiting {
    /// Id of the thread.
    #[schema(value_type = String)]
    pub thread: ThreadId,
    /// Id of the message.
    #[schema(value_type = String)]
    pub message: MessageId,
    /// Sender.
    #[schema(value_type = String)]
    pub from: Name,
    /// Recipient.
    #[schema(value_type = String)]
    pub to: Name,
    /// Priority.
    #[schema(value_type = String)]
    pub priority: Priority,
    /// Id of the message that it replies to.
    #[schema(value_type = Option<String>)]
    pub reply_to: Option<MessageId>,
    /// Number of deliveries.
    pub deliveries: u32,
    /// Last error.
    pub error: Option<String>,
    /// Time of sending, in milliseconds since 1970.
    pub sent_ms: u64,
    /// Time from which it can be delivered, in milliseconds since 1970.
    pub due_ms: u64,
    /// Content, if it is short.
    pub content: Value,
    /// Name of the content when it is not in `content`: read it with `GET /content/{hash}?thread=…`.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub content_ref: Option<Reference>,
}

/// The waiting messages of an inbox.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize, ToSchema)]
pub struct Inbox {
    /// The messages, highest priority first.
    pub messages: Vec<Waiting>,
}

/// A delivered message, with the proof of its delivery.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize, ToSchema)]
#[schema(as = DeliveredMessage)]
pub struct Delivered {
    /// Proof of the delivery: send it back to acknowledge, reply or fail.
    pub held: String,
    /// Id of the thread.
    #[schema(value_type = String)]
    pub thread: ThreadId,
    /// Id of the message.
    #[schema(value_type = String)]
    pub message: MessageId,
    /// Sender.
    #[schema(value_type = String)]
    pub from: Name,
    /// Recipient.
    #[schema(value_type = String)]
    pub to: Name,
    /// Priority.
    #[schema(value_type = String)]
    pub priority: Priority,
    /// Id of the message that it replies to.
    #[schema(value_type = Option<String>)]
    pub reply_to: Option<MessageId>,
    /// Media type of the content.
    #[schema(value_type = String)]
    pub media: Media,
    /// Content.
    pub content: Value,
}

/// Answer to a take.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize, ToSchema)]
#[schema(as = TakenMessage)]
pub struct Taken {
    /// The message; `null` if none is waiting.
    pub message: Option<Delivered>,
}

/// A message of a thread.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize, ToSchema)]
#[schema(as = ThreadMessage)]
pub struct Spoken {
    /// Id of the thread.
    #[schema(value_type = String)]
    pub thread: ThreadId,
    /// Id of the message.
    #[schema(value_type = String)]
    pub message: MessageId,
    /// Sender.
    #[schema(value_type = String)]
    pub from: Name,
    /// Recipient.
    #[schema(value_type = String)]
    pub to: Name,
    /// State.
    #[schema(value_type = String)]
    pub state: State,
    /// Priority.
    #[schema(value_type = String)]
    pub priority: Priority,
    /// Id of the message that it replies to.
    #[schema(value_type = Option<String>)]
    pub reply_to: Option<MessageId>,
    /// Id of the reply.
    #[schema(value_type = Option<String>)]
    pub answered_by: Option<MessageId>,
    /// Task whose step waits for the reply.
    #[schema(value_type = Option<String>)]
    pub asks: Option<TaskId>,
    /// Number of deliveries.
    pub deliveries: u32,
    /// Epoch: number of deliveries so far.
    pub epoch: u32,
    /// Why it is dead.
    #[schema(value_type = Option<String>)]
    pub dead: Option<DeadReason>,
    /// Last error.
    pub error: Option<String>,
    /// Time of sending, in milliseconds since 1970.
    pub sent_ms: u64,
    /// Content, if it is short.
    pub content: Value,
    /// Name of the content when it is not in `content`: read it with `GET /content/{hash}?thread=…`.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub content_ref: Option<Reference>,
}

/// The messages of a thread.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize, ToSchema)]
#[schema(as = Thread)]
pub struct Conversation {
    /// Id of the thread.
    #[schema(value_type = String)]
    pub thread: ThreadId,
    /// The messages, oldest first.
    pub messages: Vec<Spoken>,
}

/// State of a message after a change.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, ToSchema)]
#[schema(as = MessageReceipt)]
pub struct Told {
    /// Id of the thread.
    #[schema(value_type = String)]
    pub thread: ThreadId,
    /// Id of the message.
    #[schema(value_type = String)]
    pub message: MessageId,
    /// State after the change.
    #[schema(value_type = String)]
    pub state: State,
}

/// Answer to a reply.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, ToSchema)]
#[schema(as = ReplyReceipt)]
pub struct Replied {
    /// Id of the thread.
    #[schema(value_type = String)]
    pub thread: ThreadId,
    /// Id of the reply.
    #[schema(value_type = String)]
    pub message: MessageId,
    /// The step that waits for the reply, if any.
    pub asked: Option<Asking>,
}

/// The step that waits for the reply.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, ToSchema)]
#[schema(as = AskingStep)]
pub struct Asking {
    /// Id of the step.
    #[schema(value_type = String)]
    pub step: StepId,
    /// Whether the reply completed the step.
    pub completed: bool,
}
