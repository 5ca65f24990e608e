//! The ways in.
//!
//! [`error`] is how everybody is told what went wrong, by a stable code. [`local`] is the daemon's socket for the command line
//! on the same machine.

pub mod error;
pub mod local;
