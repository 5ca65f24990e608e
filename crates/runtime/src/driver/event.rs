//! What the driver tells those who watch.

use relaymesh_core::{
    id::TaskId,
    lanes::Priority,
    name::Name,
    op::Kind,
    task::{Status, Step},
    trace::SpanId,
};
use serde::{Deserialize, Serialize};

/// Something that became durable.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct Event {
    /// Where on the log.
    pub pos: u64,
    /// What happened.
    pub kind: Kind,
    /// Which task.
    pub task: TaskId,
    /// The task's trace.
    pub trace_id: u128,
    /// The span that it was asked for in, if that was said; only of a task that was submitted.
    pub asked_in: Option<SpanId>,
    /// Where the task rests now.
    pub status: Status,
    /// Every step that changed since the last event of this task.
    pub steps: Vec<StepEvent>,
}

/// Something about a message became durable: it waits, or it is over.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Posted {
    /// The team or project it belongs to.
    pub namespace: Name,
    /// Who is to hear it.
    pub to: Name,
    /// From when on it may be taken. 0 for at once, or never again.
    pub due_ms: u64,
}

/// How a step stands.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct StepEvent {
    /// Its place.
    pub index: u16,
    /// Its name.
    pub name: Name,
    /// Who does it.
    pub agent: Name,
    /// Its lane.
    pub lane: Priority,
    /// Where it rests.
    pub status: Status,
    /// Which attempt.
    pub attempt: u32,
    /// Its fence.
    pub epoch: u32,
    /// Why it last failed.
    pub error: Option<String>,
}

impl StepEvent {
    /// How the step in this place stands.
    pub fn of(index: u16, step: &Step) -> Self {
        Self {
            index,
            name: step.spec.name.clone(),
            agent: step.spec.agent.clone(),
            lane: step.spec.priority,
            status: step.status,
            attempt: step.attempt,
            epoch: step.epoch,
            error: step.error.clone(),
        }
    }
}
