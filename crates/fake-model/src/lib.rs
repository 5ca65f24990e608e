//! A scripted language model on loopback. Real agent tools talk to it, always get the same answers, and cost nothing.
//!
//! It speaks the four protocols that such tools speak, and plain JSON on any path that ends with `/json`; answers each request of the conversation with the next turn of its script, and
//! remembers what it was asked.

mod script;
mod server;
mod wire;

pub use script::Turn;
pub use server::{Asked, FakeModel};
