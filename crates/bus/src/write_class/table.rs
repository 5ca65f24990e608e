//! The table itself.

use super::entity::EntityType;
use relaymesh_core::op::WriteClass::{self, AppendOnly, Local, Queued, Strong};
use serde::{Deserialize, Serialize};
use std::fmt;

/// Who orders the ops of a mesh. Declared when the mesh is made.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum Order {
    /// The store's own transaction: one node, or a shared database.
    Direct,
    /// Every node appends to its own feed; peers merge them.
    Feed,
    /// A replicated log with a leader.
    Quorum,
}

/// How the source coordinates a kind of thing.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub enum Mode {
    /// Intent, acknowledgements, commit.
    StronglyCoordinated,
    /// Immutable events with their origin.
    AppendOnlyReplicated,
    /// Accepted here, carried over later.
    QueuedForLater,
    /// Never leaves the node.
    NodeLocalOnly,
}

/// One kind of thing, with its class in each order.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Row {
    /// The kind of thing.
    pub entity: EntityType,
    /// How the source coordinates it.
    pub mode: Mode,
    /// Its class where the store's transaction orders.
    pub direct: WriteClass,
    /// Its class where feeds are merged.
    pub feed: WriteClass,
    /// Its class where a quorum orders.
    pub quorum: WriteClass,
}

const fn row(entity: EntityType, mode: Mode, direct: WriteClass, feed: WriteClass, quorum: WriteClass) -> Row {
    Row { entity, mode, direct, feed, quorum }
}

use EntityType as E;
use Mode::{AppendOnlyReplicated, NodeLocalOnly, QueuedForLater, StronglyCoordinated};

/// Every kind of thing once.
#[rustfmt::skip]
pub const ROWS: [Row; EntityType::ALL.len()] = [
    //                                            direct      feed        quorum
    row(E::Task,            StronglyCoordinated,  Strong,     AppendOnly, Strong),
    row(E::TaskMetadata,    StronglyCoordinated,  Strong,     AppendOnly, Strong),
    row(E::Mission,         StronglyCoordinated,  Strong,     AppendOnly, Strong),
    row(E::AgentConfig,     StronglyCoordinated,  Strong,     AppendOnly, Strong),
    row(E::AgentRuntime,    NodeLocalOnly,        Local,      Local,      Local),
    row(E::ProjectSettings, StronglyCoordinated,  Strong,     AppendOnly, Strong),
    row(E::AuthMaterial,    QueuedForLater,       Queued,     Queued,     Queued),
    row(E::ExecutionRun,    QueuedForLater,       Queued,     Queued,     Queued),
    row(E::LiveActivity,    NodeLocalOnly,        Local,      Local,      Local),
    row(E::AuditEvent,      AppendOnlyReplicated, AppendOnly, AppendOnly, AppendOnly),
    row(E::FilesystemBlob,  QueuedForLater,       Queued,     Queued,     Queued),
    row(E::Message,         StronglyCoordinated,  Strong,     AppendOnly, Strong),
    row(E::Lock,            StronglyCoordinated,  Strong,     AppendOnly, Strong),
    row(E::Namespace,       StronglyCoordinated,  Strong,     AppendOnly, Strong),
];

/// The class of a write of `entity` in a mesh of this order.
pub const fn class_of(entity: EntityType, order: Order) -> WriteClass {
    // The rows stand in the order of the enum; a test compares them one by one.
    let row = &ROWS[entity as usize];
    match order {
        Order::Direct => row.direct,
        Order::Feed => row.feed,
        Order::Quorum => row.quorum,
    }
}

impl Order {
    /// All of them.
    pub const ALL: [Self; 3] = [Self::Direct, Self::Feed, Self::Quorum];
}

impl fmt::Display for Order {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.pad(match self {
            Self::Direct => "direct",
            Self::Feed => "feed",
            Self::Quorum => "quorum",
        })
    }
}
