//! The sidecar: two slots that remember what was acknowledged. A sum guards each, so the target makes some right.

use relaymesh_core::{hash::Hash, id::NodeId};
use relaymesh_store_sqlite::slot::{self, Mark, SLOT_BYTES, SUMMED_BYTES};

/// The first byte says which slots get a right sum; the slots follow.
pub fn target(data: &[u8]) {
    let Some((&repaired, rest)) = data.split_first() else { return };
    let mut slots = [[0; SLOT_BYTES]; 2];
    for (index, slot) in slots.iter_mut().enumerate() {
        let part = rest.get(index * SLOT_BYTES..).unwrap_or_default();
        let part = &part[..part.len().min(SLOT_BYTES)];
        slot[..part.len()].copy_from_slice(part);
        if repaired & (1 << index) != 0 {
            let sum = Hash::sha3(&[&slot[..SUMMED_BYTES]]);
            slot[SUMMED_BYTES..SUMMED_BYTES + 32].copy_from_slice(&sum.0);
        }
    }
    let read = slots.each_ref().map(slot::decode);
    for (bytes, word) in slots.iter().zip(read) {
        let Some((turn, mark)) = word else { continue };
        let again = slot::encode(turn, mark);
        assert_eq!(again[..SUMMED_BYTES + 32], bytes[..SUMMED_BYTES + 32], "a slot has one spelling");
        assert!(turn < u64::MAX, "nothing could follow this turn");
        let mut bent = *bytes;
        bent[usize::from(repaired) % (SUMMED_BYTES + 32)] ^= 1;
        assert_eq!(slot::decode(&bent), None, "a flipped bit is not found");
    }
    let newest = slot::newest(slots);
    assert_eq!(newest.map(|(turn, _)| turn), read.iter().flatten().map(|(turn, _)| *turn).max());
}

/// A sidecar as it is, one with torn slots, and one that has just been made.
pub fn seeds() -> Vec<Vec<u8>> {
    let mark = |pos: u64| Mark {
        origin: NodeId::new(1_760_000_000_000, 2),
        origin_epoch: 3,
        pos,
        seq: pos,
        hash: Hash::sha256(&pos.to_be_bytes()),
    };
    let file = |repaired: u8, turns: [u64; 2]| {
        let slots = turns.map(|turn| slot::encode(turn, mark(turn)));
        [&[repaired][..], &slots[0], &slots[1][..SUMMED_BYTES + 32]].concat()
    };
    let alone = slot::encode(1, mark(0));
    vec![file(3, [8, 7]), file(0, [2, 1]), [&[1][..], &alone[..SUMMED_BYTES + 32]].concat()]
}
