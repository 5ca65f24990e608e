//! What membership promises: the windows by table and by property, and stories in a small [`world::World`]. How it does in
//! meshes of up to a thousand nodes is measured by the simulator, see `docs/internals/membership.md`.

mod believing;
mod bytes;
mod doubt;
mod dwells;
mod stories;
mod world;

use super::*;
use relaymesh_core::id::NodeId;

fn node(number: u128) -> NodeId {
    NodeId::new(1, number)
}
