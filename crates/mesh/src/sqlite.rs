//! The mesh store that outlives the process, for whoever embeds a bus.

pub use relaymesh_store::mesh::Limits;
pub use relaymesh_store_sqlite::{Options, SqliteMeshStore};
