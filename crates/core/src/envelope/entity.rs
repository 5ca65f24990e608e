//! The data-class matrix: what each type of entity is, and so which write class its writes have (F2).
//!
//! ```text
//!  entity type                                     direct       feed          quorum
//!  task task-metadata mission agent-config         strong       append-only   strong
//!  project-settings
//!  audit-event                                     append-only  append-only   append-only
//!  execution-run auth-material filesystem-blob     queued       queued        queued
//!  agent-runtime                                   local        local         local
//! ```
//!
//! The columns are the ways to order a mesh. In a feed nobody is asked before a write is accepted, so what is strong
//! elsewhere is append-only there, and says so (D34). What is local never travels: an envelope about it is refused.

use crate::op::WriteClass;
use serde::{Deserialize, Serialize};

/// What a record is about.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub enum EntityType {
    /// A task: its fields, dependencies, steps and moves.
    Task,
    /// What stands beside a task: priority, overrides, references.
    TaskMetadata,
    /// A mission, milestone, slice or feature.
    Mission,
    /// How an agent is set up.
    AgentConfig,
    /// What an agent's process is doing.
    AgentRuntime,
    /// Settings of a project.
    ProjectSettings,
    /// Credentials. They travel sealed and by themselves (F13).
    AuthMaterial,
    /// What a run came to.
    ExecutionRun,
    /// Something that happened.
    AuditEvent,
    /// What is said of a blob; the blob itself travels out of band.
    FilesystemBlob,
}

/// Who orders the writes of a mesh. Declared when the mesh is made.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum Order {
    /// The store's own transaction.
    Direct,
    /// Every node by itself; peers merge.
    Feed,
    /// A quorum.
    Quorum,
}

impl EntityType {
    /// Every type.
    pub const ALL: [EntityType; 10] = [
        Self::Task,
        Self::TaskMetadata,
        Self::Mission,
        Self::AgentConfig,
        Self::AgentRuntime,
        Self::ProjectSettings,
        Self::AuthMaterial,
        Self::ExecutionRun,
        Self::AuditEvent,
        Self::FilesystemBlob,
    ];

    /// The write class of this type in a mesh with this order.
    pub fn write_class(self, order: Order) -> WriteClass {
        match self {
            Self::Task | Self::TaskMetadata | Self::Mission | Self::AgentConfig | Self::ProjectSettings => {
                match order {
                    Order::Direct | Order::Quorum => WriteClass::Strong,
                    Order::Feed => WriteClass::AppendOnly,
                }
            }
            Self::AuditEvent => WriteClass::AppendOnly,
            Self::ExecutionRun | Self::AuthMaterial | Self::FilesystemBlob => WriteClass::Queued,
            Self::AgentRuntime => WriteClass::Local,
        }
    }

    /// Whether a record of this type with this class can be on its way between nodes.
    pub(super) fn travels_as(self, class: WriteClass) -> bool {
        let orders = [Order::Direct, Order::Feed, Order::Quorum];
        class != WriteClass::Local && orders.into_iter().any(|order| self.write_class(order) == class)
    }
}
