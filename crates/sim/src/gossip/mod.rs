//! Meshes of many nodes that only watch each other: how fast a death is noticed, how often the living are doubted, and
//! what that costs.
//!
//! The machine is the one of production ([`relaymesh_mesh::membership`]); the network is here: a message takes between 1 and
//! 20 ms or is lost. One seed decides everything. `cargo run -p relaymesh-sim --bin membership` measures and writes the
//! page `docs/internals/membership.md`; the tests run what fits into them.

mod measure;
mod mesh;
mod page;
mod plot;
#[cfg(test)]
mod tests;

pub use measure::{Measured, Summary, measure, summary};
pub use page::{BEGIN, END, page, table};
pub use plot::plot;

/// The sizes of the page.
pub const SIZES: [usize; 4] = [3, 10, 100, 1_000];
/// The losses of the page, out of a thousand messages.
pub const LOSSES: [u64; 2] = [0, 50];
