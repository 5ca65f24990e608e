//! How much the engine holds in memory. Everything here has a limit, and at rest all of it is nothing.

use super::engine::Engine;
use crate::world::World;
use relaymesh_core::lanes::Priority;
use relaymesh_store::Reader;

/// How many of each thing the engine holds.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub struct Sizes {
    /// Tasks whose rows are live.
    pub tasks: usize,
    /// Other scopes whose rows are live.
    pub scopes: usize,
    /// Ready steps in the window: at most `queue_capacity`, and where there are several namespaces [`Sizes::RESERVED_MAX`] more for each.
    pub window: usize,
    /// Ready steps beside it that wait for a place: at most [`Sizes::PARKED_MAX`] for each agent and namespace.
    pub parked: usize,
    /// Attempts under way, of this node's own agents and of workers from outside.
    pub attempts: usize,
    /// Attempts of this node's own agents: at most `slots`.
    pub own: usize,
    /// Callers that wait for the end of a task.
    pub waiters: usize,
    /// Idempotency keys that no reader sees yet.
    pub keys: usize,
    /// Attempts whose claims are durable and whose work has not begun.
    pub to_start: usize,
    /// Outcomes that could not be written down yet.
    pub untold: usize,
    /// Ops in the batch that is being decided.
    pub open_ops: usize,
}

impl Sizes {
    /// Steps of one agent and namespace that are kept while they wait for a place.
    pub const PARKED_MAX: usize = Priority::ALL.len() * super::ready::PARKED_MAX;
    /// Steps of one namespace that the window has room for, however full it is.
    pub const RESERVED_MAX: usize = Priority::ALL.len() * super::ready::RESERVED;
}

impl<R: Reader, W: World> Engine<R, W> {
    /// How much is held in memory, for whoever watches over it.
    pub fn sizes(&self) -> Sizes {
        Sizes {
            tasks: self.live.tasks(),
            scopes: self.live.scopes(),
            window: self.ready.len(),
            parked: self.ready.parked(),
            attempts: self.attempts.len(),
            own: self.attempts.own(),
            waiters: self.audience.waiting(),
            keys: self.live.keys(),
            to_start: self.attempts.starts(),
            untold: self.attempts.untold(),
            open_ops: self.pipeline.ops(),
        }
    }
}
