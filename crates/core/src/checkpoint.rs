//! Checkpoints: what the log had come to at some point (D33).
//!
//! Purging rows and rebuilding them from the log contradict each other, unless both are on the log. A purge is an op in the
//! scope that it empties. A checkpoint is an op about the log itself: it says where every chain stood and what the hash
//! of all rows was. With a snapshot of those rows beside it, older ops can go once their scopes are purged, and
//! verifying and rebuilding begin there. It has no rows; whether what it says is true only a store can tell.

use crate::{op::ChainHead, row::StateHash};

/// How many chains a checkpoint may name: their heads fit into the body of an op.
pub const HEADS_MAX: usize = 200;

/// Why a checkpoint has no effect.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
pub enum Refusal {
    /// It is about an empty log.
    #[error("a checkpoint of nothing: position {pos}, {heads} chains")]
    Nothing {
        /// Where the log stood.
        pos: u64,
        /// How many chains it names.
        heads: usize,
    },
    /// It names too many chains.
    #[error("the checkpoint names {found} chains, {HEADS_MAX} are allowed")]
    TooManyHeads {
        /// How many.
        found: usize,
    },
    /// The chains are not in order, one is there twice, or one has no ops.
    #[error("the head of {} epoch {} is out of order or of an empty chain: name each chain once, by origin and epoch", head.origin, head.origin_epoch)]
    Heads {
        /// The head that is wrong.
        head: ChainHead,
    },
}

/// Whether a checkpoint says something that can be.
pub(crate) fn check(pos: u64, heads: &[ChainHead], _state: StateHash) -> Result<(), Refusal> {
    if pos == 0 || heads.is_empty() {
        return Err(Refusal::Nothing { pos, heads: heads.len() });
    }
    if heads.len() > HEADS_MAX {
        return Err(Refusal::TooManyHeads { found: heads.len() });
    }
    let chain = |head: &ChainHead| (head.origin, head.origin_epoch);
    let disorder = heads.windows(2).find(|pair| chain(&pair[0]) >= chain(&pair[1])).map(|pair| pair[1]);
    match disorder.or_else(|| heads.iter().find(|head| head.seq == 0).copied()) {
        Some(head) => Err(Refusal::Heads { head }),
        None => Ok(()),
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::{hash::Hash, id::NodeId};

    fn head(node: u128, origin_epoch: u32, seq: u64) -> ChainHead {
        ChainHead { origin: NodeId::new(0, node), origin_epoch, seq, hash: Hash::default() }
    }

    #[test]
    fn a_checkpoint_names_each_chain_once_and_in_order() {
        let say = |pos, heads: &[ChainHead]| check(pos, heads, StateHash(7));
        assert_eq!(say(9, &[head(1, 1, 3), head(1, 2, 1), head(2, 1, 5)]), Ok(()));
        assert_eq!(say(0, &[head(1, 1, 3)]), Err(Refusal::Nothing { pos: 0, heads: 1 }));
        assert_eq!(say(9, &[]), Err(Refusal::Nothing { pos: 9, heads: 0 }));
        for wrong in [head(1, 1, 4), head(0, 9, 4)] {
            assert_eq!(say(9, &[head(1, 1, 3), wrong]), Err(Refusal::Heads { head: wrong }));
        }
        assert_eq!(say(9, &[head(1, 1, 0)]), Err(Refusal::Heads { head: head(1, 1, 0) }));
        let many: Vec<ChainHead> = (0..=HEADS_MAX as u128).map(|node| head(node, 1, 1)).collect();
        assert_eq!(say(9, &many), Err(Refusal::TooManyHeads { found: HEADS_MAX + 1 }));
        assert_eq!(say(9, &many[1..]), Ok(()));
        let body = crate::op::log::Body::Checkpoint { pos: 9, heads: many[1..].to_vec(), state: StateHash(u128::MAX) };
        let mut bytes = Vec::new();
        crate::op::append(&body, &mut bytes);
        assert!(bytes.len() < crate::op::BODY_BYTES_MAX, "{} bytes", bytes.len());
    }
}
