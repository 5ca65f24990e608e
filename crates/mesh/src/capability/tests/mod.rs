//! What chains of capabilities promise: by tables of what is refused and why, and by laws over random chains.

mod bytes;
mod caveats;
mod chains;
mod kinds;
mod laws;
mod revocations;
mod roles;
mod world;
