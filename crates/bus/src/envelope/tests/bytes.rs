//! Every byte of an envelope counts.

use super::*;
use crate::sign::Domain;
use proptest::prelude::*;

#[test]
fn golden_header() {
    let bytes = sealed(|_| {}).unwrap();
    let length = u32::from_be_bytes(bytes[64..68].try_into().unwrap()) as usize;
    let text = std::str::from_utf8(&bytes[68..68 + length]).unwrap();
    assert_eq!(
        text,
        format!(
            concat!(
                r#"{{"createdAt":"1000.0@{node}","entityId":"tsk-1","entityType":"task","fenceToken":"7:{node}:99","#,
                r#""intentId":"int-1","leaseEpoch":7,"nonce":"{nonce}","originNodeId":"{node}","originSeq":99,"#,
                r#""payload_cid":"{cid}","protocol":"fusion.shared-mesh","#,
                r#""recipient":{{"agent_fp":"{us}","kind":"direct"}},"recordId":"rec-1","sender":"{sender}","#,
                r#""senderEpoch":1,"sequence":3,"state":"intent","version":"1.0","writeClass":"strong"}}"#
            ),
            node = node(1),
            nonce = "05".repeat(24),
            cid = Hash::blake3(&[b"payload"]),
            us = fingerprint(US),
            sender = signer(SENDER).public_key(),
        )
    );
}

#[test]
fn d16_every_byte_of_an_envelope_counts() {
    let bytes = sealed(|_| {}).unwrap();
    assert!(open(&bytes, expected()).is_ok());
    for index in 0..bytes.len() {
        for flip in [0x01, 0x02, 0x04, 0x08, 0x10, 0x20, 0x40, 0x80, 0xff] {
            let mut other = bytes.clone();
            other[index] ^= flip;
            assert!(open(&other, expected()).is_err(), "byte {index} with {flip:#x}");
        }
    }
    for length in 0..bytes.len() {
        assert!(open(&bytes[..length], expected()).is_err(), "{length} bytes");
    }
    for more in [&[0][..], b"payload", &bytes] {
        assert!(open(&[&bytes, more].concat(), expected()).is_err());
    }
    for gone in 0..bytes.len() {
        let other = [&bytes[..gone], &bytes[gone + 1..]].concat();
        assert!(open(&other, expected()).is_err(), "without byte {gone}");
    }
}

#[test]
fn a_signature_for_something_else_is_none() {
    let bytes = sealed(|_| {}).unwrap();
    let length = u32::from_be_bytes(bytes[64..68].try_into().unwrap()) as usize;
    let mut other = bytes.clone();
    let signature = signer(SENDER).sign(Domain::Delegation, &bytes[68..68 + length]);
    other[..64].copy_from_slice(&signature.0);
    assert!(matches!(open(&other, expected()), Err(Error::Signature(_))));
}

#[test]
fn what_is_written_in_another_way_is_refused_although_it_is_signed() {
    let cases: [fn(String) -> String; 8] = [
        |text| format!(" {text}"),
        |text| text.replace(r#""leaseEpoch":7"#, r#""leaseEpoch":7.0"#),
        |text| text.replace(r#""state":"intent""#, r#""committedAt":null,"state":"intent""#),
        |text| text.replace(r#""version":"1.0""#, r#""version":"1.0","sequence":4"#),
        |text| text.replace(&"05".repeat(24), &"05".repeat(23)),
        |text| text.replace(r#""fenceToken":"7:"#, r#""fenceToken":"07:"#),
        |text| text.replace(r#""recordId":"rec-1""#, r#""recordId":"rec 1""#),
        |text| text.replace(r#""kind":"direct""#, r#""kind":"topic""#),
    ];
    for (index, change) in cases.into_iter().enumerate() {
        let bytes = rewritten(change);
        let refused = open(&bytes, expected());
        assert!(
            matches!(refused, Err(Error::NotCanonical | Error::Damaged { .. } | Error::DuplicateField { .. })),
            "case {index}: {refused:?}"
        );
    }
    let upper = rewritten(|text| {
        let cid = Hash::blake3(&[b"payload"]).to_string();
        text.replace(&cid, &cid.to_uppercase())
    });
    assert_eq!(open(&upper, expected()), Err(Error::NotCanonical));
}

#[test]
fn bounds_hold() {
    let mut bytes = sealed(|_| {}).unwrap();
    bytes[64..68].copy_from_slice(&(HEADER_BYTES_MAX as u32 + 1).to_be_bytes());
    assert_eq!(open(&bytes, expected()), Err(Error::HeaderSize { bytes: HEADER_BYTES_MAX + 1 }));
    let large = vec![0; PAYLOAD_BYTES_MAX + 1];
    let size = Error::PayloadSize { bytes: PAYLOAD_BYTES_MAX + 1 };
    assert_eq!(seal(&signer(SENDER), &header(), &large), Err(size.clone()));
    let forged = seal::sealed(&signer(SENDER), b"{}", &large);
    assert_eq!(open(&forged, expected()), Err(size));
    for text in [String::new(), "a b".to_owned(), "é".to_owned(), "x".repeat(129), "a\n".to_owned()] {
        assert_eq!(text.parse::<Id>(), Err(Error::Id), "{text}");
    }
    assert!("x".repeat(128).parse::<Id>().is_ok());
}

proptest! {
    #[test]
    fn arbitrary_bytes_never_panic(bytes in proptest::collection::vec(any::<u8>(), 0..300)) {
        prop_assert!(open(&bytes, expected()).is_err());
    }

    #[test]
    fn arbitrary_headers_behind_a_good_signature_never_panic(text in ".{0,200}") {
        prop_assert!(open(&seal::sealed(&signer(SENDER), text.as_bytes(), b""), expected()).is_err());
    }

    #[test]
    fn whatever_is_sealed_is_opened_again(
        sequence in 1..1_u64 << 53, epoch in 0..1_u64 << 53, nonce: [u8; 24],
        payload in proptest::collection::vec(any::<u8>(), 0..100),
    ) {
        let mut header = header();
        (header.sequence, header.sender_epoch, header.nonce) = (sequence, epoch, Nonce(nonce));
        let bytes = seal(&signer(SENDER), &header, &payload).unwrap();
        let envelope = open(&bytes, expected()).unwrap();
        prop_assert_eq!(envelope.payload(), &payload);
        (header.sender, header.payload_cid) = (signer(SENDER).public_key(), Hash::blake3(&[&payload]));
        prop_assert_eq!(envelope.header(), &header);
    }
}
