//! What the bytes of an op and the chain over them promise.

mod arbitrary;
mod bytes;
mod chain;
mod golden;
mod names;
mod samples;
mod scopes;
