//! Metrics in the Prometheus format (R29).
//!
//! ```text
//!   events of the driver ──► Counts   atomic additions, on the driver's thread
//!   the writer           ──► Meter    a clock read twice a batch
//!   a scrape             ──► Scrape   what is looked up when somebody asks, and costs nothing when nobody does
//!                     all three ──► render() ──► text
//! ```
//!
//! Labels are bounded: lanes, states and outcomes are few, and of agents the first so many have a name and the others share one. There is
//! one table of names ([`TABLE`]); the dashboard, the alerts and the page are compared with it.

mod counts;
mod scrape;
mod table;
mod text;

#[cfg(test)]
mod tests;

pub use counts::Counts;
pub use scrape::{LaneGauge, Scrape};
pub use table::{Definition, Kind, TABLE};
pub use text::{Form, render};
