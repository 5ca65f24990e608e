//! What came to nothing, as it is shown.

use super::What;
use relaymesh_core::{
    id::{MessageId, TaskId, ThreadId},
    name::Name,
};
use serde::{Deserialize, Serialize};
use serde_json::Value;
use utoipa::ToSchema;

/// The same as it is shown: a task has its id, a message its id and its thread.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, ToSchema)]
#[schema(as = DeadLetter)]
pub struct Shown {
    /// Which it is.
    #[serde(flatten)]
    pub ids: Ids,
    /// What people call it.
    pub name: String,
    /// Who failed.
    #[schema(value_type = String)]
    pub agent: Name,
    /// How it ended.
    pub end: String,
    /// When.
    pub died_ms: u64,
    /// The last reason that somebody gave.
    pub why: Option<String>,
}

/// What came to nothing, in the order in which it was submitted or sent.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, ToSchema)]
#[schema(as = DeadLetters)]
pub struct All {
    /// At most 1000 of them.
    pub dead: Vec<Shown>,
    /// How many there are.
    pub total: usize,
}

/// Which it is, for programs.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, ToSchema)]
#[schema(as = DeadIds)]
pub struct Ids {
    /// The task.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    #[schema(value_type = Option<String>)]
    pub task: Option<TaskId>,
    /// The message.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    #[schema(value_type = Option<String>)]
    pub message: Option<MessageId>,
    /// The thread of the message.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    #[schema(value_type = Option<String>)]
    pub thread: Option<ThreadId>,
}

/// What became of each.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize, ToSchema)]
#[schema(as = DeadOutcome)]
pub struct Outcome {
    /// What was done.
    pub done: Vec<Ids>,
    /// What was not, and why.
    pub failed: Vec<Failed>,
}

/// One that was not done.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize, ToSchema)]
#[schema(as = DeadFailed)]
pub struct Failed {
    /// Which.
    #[serde(flatten)]
    pub ids: Ids,
    /// Why: a problem document.
    pub error: Value,
}

/// Something that came to nothing, with everything that is known of it; several if a thread was named.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize, ToSchema)]
#[schema(as = DeadDocuments)]
pub struct Documents {
    /// A task with every attempt and its request, or a message with what it says.
    #[schema(value_type = Vec<Object>)]
    pub documents: Vec<Value>,
}

impl Ids {
    /// Which it is; `None` if it is neither.
    pub fn what(&self) -> Option<What> {
        match (self.task, self.thread, self.message) {
            (Some(task), _, _) => Some(What::Task(task)),
            (None, Some(thread), Some(message)) => Some(What::Message(thread, message)),
            (None, _, _) => None,
        }
    }
}
