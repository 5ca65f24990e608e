//! Messages as they are shown.

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

/// A message that waits, with what it says.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize, ToSchema)]
#[schema(as = WaitingMessage)]
pub struct Waiting {
    /// Its thread.
    #[schema(value_type = String)]
    pub thread: ThreadId,
    /// Its id.
    #[schema(value_type = String)]
    pub message: MessageId,
    /// Who said it.
    #[schema(value_type = String)]
    pub from: Name,
    /// To whom.
    #[schema(value_type = String)]
    pub to: Name,
    /// Which lane it waits in.
    #[schema(value_type = String)]
    pub priority: Priority,
    /// The message that it is about.
    #[schema(value_type = Option<String>)]
    pub reply_to: Option<MessageId>,
    /// How often it was delivered.
    pub deliveries: u32,
    /// Why it last failed.
    pub error: Option<String>,
    /// When it was sent.
    pub sent_ms: u64,
    /// When it may be delivered.
    pub due_ms: u64,
    /// What it says.
    pub content: Value,
}

/// What waits in an inbox.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize, ToSchema)]
pub struct Inbox {
    /// Urgent ones first.
    pub messages: Vec<Waiting>,
}

/// A message that was just handed out, with what proves it.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize, ToSchema)]
#[schema(as = DeliveredMessage)]
pub struct Delivered {
    /// What is shown when it is dealt with.
    pub held: String,
    /// Its thread.
    #[schema(value_type = String)]
    pub thread: ThreadId,
    /// Its id.
    #[schema(value_type = String)]
    pub message: MessageId,
    /// Who said it.
    #[schema(value_type = String)]
    pub from: Name,
    /// To whom.
    #[schema(value_type = String)]
    pub to: Name,
    /// Which lane it waited in.
    #[schema(value_type = String)]
    pub priority: Priority,
    /// The message that it is about.
    #[schema(value_type = Option<String>)]
    pub reply_to: Option<MessageId>,
    /// What kind of content that is.
    #[schema(value_type = String)]
    pub media: Media,
    /// What it says.
    pub content: Value,
}

/// What was taken.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize, ToSchema)]
#[schema(as = TakenMessage)]
pub struct Taken {
    /// The message; `null` when none waits.
    pub message: Option<Delivered>,
}

/// A message of a conversation.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize, ToSchema)]
#[schema(as = ThreadMessage)]
pub struct Spoken {
    /// Its thread.
    #[schema(value_type = String)]
    pub thread: ThreadId,
    /// Its id.
    #[schema(value_type = String)]
    pub message: MessageId,
    /// Who said it.
    #[schema(value_type = String)]
    pub from: Name,
    /// To whom.
    #[schema(value_type = String)]
    pub to: Name,
    /// Where it rests.
    #[schema(value_type = String)]
    pub state: State,
    /// Which lane it waits in.
    #[schema(value_type = String)]
    pub priority: Priority,
    /// The message that it is about.
    #[schema(value_type = Option<String>)]
    pub reply_to: Option<MessageId>,
    /// The message that answers it.
    #[schema(value_type = Option<String>)]
    pub answered_by: Option<MessageId>,
    /// The task that asks by it.
    #[schema(value_type = Option<String>)]
    pub asks: Option<TaskId>,
    /// How often it was delivered.
    pub deliveries: u32,
    /// Deliveries in all its life.
    pub epoch: u32,
    /// Why it came to nothing.
    #[schema(value_type = Option<String>)]
    pub dead: Option<DeadReason>,
    /// Why it last failed.
    pub error: Option<String>,
    /// When it was sent.
    pub sent_ms: u64,
    /// What it says.
    pub content: Value,
}

/// A conversation.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize, ToSchema)]
#[schema(as = Thread)]
pub struct Conversation {
    /// Its id.
    #[schema(value_type = String)]
    pub thread: ThreadId,
    /// Oldest first.
    pub messages: Vec<Spoken>,
}

/// What whoever sent a message, or dealt with one, is told.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, ToSchema)]
#[schema(as = MessageState)]
pub struct Told {
    /// Its thread.
    #[schema(value_type = String)]
    pub thread: ThreadId,
    /// The message.
    #[schema(value_type = String)]
    pub message: MessageId,
    /// Where it rests now.
    #[schema(value_type = String)]
    pub state: State,
}

/// What whoever answered is told.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, ToSchema)]
#[schema(as = MessageReplied)]
pub struct Replied {
    /// Its thread.
    #[schema(value_type = String)]
    pub thread: ThreadId,
    /// The answer.
    #[schema(value_type = String)]
    pub message: MessageId,
    /// The step that asked, if one did.
    pub asked: Option<Asking>,
}

/// The step that asked.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, ToSchema)]
#[schema(as = AskingStep)]
pub struct Asking {
    /// Which.
    #[schema(value_type = String)]
    pub step: StepId,
    /// Whether the answer completed it.
    pub completed: bool,
}
