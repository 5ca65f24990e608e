//! Heads and runs as bytes: one spelling, and every bent byte is found.

use super::*;
use proptest::prelude::*;
use relaymesh_bus::sign::{Domain, Signature};

/// What is wrong with these bytes of a head, if anything is.
fn head_counts(bytes: &[u8]) -> bool {
    SignedHead::decode(bytes).is_ok_and(|head| head.verify().is_ok())
}

fn run_counts(bytes: &[u8]) -> bool {
    Run::decode(bytes).is_ok_and(|run| run.verify(None).is_ok())
}

#[test]
fn a_head_reads_as_it_was_written() {
    let mut author = Author::new(1);
    author.write(300, 1_000, "x");
    let head = author.head(u64::MAX);
    assert_eq!(SignedHead::decode(&head.encode()), Ok(head));
    assert_eq!(head.verify(), Ok(author.feed()));
    let longest =
        SignedHead { origin_epoch: u32::MAX, seq: u64::MAX, as_of: Hlc { logical: u32::MAX, ..head.as_of }, ..head };
    assert_eq!(longest.encode().len(), HEAD_BYTES_MAX);
}

#[test]
fn every_bent_byte_of_a_head_is_found() {
    let mut author = Author::new(1);
    author.write(300, 1_000, "x");
    let bytes = author.head(70_000).encode();
    assert!(head_counts(&bytes));
    for at in 0..bytes.len() {
        for bit in 0..8 {
            let mut bent = bytes.clone();
            bent[at] ^= 1 << bit;
            assert!(!head_counts(&bent), "byte {at} bit {bit}");
        }
        assert!(!head_counts(&bytes[..at]), "{at} bytes of it");
    }
    assert!(!head_counts(&[&bytes[..], &[0]].concat()), "something behind it");
}

#[test]
fn every_bent_byte_of_a_run_is_found() {
    let bytes = Author::new(1).run(3, 1_000, "x").encode();
    assert!(run_counts(&bytes));
    for at in 0..bytes.len() {
        for bit in 0..8 {
            let mut bent = bytes.clone();
            bent[at] ^= 1 << bit;
            assert!(!run_counts(&bent), "byte {at} bit {bit}");
        }
        assert!(!run_counts(&bytes[..at]), "{at} bytes of it");
    }
    assert!(!run_counts(&[&bytes[..], &[0]].concat()), "something behind it");
}

#[test]
fn another_spelling_of_the_same_numbers_is_none() {
    let head = Author::new(1).head(5);
    let mut bytes = head.encode();
    // The epoch is 1 in one byte; as a varint it can be written in two.
    assert_eq!(bytes[34], 1);
    bytes.splice(34..35, [0x81, 0]);
    assert_eq!(SignedHead::decode(&bytes), Err(DecodeError::Spelling { what: "head" }));
}

#[test]
fn a_signature_for_something_else_is_none() {
    let author = Author::new(1);
    let head = author.head(5);
    let bytes = &head.encode()[..head.encode().len() - 65];
    for domain in Domain::ALL {
        let signed = SignedHead { signature: author.signer.sign(domain, bytes), ..head };
        assert_eq!(signed.verify().is_ok(), domain == Domain::Head, "{domain:?}");
    }
    let other = SignedHead {
        key: Author::new(2).head(5).key,
        as_of: Author::new(2).head(5).as_of,
        hash: Author::new(2).place().hash,
        ..head
    };
    assert!(matches!(other.verify(), Err(Refusal::Signature(_))), "under another's key");
}

#[test]
fn a_head_that_cannot_be_is_refused_although_it_is_signed() {
    let author = Author::new(1);
    let sign = |mut head: SignedHead| {
        let unsigned = SignedHead { signature: Signature([0; 64]), ..head }.encode();
        head.signature = author.signer.sign(Domain::Head, &unsigned[..unsigned.len() - 65]);
        head
    };
    let head = author.head(5);
    assert_eq!(sign(head), head);
    let stranger = Author::new(2).stamp(5);
    assert!(matches!(sign(SignedHead { as_of: stranger, ..head }).verify(), Err(Refusal::Stamp { seq: 0, .. })));
    let elsewhere = sign(SignedHead { origin_epoch: 2, ..head });
    assert!(matches!(elsewhere.verify(), Err(Refusal::Start { .. })), "the start of another epoch");
}

#[test]
fn what_is_too_long_is_refused_before_it_is_read() {
    let mut author = Author::new(1);
    let too_long = |bytes: &[u8]| matches!(Run::decode(bytes), Err(DecodeError::TooLong { .. }));
    assert!(too_long(&vec![1; RUN_ENCODED_MAX + 1]));
    let after = author.place();
    let head = author.head(1);
    assert!(too_long(&Run::new(after, vec![vec![0; OP_BYTES_MAX + 1]], head).encode()));
    assert!(too_long(&Run::new(after, vec![vec![0; OP_BYTES_MAX]; 17], head).encode()));
    assert!(Run::decode(&Run::new(after, vec![vec![0; OP_BYTES_MAX]; 16], head).encode()).is_ok());
    let many = Run::new(after, vec![Vec::new(); RUN_OPS_MAX + 1], head).encode();
    assert!(matches!(Run::decode(&many), Err(DecodeError::Damaged { .. })));
    let most = author.run(RUN_OPS_MAX as u64, 1, "x");
    assert_eq!(Run::decode(&most.encode()), Ok(most.clone()));
    assert_eq!(most.verify(None).unwrap().len(), RUN_OPS_MAX);
}

proptest! {
    #[test]
    fn any_bytes_are_read_or_refused(bytes in prop::collection::vec(any::<u8>(), 0..400)) {
        for bytes in [bytes.clone(), [&[1], &bytes[..]].concat()] {
            prop_assert!(!head_counts(&bytes));
            prop_assert!(!run_counts(&bytes));
        }
    }
}
