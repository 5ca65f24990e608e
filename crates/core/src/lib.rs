//! The pure kernel of RelayMesh: ids, clocks, ops and the machines that fold them.
//!
//! Everything here is a function of its arguments. There is no clock, no randomness, no I/O and no hash map to iterate:
//! time reaches the kernel as an op's [`hlc::Hlc`], identity and jitter come in from outside. So a live node, a restart,
//! a peer and a simulator that see the same ops reach the same rows, byte for byte.
//!
//! Absent on purpose: anything async, anything that logs, anything that reads the environment.

pub mod auth;
pub mod backoff;
pub mod breaker;
pub mod budget;
pub mod canonical;
pub mod capability;
pub mod checkpoint;
pub mod content;
pub mod envelope;
pub mod expr;
pub mod feed;
pub mod fence;
pub mod fold;
pub mod handoff;
pub mod hash;
mod hex128;
pub mod hlc;
pub mod id;
pub mod inbound;
pub mod kernel;
pub mod lanes;
pub mod lock;
pub mod mandate;
pub mod membership;
pub mod message;
pub mod name;
pub mod namespace;
pub mod op;
pub mod outbound;
pub mod peer;
pub mod plan;
pub mod reconcile;
pub mod register;
pub mod retry;
pub mod route;
pub mod row;
pub mod sign;
pub mod suggest;
pub mod sync;
pub mod task;
pub mod trace;
pub mod work;
pub mod write_class;
pub mod write_queue;
