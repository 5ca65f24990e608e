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
pub const PROTOCOL: u32 = 7;

/// The first word of either side.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct Hello {
    /// What it speaks.
    pub protocol: u32,
    /// Version of the daemon.
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
    /// The question.
    pub ask: Ask,
}

/// What can be asked.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub enum Ask {
    /// A command for the driver.
    Command {
        /// Who asks.
        caller: Caller,
        /// Purpose.
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
    /// Shows the state of the daemon.
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
        /// Purpose.
        submit: Box<Submit>,
        /// Those steps.
        gaps: Vec<RetryGap>,
    },
    /// Give free space of the database back to the file system. Writes wait meanwhile.
    Shrink,
}

/// What the daemon says.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub enum Word {
    /// To a question.
    Answer {
        /// Which.
        id: u64,
        /// Id of the reply.
        result: Result<Said, Fault>,
    },
    /// Something became durable.
    Event(Event),
}

/// A reply.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub enum Said {
    /// The driver's.
    Answer(Answer),
    /// Shows the state of the daemon.
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

/// State of the daemon.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, ToSchema)]
#[schema(as = DaemonStatus)]
pub struct Status {
    /// Process id.
    pub pid: u32,
    /// Version of the daemon.
    pub version: String,
    /// Id of the node.
    #[schema(value_type = String)]
    pub node: NodeId,
    /// Start time of the daemon, in milliseconds since 1970.
    pub started_ms: u64,
    /// Position of the newest durable op.
    pub pos: u64,
    /// Running attempts of this node's agents.
    pub running: u64,
    /// Ready steps in memory.
    pub ready: u64,
    /// Clients that wait for the end of a task.
    pub waiting: u64,
    /// Times that a step of lower priority was forced to run (R13).
    pub low_starvation_count: u64,
    /// Tasks accepted since the start.
    pub tasks_submitted: u64,
    /// Tasks that ended since the start.
    pub tasks_ended: u64,
    /// Clients of the local socket, including this one.
    pub clients: u64,
    /// Last alert, if any.
    pub alert: Option<String>,
    /// Why the tokens of the HTTP API cannot be read, if so: it lets nobody in.
    pub tokens_problem: Option<String>,
    /// Why the system clock is not believed, if so: nothing is deleted by age meanwhile.
    pub clock_problem: Option<String>,
    /// Why the newest settings were not loaded, if so.
    pub settings_problem: Option<String>,
    /// Why the newest agents.toml was not loaded, if so.
    pub agents_problem: Option<String>,
    /// Why the store can no longer be trusted, if so.
    pub poisoned: Option<String>,
    /// Free space on the disk of the root.
    pub disk_free_bytes: u64,
    /// Free space below which all writes are refused.
    pub disk_needed_bytes: u64,
    /// Why writes are refused for want of space, if so. A write was refused, and since then there has been no room.
    pub disk_full: Option<String>,
    /// Agents and providers that are held.
    pub held: Vec<HeldAgent>,
    /// How the previous daemon of this root stopped; `null` if there was none.
    pub last_stop: Option<LastStop>,
}

/// How the previous daemon of a root stopped: its recovery point.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, ToSchema)]
pub struct LastStop {
    /// Whether it stopped in order: everything written, every lease released. `false` after a kill, a crash or a power cut.
    pub clean: bool,
    /// Position of the newest op at the stop; if it was not clean, at the start of this daemon.
    pub pos: u64,
    /// Hash of that op.
    pub head: String,
    /// Time of the stop, in milliseconds since 1970; unknown if it was not clean.
    pub at_ms: Option<u64>,
}

/// An agent, or a provider with all its agents, that is held: it gets no work for a while.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, ToSchema)]
pub struct HeldAgent {
    /// Name.
    pub who: String,
    /// Time until which it is held, in milliseconds since 1970.
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
            tokens_problem: None,
            clock_problem: None,
            settings_problem: None,
            agents_problem: None,
            poisoned: None,
            disk_free_bytes: 0,
            disk_needed_bytes: 0,
            disk_full: None,
            held: Vec::new(),
            last_stop: None,
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
