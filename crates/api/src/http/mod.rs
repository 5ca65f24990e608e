//! The HTTP API: `/api/v1`, for programs and the console.
//!
//! ```text
//!  socket ─► serve    connections are counted, headers have little time, whoever does not read is let go of
//!         ─► guard    one door in front of every route: host, page, token, scope, form of the body, rate; nothing passes beside it
//!         ─► routes   one file per resource, thin: a look by a reader thread, or a command to the driver
//! ```
//!
//! Everything is closed unless it is opened: an operation says in its own definition which scope it needs and what body it takes, the
//! door goes by that (`operations.rs`), and so do the OpenAPI document and the test that tries every refusal on every route. A write
//! is acknowledged when it is durable, as everywhere, and stands on the log with how it came in (R25).
//!
//! The server has a thread of its own. Looks into the store run on a few threads with read-only connections (`readers.rs`), never on it.

mod bulk;
mod crowd;
mod desk;
mod document;
mod door;
mod events;
pub mod fuzzing;
mod guard;
mod json;
mod keys;
mod operations;
mod port;
mod principal;
mod problem;
mod query;
mod rate;
mod readers;
mod routes;
mod serve;
mod stall;
mod stream;
#[cfg(test)]
mod tests;
mod tls;
mod unread;
mod uploads;
mod waits;

pub use desk::{Begin, Change, Changed, Desk, Open, Sweep, Upload};
pub use keys::{CODE_FILE, Code as OneTimeCode};
pub use problem::status;
pub use readers::Readers;
pub use routes::{BASE, document};
pub use serve::{Listening, bind, serve};
pub use tls::Certificate;
