//! Views of failed tasks and messages.

use super::What;
use relaymesh_core::{
    id::{MessageId, TaskId, ThreadId},
    name::Name,
};
use serde::{Deserialize, Serialize};
use serde_json::Value;
use utoipa::ToSchema;

/// A failed task (with `task`) or message (with `message` and `thread`).
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, ToSchema)]
#[schema(as = DeadLetter)]
pub struct Shown {
    /// Its ids.
    #[serde(flatten)]
    pub ids: Ids,
    /// Name.
    pub name: String,
    /// Agent that failed.
    #[schema(value_type = String)]
    pub agent: Name,
    /// Final state.
    pub end: String,
    /// Time of the failure, in milliseconds since 1970.
    pub died_ms: u64,
    /// Last error.
    pub why: Option<String>,
}

/// Failed tasks and messages, oldest submit first.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, ToSchema)]
#[schema(as = DeadLetterList)]
pub struct All {
    /// The failures; at most 1000.
    pub dead: Vec<Shown>,
    /// Total number of matches.
    pub total: usize,
}

/// Ids of a task or a message.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, ToSchema)]
#[schema(as = DeadLetterIds)]
pub struct Ids {
    /// Id of the task.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    #[schema(value_type = Option<String>)]
    pub task: Option<TaskId>,
    /// Id of the message.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    #[schema(value_type = Option<String>)]
    pub message: Option<MessageId>,
    /// Id of the thread of the message.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    #[schema(value_type = Option<String>)]
    pub thread: Option<ThreadId>,
}

/// Outcome of a retry or a purge, for each task and message.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize, ToSchema)]
#[schema(as = DeadLetterOutcome)]
pub struct Outcome {
    /// Those that succeeded.
    pub done: Vec<Ids>,
    /// Those that failed, with the error.
    pub failed: Vec<Failed>,
}

/// A task or message that could not be retried or purged.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize, ToSchema)]
#[schema(as = DeadLetterFailure)]
pub struct Failed {
    /// Ids of the task or message.
    #[serde(flatten)]
    pub ids: Ids,
    /// Error, as a problem document.
    pub error: Value,
}

/// A failed task or message with all details; several for a thread.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize, ToSchema)]
#[schema(as = DeadLetterDetails)]
pub struct Documents {
    /// A task with its request and every attempt, or a message with its content.
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
