//! A slot of the sidecar as bytes.
//!
//! ```text
//! slot   magic 8 · version 4 · turn 8 · origin 16 · origin_epoch 4 · pos 8 · seq 8 · hash 32 · SHA3-256 of these 32
//! ```
//!
//! `turn` says which slot is newer; the position cannot, because a recovery goes back to an earlier one. `hash` is that
//! of the op at `pos`, or of the empty chain at 0.
//!
//! Public for the fuzz target alone.

use relaymesh_core::{hash::Hash, id::NodeId};

const MAGIC: [u8; 8] = *b"RMhead\r\n";
const VERSION: u32 = 1;
/// The length of a slot; what follows the sum is zero.
pub const SLOT_BYTES: usize = 512;
/// How many bytes of a slot its sum covers.
pub const SUMMED_BYTES: usize = 8 + 4 + 8 + 16 + 4 + 8 + 8 + 32;

/// What the store has acknowledged.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Mark {
    /// Whose log.
    pub origin: NodeId,
    /// Which of its chains.
    pub origin_epoch: u32,
    /// Arrival number of the newest op.
    pub pos: u64,
    /// Place of the newest op on the chain.
    pub seq: u64,
    /// Hash of the newest op.
    pub hash: Hash,
}

/// The slot that says this.
pub fn encode(turn: u64, mark: Mark) -> [u8; SLOT_BYTES] {
    let mut bytes = [0; SLOT_BYTES];
    let mut at = 0;
    let mut put = |part: &[u8]| {
        bytes[at..at + part.len()].copy_from_slice(part);
        at += part.len();
    };
    put(&MAGIC);
    put(&VERSION.to_be_bytes());
    put(&turn.to_be_bytes());
    put(&mark.origin.to_bytes());
    put(&mark.origin_epoch.to_be_bytes());
    put(&mark.pos.to_be_bytes());
    put(&mark.seq.to_be_bytes());
    put(&mark.hash.0);
    let sum = Hash::sha3(&[&bytes[..SUMMED_BYTES]]);
    bytes[SUMMED_BYTES..SUMMED_BYTES + 32].copy_from_slice(&sum.0);
    bytes
}

/// The newest word of these slots, and its turn. A slot that cannot be read says nothing.
pub fn newest(slots: impl IntoIterator<Item = [u8; SLOT_BYTES]>) -> Option<(u64, Mark)> {
    slots.into_iter().filter_map(|slot| decode(&slot)).max_by_key(|(turn, _)| *turn)
}

/// What the slot says, and its turn, if its sum is right.
pub fn decode(bytes: &[u8; SLOT_BYTES]) -> Option<(u64, Mark)> {
    let (summed, rest) = bytes.split_at(SUMMED_BYTES);
    if rest[..32] != Hash::sha3(&[summed]).0 {
        return None;
    }
    let mut rest = summed;
    if take::<8>(&mut rest)? != MAGIC || u32::from_be_bytes(take(&mut rest)?) != VERSION {
        return None;
    }
    // After the last turn there is no next one to write. No store lives that long: somebody made it up.
    let turn = Some(u64::from_be_bytes(take(&mut rest)?)).filter(|turn| *turn < u64::MAX)?;
    let mark = Mark {
        origin: NodeId::from_bytes(take(&mut rest)?),
        origin_epoch: u32::from_be_bytes(take(&mut rest)?),
        pos: u64::from_be_bytes(take(&mut rest)?),
        seq: u64::from_be_bytes(take(&mut rest)?),
        hash: Hash(take(&mut rest)?),
    };
    Some((turn, mark))
}

fn take<const N: usize>(rest: &mut &[u8]) -> Option<[u8; N]> {
    let (part, after) = rest.split_first_chunk::<N>()?;
    *rest = after;
    Some(*part)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_turn_that_none_can_follow_is_no_turn() {
        let mark = Mark { origin: NodeId::new(1, 2), origin_epoch: 3, pos: 4, seq: 4, hash: Hash::sha256(b"op") };
        assert_eq!(decode(&encode(u64::MAX - 1, mark)), Some((u64::MAX - 1, mark)));
        assert_eq!(decode(&encode(u64::MAX, mark)), None);
        assert_eq!(newest([encode(u64::MAX, mark), encode(7, mark)]), Some((7, mark)));
    }
}
