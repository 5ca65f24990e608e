//! A seeded world: the production driver on a simulated clock and a simulated disk.
//!
//! One seed decides everything: what clients ask for, how long agents take, when the process is killed, what the disk
//! does. The same seed is the same run, event by event, so a failure can be looked at as often as it takes. First things
//! break, then the world heals and everything that was accepted must come to rest; the [`invariant`] files say what must
//! hold meanwhile.
//!
//! The driver's loop with its engine, the kernel, the clock's guard and the memory store are the ones of production and of its
//! tests. Only the two threads are replaced, by `node::life`, and the time that a commit takes. There is no thread, no wall clock and no
//! hash map to iterate in here.
//!
//! Run it with `cargo xtask sim --seeds 1000`, repeat one run with `cargo xtask sim --seed N`.

#![forbid(unsafe_code)]

mod actor;
mod call;
mod fault;
pub mod gossip;
pub mod history;
pub mod invariant;
mod keys;
mod ledger;
pub mod net;
mod node;
mod plan;
mod report;
mod rng;
mod share;
mod time;
mod totals;
mod trace;
mod world;

pub use call::{Actor, CallId};
pub use fault::Fault;
pub use keys::overlap;
pub use report::{FAULTS_MIN, OPS_MIN, Report, SUCCESS_PER_CENT_MIN, Verdict, run};
pub use time::{MS, Ns, SECOND};
pub use totals::Totals;
pub use trace::{Record, Trace, What};
