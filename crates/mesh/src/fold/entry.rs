//! An op in the set.

use super::causal::Spot;
use relaymesh_core::{
    hash::Hash,
    hlc::Hlc,
    id::NodeId,
    op::{Op, Scope},
};

/// An op with the hash that tells it from all others, and that of the op before it on its chain.
#[derive(Debug, Clone)]
pub(super) struct Entry {
    pub(super) op: Op,
    pub(super) hash: Hash,
    pub(super) previous: Hash,
}

impl Entry {
    /// An op of which nobody knows what comes before it.
    pub(super) fn new(op: Op) -> Self {
        let mut bytes = Vec::with_capacity(192);
        Op::encode(&op.header, &op.body, &mut bytes);
        Self { hash: Hash::sha3(&[&bytes]), op, previous: Hash::default() }
    }

    pub(super) fn spot(&self) -> Spot {
        Spot { scope: self.scope(), hlc: self.hlc(), hash: self.hash }
    }

    pub(super) fn scope(&self) -> Scope {
        self.op.header.scope
    }

    pub(super) fn hlc(&self) -> Hlc {
        self.op.header.hlc
    }

    pub(super) fn chain(&self) -> (NodeId, u32) {
        (self.op.header.origin, self.op.header.origin_epoch)
    }

    pub(super) fn seq(&self) -> u64 {
        self.op.header.seq
    }

    /// What ops of one scope are ordered by.
    pub(super) fn order(&self) -> (Hlc, Hash) {
        (self.hlc(), self.hash)
    }
}
