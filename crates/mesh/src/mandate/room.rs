//! Room: how much of a register is whose.
//!
//! A register keeps every word, so its room is bounded, and whoever may speak in it could fill it. Then the owner could neither take
//! a right back nor let anybody in. So what others than the owner's key say has a bound of its own, and each branch of the tree
//! of delegations has a share of that: somebody whom the owner let in, with all whom that one let in.
//!
//! The tempting wrong answer gives each node a share: a liar makes itself as many keys as it likes and lets them in.
//!
//! Words are counted in the order of their times, like everything about registers: so all nodes refuse the same ones.

use super::{judge::Unauthorised, registers::Registers};
use crate::register::{OTHERS_SEALS_MAX, OTHERS_WORDS_MAX, Register, SHARE_WORDS_MAX};
use relaymesh_bus::sign::PublicKey;
use relaymesh_core::{
    hlc::Hlc,
    id::NodeId,
    op::{Body, Op},
};
use std::collections::BTreeMap;

/// How many words others than the owner's key have said, register by register.
#[derive(Debug, Clone, Default)]
pub(super) struct Room {
    others: BTreeMap<Register, usize>,
    /// By register, and by whom the owner let in at first hand.
    shares: BTreeMap<(Register, PublicKey), usize>,
}

/// Words that are said, and how many may be.
struct Used {
    found: usize,
    max: usize,
}

impl Room {
    fn others(&self, register: Register) -> Used {
        let max = if register == Register::Seals { OTHERS_SEALS_MAX } else { OTHERS_WORDS_MAX };
        Used { found: self.others.get(&register).copied().unwrap_or_default(), max }
    }

    fn share(&self, register: Register, branch: PublicKey) -> Used {
        let max = if register == Register::Seals { OTHERS_SEALS_MAX } else { SHARE_WORDS_MAX };
        Used { found: self.shares.get(&(register, branch)).copied().unwrap_or_default(), max }
    }
}

impl Used {
    fn has_room(&self) -> bool {
        self.found < self.max
    }
}

impl Registers {
    /// Whether a register has room for a word of a node.
    pub fn has_room(&self, register: Register, node: NodeId, at: Hlc) -> bool {
        self.room_for(register, node, at).is_ok()
    }

    /// Whether there is room for what an op says, if that is a word of a register.
    pub(super) fn admit_word(&self, op: &Op) -> Result<(), Unauthorised> {
        let Body::Register(word) = &op.body else { return Ok(()) };
        self.room_for(word.register(), op.header.origin, op.header.hlc).map(drop)
    }

    /// Counts a word that took effect.
    pub(super) fn count_word(&mut self, op: &Op) {
        let Body::Register(word) = &op.body else { return };
        let register = word.register();
        if op.header.origin == self.root_node {
            return;
        }
        let branch = self.room_for(register, op.header.origin, op.header.hlc);
        *self.room.others.entry(register).or_default() += 1;
        if let Ok(Some(branch)) = branch {
            *self.room.shares.entry((register, branch)).or_default() += 1;
        }
    }

    /// Whose share a word of this node comes out of; none if it is the owner's own. Of several that it could come out of, the first one
    /// that has room: that somebody handed a node something does not tie the node to that one's share.
    fn room_for(&self, register: Register, node: NodeId, at: Hlc) -> Result<Option<PublicKey>, Unauthorised> {
        if node == self.root_node {
            return Ok(None);
        }
        let mut full = self.room.others(register);
        if full.has_room() {
            let holding = self.chains(node, at).filter(|chain| chain.holds(&self.revoked, at).is_ok());
            for branch in holding.filter_map(|chain| chain.links().first()).map(|link| link.delegation().aud) {
                full = self.room.share(register, branch);
                if full.has_room() {
                    return Ok(Some(branch));
                }
            }
        }
        Err(Unauthorised::NoRoom { register, node, found: full.found, max: full.max })
    }
}
