//! The store seam: rows and ops in, rows and ops out, no rules.
//!
//! A [`Store`] is the writer and the only one; a [`Reader`] sees what has been committed. The traits live here, with
//! their users; implementations depend on this crate. [`memory`] is the smallest one, and `contract` is the suite of
//! named promises that every one keeps.
//!
//! This crate does no I/O.

pub mod batch;
pub mod content;
pub mod error;
pub mod key;
pub mod life;
pub mod memory;
pub mod proven;
pub mod saved;
pub mod scope;
pub mod spend;
pub mod traffic;
pub mod traits;
pub mod verify;

#[cfg(any(test, feature = "contract"))]
pub mod contract;

pub use batch::{
    Batch, ContentPut, Head, Heartbeat, IdempotencyRow, KeyPut, LeaseConflict, MessageFiles, StepPut, StoredOp, TaskPut,
};
pub use content::{Blob, Blobs, Content};
pub use error::Error;
pub use key::{ContentKey, StepKey};
pub use life::{Life, Run};
pub use proven::Proven;
pub use saved::{Saved, StepChange};
pub use scope::{SavedScope, ScopePut};
pub use spend::{Day, Spend};
pub use traits::{Due, Queue, Reader, Store, TaskFilter};
