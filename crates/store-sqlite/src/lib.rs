//! The default store: one SQLite file in WAL mode, one writer, and a sidecar that remembers what was acknowledged.
//!
//! ```text
//!   root/                 0700, one process at a time
//!     lock                held for life, never deleted
//!     head                the sidecar: position and hash of the newest acknowledged op, in two alternating slots
//!     relaymesh.db        ops, rows, content, journals        + -wal, -shm
//!     blobs/<hash>        content that is too long for the database
//!     quarantine/         what a scrub found and did not understand
//!
//!   commit   statvfs (now and then) → BEGIN IMMEDIATE → rows → COMMIT (synced) → write `head` → Ok
//!   beside   a thread syncs `head` within 50 ms; another one checkpoints the WAL
//!   open     lock → modes → version → head against sidecar → migrations → tail of the chain → threads
//! ```
//!
//! A database alone cannot know that it has forgotten something: one flipped bit in the write-ahead log, or last week's
//! copy put back, and it opens without a word. The sidecar is written after each commit and compared at each open, so a
//! store that knows less than it has acknowledged says so and takes no more writes ([`relaymesh_store::Error::Amnesia`]).
//!
//! What is absent on purpose: rules (they are in the kernel), retries of a failed sync (the kernel of the operating
//! system may have dropped the pages), and custom SQL functions (people read the views with the plain `sqlite3` shell).

pub mod backup;
mod blobs;
mod check;
mod checkpoint;
mod columns;
mod commit;
mod compare;
mod connect;
mod failure;
#[cfg(any(test, feature = "faults"))]
pub mod faults;
mod flush;
mod gauges;
mod head;
mod health;
mod life;
mod lock;
mod modes;
mod naming;
mod options;
mod poison;
mod pragma;
mod reader;
pub mod recover;
mod root;
mod rows;
mod schema;
mod scopes;
mod scrub;
mod sidecar;
mod space;
mod spends;
mod stats;
mod store;
mod traffic;

#[cfg(test)]
mod tests;

pub use blobs::{FileBlobs, NewBlob};
pub use compare::BlobsCompared;
pub use gauges::{Gauges, Lane};
pub use health::{BlobNames, Room};
pub use options::{Options, Sync};
pub use reader::SqliteReader;
pub use recover::Recovery;
pub use root::Root;
pub use schema::SCHEMA_VERSION;
pub use scrub::Scrubbed;
#[doc(hidden)]
pub use sidecar::slot;
pub use stats::Stats;
pub use store::SqliteStore;
