//! A bus to embed: signed messages between two programs that know each other's keys, each taken once, in order, and spooled while
//! the other one is away.
//!
//! It does no I/O: it hands out bytes to send and takes bytes in, and the program that embeds it has the link, the clock and the
//! randomness. By default it remembers in memory and leaves no file behind (A3). With the feature `sqlite` there is a
//! store that outlives the process. It is the one exception to the rule that concrete stores are known to the binary alone: a
//! program that embeds a bus has no binary of ours to choose one for it.
//!
//! ```text
//!  bus          send, receive, drain: what a program calls
//!  envelope     what travels between two keys;  sign  keys and signatures;  write_class  how a write of each kind is ordered
//!  inbound      admits each envelope once;  outbound  numbers what goes, and keeps what waits;  retry  paces
//!  store        what a node remembers of its traffic: the trait, a store in memory, and with a feature one on SQLite
//! ```
//!
//! No daemon embeds it: its store's section of a batch is there for the day on which one does (D15).

pub mod bus;
#[cfg(feature = "contract")]
pub mod contract;
pub mod envelope;
pub mod inbound;
pub mod outbound;
pub mod retry;
pub mod sign;
#[cfg(feature = "sqlite")]
pub mod sqlite;
pub mod store;
pub mod write_class;

pub use bus::{Bus, Drain};
