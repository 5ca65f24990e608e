//! What is looked up for a scrape of the metrics.

use crate::{log::Log, root};
use relaymesh_api::{
    error::Error,
    local::Status,
    metrics::{Counts, Form, LaneGauge, Scrape, render},
};
use relaymesh_core::budget::Amount;
use relaymesh_runtime::{
    driver::{Glance, Handle},
    root_clock::RootClock,
};
use relaymesh_store::{Day, Reader as _};
use relaymesh_store_sqlite::SqliteReader;
use std::{
    path::{Path, PathBuf},
    sync::{Arc, Mutex, PoisonError},
};

/// Everything that metrics are made of.
pub(crate) struct Metrics {
    pub(crate) counts: Arc<Counts>,
    handle: Handle,
    log: Log,
    root: PathBuf,
    clock: Arc<RootClock>,
    /// Opened by the first scrape.
    reader: Mutex<Option<SqliteReader>>,
}

impl Metrics {
    pub(crate) fn new(counts: Arc<Counts>, handle: Handle, log: Log, root: &Path, clock: Arc<RootClock>) -> Self {
        Self { counts, clock, handle, log, root: root.to_owned(), reader: Mutex::default() }
    }

    /// The text of a scrape. `window_max` is how many ready steps fit in memory.
    pub(crate) fn text(&self, status: Status, glance: Glance, window_max: u64, form: Form) -> Result<String, Error> {
        let now_ms = self.clock.now_ms();
        let mut reader = self.reader.lock().unwrap_or_else(PoisonError::into_inner);
        let reader = match &mut *reader {
            Some(reader) => reader,
            none => none.insert(root::read(&self.root)?),
        };
        let gauges = reader.gauges(now_ms)?;
        let used_today =
            reader.spends(Day::of(now_ms))?.iter().fold(Amount::default(), |sum, spend| sum.plus(spend.amount));
        let scrape = Scrape {
            status,
            now_ms,
            lanes: gauges.lanes.map(|lane| LaneGauge {
                ready: lane.ready,
                later: lane.later,
                oldest_ms: lane.oldest_ms,
            }),
            window: (glance.sizes.window as u64, window_max, glance.sizes.parked as u64),
            approvals: gauges.approvals,
            leased_steps: gauges.leased_steps,
            active_tasks: gauges.active_tasks,
            messages_waiting: gauges.messages_waiting,
            blobs: gauges.blobs,
            fenced: gauges.fenced,
            database_bytes: gauges.database_bytes,
            wal_bytes: gauges.wal_bytes,
            used_today,
            log_dropped: self.log.dropped_total(),
            resident_bytes: resident_bytes(),
        };
        Ok(render(&self.counts, self.handle.meter(), &scrape, form))
    }
}

/// Memory of this process; 0 where the system does not tell.
fn resident_bytes() -> u64 {
    let pages = std::fs::read_to_string("/proc/self/statm").ok();
    let pages = pages.and_then(|text| text.split(' ').nth(1)?.parse::<u64>().ok());
    pages.unwrap_or(0) * rustix::param::page_size() as u64
}
