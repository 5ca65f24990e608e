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
//! [`start()`] starts one that goes on by itself, [`run()`] is one.

mod carriers;
mod http;
mod log;
mod metrics;
mod notify;
mod reload;
mod run;
mod settings;
mod start;
mod traces;
mod upkeep;

pub(crate) use log::{Form, Level};
pub(crate) use run::{Manner, run};
pub(crate) use start::{start, start_with};
