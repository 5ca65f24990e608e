//! Who asks.

use relaymesh_core::{name::Name, op::Via, trace};
use serde::{Deserialize, Serialize};
use std::sync::Arc;

/// Who asks; it stands on the log.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct Caller {
    /// The principal that is answerable.
    pub author: Name,
    /// From where: `cli`, `http`, …
    pub source: Name,
    /// How it came in, if it came from outside (R25). Whoever is at the local socket is inside.
    #[serde(skip)]
    pub via: Option<Arc<Via>>,
    /// Where in a trace it asks, if it says so (R30). Only the trace itself stands on the log.
    pub asked_in: Option<trace::Context>,
}

impl Caller {
    /// Somebody inside.
    pub fn new(author: Name, source: Name) -> Self {
        Self { author, source, via: None, asked_in: None }
    }

    /// The trace of what it asks for: its own, or a new one.
    pub fn trace_id(&self, new: u128) -> u128 {
        self.asked_in.map_or(new, |context| context.trace_id)
    }
}
