//! Agents that are reached by HTTP: a language model's service, or any server that takes JSON.
//!
//! ```text
//! config    which url, in which words, with which key        address   who may be reached at all
//! request   what is sent                                     client    how it is sent, and what went wrong on the way
//! sse       a stream of events, out of bytes                 answer    what was said, out of events (chat, responses, messages, plain)
//! limit     until when a provider wants to be left alone     voice     lines for people, while it speaks
//! call      one attempt, from its input to its end           calls     all attempts under way, on one thread
//! ```
//!
//! All but the last four are functions of their arguments. A request is sent once in an attempt: once bytes are on their way, nobody knows what the
//! other side did with them, so whether it is sent again is for the step's `retry` to say.

pub mod address;
pub mod answer;
mod call;
mod calls;
mod client;
pub mod config;
pub mod limit;
mod request;
pub mod sse;
mod voice;

pub use calls::{Calls, Launch};
pub use client::{cause, prepare_tls};
pub use config::{Api, Http};
