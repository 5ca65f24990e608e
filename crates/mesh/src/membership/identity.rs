//! Who a member is: the node, and which of its lives.

use relaymesh_core::id::NodeId;
use serde::{Deserialize, Serialize};

/// A node in one of its lives. Of two lives of one node the later one counts.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize, Deserialize)]
pub struct Identity {
    /// The node.
    pub node: NodeId,
    /// Grows whenever the node has to come back after it was declared dead, and with every start.
    pub life: u64,
}

impl foca::Identity for Identity {
    type Addr = NodeId;

    fn renew(&self) -> Option<Self> {
        Some(Self { node: self.node, life: self.life.checked_add(1)? })
    }

    fn addr(&self) -> NodeId {
        self.node
    }

    fn win_addr_conflict(&self, adversary: &Self) -> bool {
        self.life > adversary.life
    }
}
