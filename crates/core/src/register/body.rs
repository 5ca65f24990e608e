//! What an op says in a register.

use crate::{
    hash::Hash,
    hlc::Hlc,
    id::NodeId,
    kind::Pattern,
    name::Name,
    op::{ChainHead, bodies},
};

bodies! {
    /// What was said in a register.
    Register {
        /// From now on work of these kinds goes to one node, or to anybody again. Said by the owner (L5).
        RouteKind {
            /// Which kinds (L5).
            #[serde(rename = "kind")]
            pattern: Pattern,
            /// The node that alone may claim them; none: whoever may.
            #[serde(rename = "route")]
            target: Option<NodeId>,
        }
        /// From now on this node says what follows from the log. Said by the owner (L6).
        DesignateCoordinator {
            /// Which node.
            coordinator: NodeId,
        }
        /// Somebody is given a right. Said by whoever gives it: it counts from here on (L1).
        DelegateUcan {
            /// The whole chain, from the owner's key down.
            ucan_bytes: Vec<u8>,
        }
        /// A right is taken back, with all that came of it. Said by whoever gave it, or what it came from.
        RevokeUcan {
            /// The name of the link.
            ucan_cid: Hash,
        }
        /// From now on nothing that a node says counts, or what it says counts again. Said by the owner.
        FreezeNode {
            /// Which node.
            node: NodeId,
            /// Whether it is frozen from now on.
            frozen: bool,
        }
        /// A setting of the whole mesh. Said by the owner.
        SetSetting {
            /// Which one.
            name: Name,
            /// What it is from now on; none: its default.
            value: Option<String>,
        }
        /// From now on ops mean what programs of this level take them to mean. Said by the owner.
        SetFeatureLevel {
            /// The level.
            level: u32,
        }
        /// What is dated up to here is agreed on: `relaymesh.derive.seal`. Said by the coordinator (L14, D29).
        Seal {
            /// Nothing that is dated up to this time and lies behind the heads counts any more.
            upto: Hlc,
            /// Where each chain stood then: its newest op that is dated up to that time.
            heads: Vec<ChainHead>,
        }
    }
}
