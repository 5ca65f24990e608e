//! Under which names the engine acts.

use super::{ask::asker, caller::Caller};
use relaymesh_core::{
    id::{NodeId, WorkerId},
    name::Name,
};
use relaymesh_store::Error;

#[derive(Debug)]
pub(super) struct Identity {
    pub(super) node: NodeId,
    /// The world's own agents are one worker, named after the node: after a restart its leases are known to be dead.
    pub(super) worker: WorkerId,
    /// Steps that wait for an answer are held by another one: their answers may come after a restart, so its leases outlive it.
    pub(super) asker: WorkerId,
    /// The author of ops that nobody asked for.
    pub(super) driver: Caller,
}

impl Identity {
    pub(super) fn of(node: NodeId) -> Result<Self, Error> {
        let name = |text: &str| text.parse::<Name>().map_err(|e| Error::Unusable { detail: e.to_string() });
        Ok(Self {
            node,
            worker: WorkerId::from_bytes(node.to_bytes()),
            asker: asker(node),
            driver: Caller::new(name("node")?, name("driver")?),
        })
    }
}
