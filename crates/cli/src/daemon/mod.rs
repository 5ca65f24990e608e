//! The daemon: one per root, for as long as there is work to keep moving.
//!
//! ```text
//!  main      waits for the word to stop: a signal, or a client's
//!  io        the socket, on one thread
//!  upkeep    sweeps and compacts, when it is time
//!  kernel, writer, checkpoint: the driver and its store
//! ```
//!
//! [`start()`] starts one that goes on by itself, [`run()`] is one.

mod reload;
mod run;
mod start;
mod talk;
mod upkeep;

pub(crate) use run::{Manner, run};
pub(crate) use start::start;
