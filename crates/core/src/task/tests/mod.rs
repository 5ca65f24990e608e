//! What the task machine promises. Each test plays a short story in a [`world::World`], which checks after every op that
//! the rows are valid, that a refusal changed nothing, and that effects and revisions say what happened.

mod approvals;
mod artifacts;
mod cancels;
mod compensation;
mod fences;
mod flows;
mod graphs;
mod invariants;
mod leases;
mod redrives;
mod request_json;
mod requests;
mod results;
mod retries;
mod spec;
mod table_exact;
mod table_matrix;
mod walks;
mod world;
