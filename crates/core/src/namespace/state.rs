//! The row: one a namespace.

use crate::{hlc::Hlc, id::NamespaceId, name::Name};
use serde::{Deserialize, Serialize};

/// The row of a namespace. There from its creation on, for ever.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct Namespace {
    /// Grows by one with every op that took effect here.
    pub rev: u32,
    /// The namespace's id, derived from its name.
    pub id: NamespaceId,
    /// What people call it.
    pub name: Name,
    /// Who made it.
    pub author: Name,
    /// What it is for, for people: one line, or nothing.
    pub about: String,
    /// When it was made.
    pub created_ms: u64,
    /// The newest op that took effect here.
    pub head: Hlc,
}
