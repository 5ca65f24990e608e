//! Messages between agents.

use crate::error::Error;
use relaymesh_api::view::message::{Delivered, Replied, Spoken, Told, Waiting};
use relaymesh_core::{id::ThreadId, name::Name};
use relaymesh_runtime::driver::MessageCommand;

/// Messages between agents.
pub(crate) trait Messages {
    /// Gives a command; it is durable when this returns.
    fn message(&self, command: MessageCommand) -> Result<Given, Error>;

    /// The messages of a thread, oldest first.
    fn thread(&self, thread: ThreadId) -> Result<Vec<Spoken>, Error>;

    /// What waits for an agent, at most this many of each lane.
    fn inbox(&self, agent: &Name, limit: u32) -> Result<Vec<Waiting>, Error>;
}

/// What came of a command.
pub(crate) enum Given {
    Told(Told),
    Taken(Option<Delivered>),
    Replied(Replied),
}
