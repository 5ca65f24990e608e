//! The kinds of things that are written: those of the source's matrix under their wire names, and three of our own.

use super::table::{Order, class_of};
use relaymesh_core::op::{Scope, WriteClass};
use serde::{Deserialize, Serialize};
use std::{fmt, str::FromStr};

/// A kind of thing that is written.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub enum EntityType {
    /// A task: core fields, dependencies, steps, transitions.
    Task,
    /// A task's priority, models, references to documents.
    TaskMetadata,
    /// A mission, milestone, slice or feature.
    Mission,
    /// What an agent is defined as.
    AgentConfig,
    /// Heartbeats, processes, paths: what is true on one node.
    AgentRuntime,
    /// Settings of a project.
    ProjectSettings,
    /// Credentials of providers. On a secured channel of its own, never among settings.
    AuthMaterial,
    /// What a run came to.
    ExecutionRun,
    /// What a run is doing right now. The source has it in one row with [`ExecutionRun`](Self::ExecutionRun), in another mode.
    LiveActivity,
    /// An event of an audit or activity stream.
    AuditEvent,
    /// A prompt, a log, an attachment.
    FilesystemBlob,
    /// A message with its thread. Ours: the source has none.
    Message,
    /// A lock with its repository. Ours.
    Lock,
    /// A namespace. Ours.
    Namespace,
}

/// The text names no kind of thing.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
#[error("`{found}` is no entity type; there are {}", known())]
pub struct UnknownEntity {
    /// The text, shortened.
    pub found: String,
}

impl EntityType {
    /// All of them, in the order of the source's matrix, ours last.
    pub const ALL: [Self; 14] = [
        Self::Task,
        Self::TaskMetadata,
        Self::Mission,
        Self::AgentConfig,
        Self::AgentRuntime,
        Self::ProjectSettings,
        Self::AuthMaterial,
        Self::ExecutionRun,
        Self::LiveActivity,
        Self::AuditEvent,
        Self::FilesystemBlob,
        Self::Message,
        Self::Lock,
        Self::Namespace,
    ];

    /// The name on the wire.
    pub fn as_str(self) -> &'static str {
        match self {
            Self::Task => "task",
            Self::TaskMetadata => "task-metadata",
            Self::Mission => "mission",
            Self::AgentConfig => "agent-config",
            Self::AgentRuntime => "agent-runtime",
            Self::ProjectSettings => "project-settings",
            Self::AuthMaterial => "auth-material",
            Self::ExecutionRun => "execution-run",
            Self::LiveActivity => "live-activity",
            Self::AuditEvent => "audit-event",
            Self::FilesystemBlob => "filesystem-blob",
            Self::Message => "message",
            Self::Lock => "lock",
            Self::Namespace => "namespace",
        }
    }

    /// Whether a record of this type with this class can be on its way between nodes: some order gives it that class, and it is not local.
    pub fn travels_as(self, class: WriteClass) -> bool {
        class != WriteClass::Local && Order::ALL.into_iter().any(|order| class_of(self, order) == class)
    }

    /// What an op about this scope writes.
    pub fn of_scope(scope: &Scope) -> Self {
        match scope {
            Scope::Task(_) => Self::Task,
            Scope::Thread(_) => Self::Message,
            Scope::Repository(_) => Self::Lock,
            Scope::Log => Self::AuditEvent,
            Scope::Namespace(_) => Self::Namespace,
            Scope::Plan(_) => Self::Mission,
            Scope::Register(_) => Self::ProjectSettings,
        }
    }
}

impl fmt::Display for EntityType {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.pad(self.as_str())
    }
}

impl FromStr for EntityType {
    type Err = UnknownEntity;

    fn from_str(text: &str) -> Result<Self, UnknownEntity> {
        let named = Self::ALL.into_iter().find(|entity| entity.as_str() == text);
        named.ok_or_else(|| UnknownEntity { found: text.chars().take(40).collect() })
    }
}

fn known() -> String {
    EntityType::ALL.map(EntityType::as_str).join(", ")
}
