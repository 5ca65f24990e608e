//! What programs see, whichever way they came in: the command line with `--json` and the HTTP API say the same.

pub mod agent;
pub mod asked;
pub mod dead;
pub mod document;
pub mod entry;
pub mod export;
pub mod fenced;
pub mod lock;
pub mod message;
pub mod namespace;
mod results;
pub mod schema;
pub mod setting;
mod shown;
mod task;
pub mod token;

pub use results::{RESULT_BYTES_MAX, RESULTS_BYTES_MAX, Reference, Results, Room, place};
pub use shown::{
    Accepted, Attempts, Changed, Delivered, Ended, LogPart, Page, Purged, RunningAttempt, Shown, ShownStep, Submission,
    Summary,
};
pub use task::{View, bytes, content, progress, result, summary, took_ms};
