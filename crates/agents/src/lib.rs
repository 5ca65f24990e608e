//! Agents that are processes, or are reached by HTTP: what they are told, how they are watched, and how they are ended.
//!
//! [`config`] says which agents there are. A [`Pool`] runs attempts, each on a thread of the pool, in a session and a folder of
//! its own, its input on stdin, its result on stdout, its progress on stderr, both kept in files. However an attempt ends, nothing
//! that it started outlives it ([`tree`]), and while it lasts it writes only where it may ([`confine`]). What is a [`Secret`] is taken
//! out of everything that an attempt says. Attempts of agents that are reached by [`http`] need neither threads nor folders; they end in
//! the same words.

/// The variable in which an attempt is told where in a trace it stands; as a header it is written small.
pub const TRACEPARENT: &str = "TRACEPARENT";

pub mod agent;
mod budgets;
mod cgroup;
pub mod config;
pub mod confine;
mod crowd;
mod end;
mod env;
mod folder;
pub mod http;
mod inference;
pub mod limits;
mod meter;
mod output;
mod pool;
mod process;
mod program;
mod ran;
mod redact;
mod rules;
pub mod schema;
mod secret;
mod spawn;
pub mod tool;
pub mod tree;
mod watch;
pub mod workspace;

pub use agent::{Agent, Audit, Kind, Process, Protocol, Terms};
pub use budgets::{AgentBudgets, Budgets};
pub use config::Agents;
pub use end::{End, Ended};
pub use inference::Inference;
pub use meter::{Meter, Used};
pub use pool::{Given, Input, Key, Launch, Place, Pool, Prepare};
pub use program::program;
pub use ran::{FILE as RAN, Ran};
pub use rules::{Confirm, Retry, quoted};
pub use secret::{HIDDEN, Secret};
