//! The ways in.
//!
//! [`error`] is how everybody is told what went wrong, by a stable code. [`local`] is the daemon's socket for the command line
//! on the same machine. [`health`] is whether the daemon can do its work, and why not;
//! [`metrics`] is what operators watch over time.

pub mod error;
pub mod health;
pub mod local;
pub mod metrics;
