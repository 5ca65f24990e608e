//! The chain: whatever is changed in it is found (V2, D24).

use super::samples::{body, header, node};
use crate::{
    hlc::Hlc,
    op::{Break, Chain, Header, Kind, Link, link_hash},
};

const KINDS: [Kind; 5] = [Kind::ScheduleJob, Kind::ClaimWork, Kind::FailJob, Kind::ClaimWork, Kind::CompleteJob];

fn new() -> Chain {
    Chain::new(node(1), 1)
}

/// Five ops and the chain after them.
fn five() -> (Vec<Link>, Chain) {
    let mut chain = new();
    let links = KINDS.map(|kind| chain.append(&header(chain.next_seq()), &body(kind)));
    (links.to_vec(), chain)
}

fn verify(links: &[Link]) -> Result<Chain, Break> {
    let mut chain = new();
    for (pos, link) in (1u64..).zip(links) {
        let before = chain.clone();
        if let Err(broken) = chain.verify(pos, &link.bytes, link.hash) {
            assert_eq!(chain, before, "a refused link moved the chain");
            return Err(broken);
        }
    }
    Ok(chain)
}

/// What a forger does who can write files: all hashes made anew, so that they fit the bytes.
fn rehashed(mut links: Vec<Link>) -> Vec<Link> {
    let mut head = new().head;
    for link in &mut links {
        link.hash = link_hash(&head, &link.bytes);
        head = link.hash;
    }
    links
}

/// The five ops with another header in the third place.
fn with_third(change: impl Fn(&mut Header)) -> Vec<Link> {
    let mut chain = new();
    let mut links = Vec::new();
    for (seq, kind) in (1u64..).zip(KINDS) {
        let mut header = header(seq);
        if seq == 3 {
            change(&mut header);
        }
        links.push(chain.append(&header, &body(kind)));
    }
    links
}

#[test]
fn what_was_appended_verifies_and_ends_at_the_same_head() {
    let (links, chain) = five();
    assert_eq!(verify(&links), Ok(chain.clone()));
    assert_eq!((chain.seq, chain.next_seq(), chain.hlc), (5, 6, Some(header(5).hlc)));
    let mut again = new();
    for (pos, (link, kind)) in (1u64..).zip(links.iter().zip(KINDS)) {
        let op = again.verify(pos, &link.bytes, link.hash).unwrap();
        assert_eq!((op.pos, op.header, op.body), (pos, header(pos), body(kind)));
    }
}

#[test]
fn every_flipped_bit_of_every_op_is_found_where_it_is() {
    let (links, _) = five();
    for index in 0..links.len() {
        for bit in 0..links[index].bytes.len() * 8 {
            let mut changed = links.clone();
            changed[index].bytes[bit / 8] ^= 1 << (bit % 8);
            let broken = verify(&changed).unwrap_err();
            assert!(
                matches!(broken, Break::Hash { pos, .. } if pos == index as u64 + 1),
                "op {index} bit {bit}: {broken}"
            );
        }
    }
}

#[test]
fn every_flipped_bit_of_every_hash_is_found_where_it_is() {
    let (links, _) = five();
    for index in 0..links.len() {
        for bit in 0..256 {
            let mut changed = links.clone();
            changed[index].hash.0[bit / 8] ^= 1 << (bit % 8);
            let broken = verify(&changed).unwrap_err();
            assert!(
                matches!(broken, Break::Hash { pos, .. } if pos == index as u64 + 1),
                "op {index} bit {bit}: {broken}"
            );
        }
    }
}

#[test]
fn dropped_doubled_and_swapped_ops_are_found() {
    let (links, _) = five();
    for index in 0..4 {
        let edits: [fn(&mut Vec<Link>, usize); 3] = [
            |links, at| drop(links.remove(at)),
            |links, at| links.insert(at, links[at].clone()),
            |links, at| links.swap(at, at + 1),
        ];
        for edit in edits {
            let mut changed = links.clone();
            edit(&mut changed, index);
            assert!(matches!(verify(&changed), Err(Break::Hash { .. })));
            assert!(matches!(verify(&rehashed(changed)), Err(Break::Sequence { .. })), "even with fitting hashes");
        }
    }
}

#[test]
fn a_rewritten_history_ends_at_another_head() {
    let (_, chain) = five();
    let rewritten = with_third(|header| header.author = "mallory".parse().unwrap());
    let forged = verify(&rewritten).unwrap();
    assert_ne!(forged.head, chain.head, "a node that remembers the head finds it");
}

#[test]
fn another_origin_or_epoch_is_found() {
    let changes: [fn(&mut Header); 2] = [|header| header.origin = node(2), |header| header.origin_epoch = 2];
    for change in changes {
        let broken = verify(&with_third(change)).unwrap_err();
        assert!(matches!(broken, Break::Origin { pos: 3, .. }), "{broken}");
    }
    let (links, _) = five();
    for mut other in [Chain::new(node(2), 1), Chain::new(node(1), 2)] {
        assert!(matches!(other.verify(1, &links[0].bytes, links[0].hash), Err(Break::Hash { pos: 1, .. })));
    }
}

#[test]
fn time_that_stands_still_or_goes_back_is_found() {
    let earlier = Hlc { wall_ms: header(2).hlc.wall_ms - 1, ..header(2).hlc };
    for found in [header(2).hlc, earlier] {
        let broken = verify(&with_third(|header| header.hlc = found)).unwrap_err();
        assert_eq!(broken, Break::Time { pos: 3, found, before: header(2).hlc });
    }
}

#[test]
fn a_gap_in_the_sequence_is_found() {
    let broken = verify(&with_third(|header| header.seq = 4)).unwrap_err();
    assert_eq!(broken, Break::Sequence { pos: 3, found: 4, expected: 3 });
}

#[test]
fn bytes_that_fit_their_hash_and_are_no_op_are_found() {
    let (links, mut chain) = five();
    let bytes = links[4].bytes[..40].to_vec();
    let hash = link_hash(&chain.head, &bytes);
    assert!(matches!(chain.verify(6, &bytes, hash), Err(Break::Decode { pos: 6, .. })));
}

#[test]
fn breaks_say_where_for_people() {
    let broken = verify(&with_third(|header| header.seq = 4)).unwrap_err().to_string();
    assert_eq!(broken, "op 3 has sequence 4, expected 3: ops are missing or out of order");
}
