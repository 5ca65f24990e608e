//! Being told that there may be something new, without being told what.

use super::Stream;
use crate::error::Error;
use relaymesh_core::{id::TaskId, name::Name};
use std::time::Duration;

/// Bells that ring when something becomes durable.
pub(crate) trait Bells {
    /// A bell for whatever becomes durable from now on. Whoever listens first and looks then misses nothing.
    fn bell(&self, about: About) -> Result<Box<dyn Rings + '_>, Error>;
}

/// What a bell is for. It may ring for other things, too.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum About {
    /// A task.
    Task(TaskId),
    /// The messages of the namespace. A daemon that delivers them is kept up.
    Messages,
    /// Everything.
    Log,
}

/// How a wait ended.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Rang {
    /// There may be something new, or nothing happened for so long.
    Maybe,
    /// This bell will not ring any more.
    Ended,
}

/// A bell.
pub(crate) trait Rings {
    /// Waits for a ring, at most this long.
    fn wait(&mut self, at_most: Option<Duration>) -> Result<Rang, Error>;

    /// Rings for what these attempts write into this stream, too: steps of a task, each with the number of the attempt. How long to wait
    /// at most before the next look, if not all of that can be heard.
    fn listen(&mut self, task: TaskId, attempts: &[(Name, u32)], stream: Stream) -> Option<Duration>;
}
