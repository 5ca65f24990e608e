//! The row.

use super::table::Status;
use crate::{
    fence::FenceToken,
    reconcile::{Arriving, Outcome, Precondition},
};
use relaymesh_bus::write_class::EntityType;
use relaymesh_core::{
    hash::Hash,
    hlc::Hlc,
    id::{IntentId, NodeId, WriteId},
    name::Name,
    op::WriteClass,
};
use serde::{Deserialize, Serialize};

/// The longest text that a row keeps of what went wrong.
pub const NOTE_BYTES_MAX: usize = 512;

/// What is to be written, as its author said it. Nothing of it changes, but for the fence and the precondition, which an
/// operator may renew.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct Intent {
    /// The row's id.
    pub id: WriteId,
    /// What makes a replay the same write.
    pub intent: IntentId,
    /// When it was written, in the order that all nodes agree on (D11).
    pub created: Hlc,
    /// Who wrote it.
    pub origin: NodeId,
    /// Who has to have it.
    pub target: NodeId,
    /// The team or project.
    pub namespace: Name,
    /// The kind of thing.
    pub entity: EntityType,
    /// Which one.
    pub entity_id: String,
    /// Its class by the table.
    pub class: WriteClass,
    /// Under whose authority it was made.
    pub fence: Option<FenceToken>,
    /// What it expects to find.
    pub precondition: Precondition,
    /// The hash of what it wants to be there; the bytes lie beside the queue.
    pub content: Hash,
}

/// A row: an intended write, and how far it has come.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct Entry {
    /// What is to be written.
    pub write: Intent,
    /// Where it rests.
    pub status: Status,
    /// How often it was sent, the first try included. Only grows.
    pub attempt_count: u32,
    /// Whether it may be in effect although nobody said so (D13).
    pub indeterminate: bool,
    /// When it was last sent.
    pub last_attempt_ms: Option<u64>,
    /// Not to be sent before.
    pub next_attempt_ms: u64,
    /// What went wrong last, for people.
    pub last_error: Option<String>,
    /// How it was reconciled, if it was.
    pub outcome: Option<Outcome>,
    /// When it last changed.
    pub updated_ms: u64,
    /// When what it wants came into effect.
    pub applied_ms: Option<u64>,
}

impl Entry {
    /// What arrives at the target when it is replayed: with the fence and the precondition that it has had from the start.
    pub fn arriving(&self) -> Arriving {
        Arriving {
            intent: self.write.intent,
            origin: self.write.origin,
            created: self.write.created,
            class: self.write.class,
            fence: self.write.fence,
            precondition: self.write.precondition,
            content: self.write.content,
        }
    }

    /// Its place in the order of replay.
    pub(super) fn place(&self) -> (NodeId, Hlc, WriteId) {
        (self.write.target, self.write.created, self.write.id)
    }
}

/// At most [`NOTE_BYTES_MAX`] bytes of a text, whole characters.
pub(super) fn noted(text: &str) -> String {
    let fits = |end: &usize| text.is_char_boundary(*end);
    let end = (0..=NOTE_BYTES_MAX.min(text.len())).rev().find(fits).unwrap_or(0);
    text[..end].to_owned()
}
