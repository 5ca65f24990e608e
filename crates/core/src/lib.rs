//! The pure kernel of one node: ids, clocks, ops and the machines that fold them.
//!
//! Everything here is a function of its arguments. There is no clock, no randomness, no I/O and no hash map to iterate:
//! time reaches the kernel as an op's [`hlc::Hlc`], identity and jitter come in from outside. So a live node, a restart,
//! a rebuild and a simulator that see the same ops reach the same rows, byte for byte.
//!
//! Every module here is reached by a daemon on one machine. What only several nodes need is in `relaymesh-mesh`; what ops carry
//! for them ([`kind`], [`register`]) is here as data.
//!
//! Absent on purpose: anything async, anything that logs, anything that reads the environment.

pub mod backoff;
pub mod budget;
pub mod canonical;
pub mod checkpoint;
pub mod content;
pub mod expr;
pub mod hash;
pub mod hex;
mod hex128;
pub mod hlc;
pub mod id;
pub mod kernel;
pub mod kind;
pub mod lanes;
pub mod lock;
pub mod message;
pub mod name;
pub mod namespace;
pub mod op;
pub mod plan;
pub mod register;
pub mod repeat;
pub mod row;
pub mod suggest;
pub mod task;
pub mod trace;
pub mod utc;
