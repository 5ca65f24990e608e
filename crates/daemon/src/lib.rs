//! The daemon: one per root, for as long as there is work to keep moving.
//!
//! ```text
//!  main      waits for the word to stop: a signal, or a client's
//!  io        the socket, on one thread
//!  api       the HTTP API, and readers that look into the store for it
//!  post, bus carry messages: to agents that run here, to and from programs that only rename files
//!  traces    sends spans to a collector, if there is one
//!  upkeep    sweeps and compacts, when it is time
//!  log       writes down what happens
//!  kernel, writer, checkpoint: the driver and its store
//! ```
//!
//! [`start()`] starts one that goes on by itself, [`run()`] is one, and [`session`] is what a command does without one.

pub mod agents;
mod carriers;
mod http;
mod live;
mod log;
mod metrics;
mod notify;
pub mod private;
mod recovery;
mod reload;
pub mod root;
mod run;
pub mod secrets;
pub mod session;
pub mod settings;
mod start;
pub mod text;
mod traces;
mod upkeep;
mod watchdog;

pub use log::{Form, Level};
pub use run::{Manner, run};
pub use start::{Started, start};

use relaymesh_runtime::driver::Caller;
use std::path::PathBuf;

/// A root, and who asks there.
#[derive(Debug, Clone)]
pub struct Home {
    /// The folder.
    pub root: PathBuf,
    /// Who asks; it stands on the log.
    pub caller: Caller,
}
