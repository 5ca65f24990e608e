//! What goes on between nodes.
//!
//! For now there is one room, [`bus`]: signed messages between two programs that know each other's keys, each taken once, in order,
//! and spooled while the other one is away. It does no I/O: it hands out bytes to send and takes bytes in, and whoever embeds
//! it has the link, the clock and the randomness. By default it remembers in memory and leaves no file behind (A3).
//!
//! With the feature `sqlite` there is a store that outlives the process. It is the one exception to the rule that concrete
//! stores are known to the binary alone: whoever embeds a bus has no binary of ours to choose one for it.

pub mod bus;
#[cfg(feature = "sqlite")]
pub mod sqlite;

pub use bus::{Bus, Drain};
