//! Settings: numbers that operators may change, under the names of the contract's parameter table (R18).
//!
//! ```text
//! default  <  relaymesh-settings.json in the root  <  RELAYMESH_<NAME>  <  up --set name=value
//! ```
//!
//! [`TABLE`] is the only list of them: parsing, bounds, `settings show` and the reference page are made from it. A load gives all of them or
//! none: whoever has settings keeps them when the next load fails. Values are never written down outside of the file; the
//! [`history`] has names alone.

pub mod history;
mod load;
pub mod mesh;
pub mod page;
mod table;

#[cfg(test)]
mod tests;

pub use load::{Error, FILE, Layers, Loaded, Source, VARIABLE_PREFIX};
pub use table::{Effect, NORMAL, OFF, Setting, Settings, TABLE, Value};

use crate::{driver::Config, upkeep::Retention};
use relaymesh_core::{backoff::Backoff, task::spec::RetryPolicy};

impl Settings {
    /// What of them the driver uses.
    pub fn config(&self) -> Config {
        Config {
            queue_capacity: size(self.queue_capacity),
            lease_timeout_ms: self.lease_timeout_ms,
            reclaim_scan_interval_ms: self.reclaim_scan_interval_ms,
            max_consecutive_high: u32::try_from(self.max_consecutive_high).unwrap_or(u32::MAX),
            namespace_weights: table::weights(&self.namespace_weights).unwrap_or_default(),
            payload_max_bytes: size(self.payload_max_bytes),
            ..Config::default()
        }
    }

    /// How a step is tried again that says nothing about it.
    pub fn retry(&self) -> RetryPolicy {
        let backoff = Backoff { base_ms: self.base_backoff_ms, max_ms: self.max_backoff_ms };
        RetryPolicy { max_attempts: u32::try_from(self.max_attempts).unwrap_or(u32::MAX), backoff }
    }

    /// How many of a thousand traces are kept.
    pub fn traced_per_mille(&self) -> u64 {
        if self.otlp_endpoint.is_empty() { 0 } else { self.trace_sample_per_mille }
    }

    /// What of them the upkeep uses.
    pub fn retention(&self) -> Retention {
        Retention { done_retention_days: self.done_retention_days, idempotency_ttl_days: self.idempotency_ttl_days }
    }
}

/// A number that is a size in memory. The bounds of the table are far below what does not fit.
pub fn size(number: u64) -> usize {
    usize::try_from(number).unwrap_or(usize::MAX)
}
