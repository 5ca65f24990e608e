//! The daemon's local socket: commands in, durable answers and events out.
//!
//! ```text
//! client ──Hello──► ◄──Hello── daemon            both say which protocol they speak; another one ends the talk
//!        ──Question{id}──► … ──Question{id}──►   as many as one likes, without waiting
//!        ◄──Word::Answer{id}──                   in the order in which they become durable
//!        ◄──Word::Event──                        after a Watch
//! ```
//!
//! A frame is its length in four bytes, little end first, and a message in postcard. Both ends are the same program of the same
//! version, so the form may change with every version; a golden test makes sure that it does not change by accident. The
//! socket lies in the root, which only its owner may enter, and the daemon asks the system who is at the other end.

mod client;
mod endpoint;
mod frame;
mod server;
#[cfg(test)]
mod tests;

pub use client::Client;
pub use endpoint::Endpoint;
pub use server::{Desk, serve};

use crate::{
    error::{Code, Error},
    flow::RetryGap,
};
use relaymesh_core::id::NodeId;
use relaymesh_runtime::{
    driver::{Answer, Caller, Command, Event, Submit},
    settings::Loaded,
};
use serde::{Deserialize, Serialize};
use utoipa::ToSchema;

/// Grows with every change of a message.
pub const PROTOCOL: u32 = 6;

/// The first word of either side.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct Hello {
    /// What it speaks.
    pub protocol: u32,
    /// Which program it is.
    pub version: String,
}

impl Hello {
    /// What this program says.
    pub fn ours() -> Self {
        Self { protocol: PROTOCOL, version: env!("CARGO_PKG_VERSION").to_owned() }
    }
}

/// What a client asks.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct Question {
    /// The answer has it too.
    pub id: u64,
    /// What it asks.
    pub ask: Ask,
}

/// What can be asked.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub enum Ask {
    /// A command for the driver.
    Command {
        /// Who asks.
        caller: Caller,
        /// What for.
        command: Box<Command>,
    },
    /// Events from now on.
    Watch,
    /// Take up what has changed in the files of the root.
    Reload,
    /// The settings that it runs with.
    Settings {
        /// Whether they are to be read again first.
        reload: bool,
    },
    /// How the daemon is.
    Status,
    /// What operators watch over time, as text.
    Metrics {
        /// In OpenMetrics' form, not in Prometheus' older one.
        open: bool,
    },
    /// Stop the daemon. The answer comes when it takes no more work.
    Stop,
    /// A submit; the daemon fills what its steps do not say about retries.
    Submit {
        /// Who asks.
        caller: Caller,
        /// What for.
        submit: Box<Submit>,
        /// Those steps.
        gaps: Vec<RetryGap>,
    },
}

/// What the daemon says.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub enum Word {
    /// To a question.
    Answer {
        /// Which.
        id: u64,
        /// The answer.
        result: Result<Said, Fault>,
    },
    /// Something became durable.
    Event(Event),
}

/// An answer.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub enum Said {
    /// The driver's.
    Answer(Answer),
    /// How the daemon is.
    Status(Box<Status>),
    /// The metrics.
    Metrics(String),
    /// The settings that it runs with, and names of those that the reload changed.
    Settings(Box<Loaded>, Vec<String>),
    /// It is so.
    Done,
}

/// An error on its way: the code, the message and what may help. What the code means both ends know.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct Fault {
    code: String,
    message: String,
    hints: Vec<String>,
}

/// How the daemon is. [`Status::health`] says whether that is well.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, ToSchema)]
pub struct Status {
    /// Its process.
    pub pid: u32,
    /// Which program it is.
    pub version: String,
    /// The node that the root belongs to.
    #[schema(value_type = String)]
    pub node: NodeId,
    /// Since when it is up.
    pub started_ms: u64,
    /// The newest durable op.
    pub pos: u64,
    /// Attempts of this node's agents under way.
    pub running: u64,
    /// Ready steps in memory.
    pub ready: u64,
    /// Callers that wait for the end of a task.
    pub waiting: u64,
    /// How often a lower lane had to be forced (R13).
    pub low_starvation_count: u64,
    /// Tasks that were accepted since it is up.
    pub tasks_submitted: u64,
    /// Tasks that came to an end since then.
    pub tasks_ended: u64,
    /// Clients at the socket, this one included.
    pub clients: u64,
    /// The last thing an operator should have seen, if there was one.
    pub alert: Option<String>,
    /// Why the newest settings were not taken up, if they were not.
    pub settings_problem: Option<String>,
    /// Why the newest agents were not taken up, if they were not.
    pub agents_problem: Option<String>,
    /// Why the store cannot be trusted any more, if it cannot.
    pub poisoned: Option<String>,
    /// Room on the disk of the root.
    pub disk_free_bytes: u64,
    /// Below this, nothing is written.
    pub disk_needed_bytes: u64,
    /// Who gets no work for a while.
    pub held: Vec<HeldAgent>,
}

/// An agent, or a provider with all its agents, that gets no work for a while.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, ToSchema)]
pub struct HeldAgent {
    /// Who.
    pub who: String,
    /// Until when, in milliseconds since 1970.
    pub until_ms: u64,
    /// Why, for people.
    pub because: String,
}

impl Status {
    /// A daemon of this process that has just begun, has nothing to do and no room.
    pub fn new(node: NodeId) -> Self {
        Self {
            pid: std::process::id(),
            version: env!("CARGO_PKG_VERSION").to_owned(),
            node,
            started_ms: 0,
            pos: 0,
            running: 0,
            ready: 0,
            waiting: 0,
            low_starvation_count: 0,
            tasks_submitted: 0,
            tasks_ended: 0,
            clients: 0,
            alert: None,
            settings_problem: None,
            agents_problem: None,
            poisoned: None,
            disk_free_bytes: 0,
            disk_needed_bytes: 0,
            held: Vec::new(),
        }
    }
}

impl Fault {
    /// An error with this code, as somebody else has told it.
    pub fn new(code: String, message: String, hints: Vec<String>) -> Self {
        Self { code, message, hints }
    }
}

impl From<Error> for Fault {
    fn from(error: Error) -> Self {
        Self { code: error.code.as_str().to_owned(), message: error.message, hints: error.hints }
    }
}

impl From<Fault> for Error {
    fn from(fault: Fault) -> Self {
        match Code::parse(&fault.code) {
            Some(code) => Self { hints: fault.hints, ..Self::new(code, fault.message) },
            None => Self::new(Code::Internal, format!("{}: {}", fault.code, fault.message)),
        }
    }
}
