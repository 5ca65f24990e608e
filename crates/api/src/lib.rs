//! The ways in.
//!
//! [`error`] has the errors with their stable codes. [`local`] is the daemon's socket for the command line
//! on the same machine, [`http`] is for everybody else. What either shows is made in [`view`], what either submits is checked in
//! [`flow`]: one definition for both. [`health`] is whether the daemon can do its work, and why not; [`metrics`] is what operators
//! watch over time, and [`traces`] is where the time of one task went.

pub mod error;
pub mod flow;
pub mod health;
pub mod http;
pub mod local;
pub mod lookup;
pub mod metrics;
pub mod time;
pub mod traces;
pub mod view;
