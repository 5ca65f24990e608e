//! Keys and asks: what is hashed and compared.

use crate::{
    hash::Hash,
    id::RequestId,
    task::spec::{Ask, IdempotencyKey, RetryPolicy},
};

#[test]
fn equal_keys_have_equal_bytes_and_no_others() {
    let keys = [
        IdempotencyKey::Request(Hash::default()),
        IdempotencyKey::Request(Hash::sha256(b"x")),
        IdempotencyKey::RequestId(RequestId::new(0, 0)),
        IdempotencyKey::RequestId(RequestId::new(5, 6)),
        IdempotencyKey::Given("a".parse().unwrap()),
        IdempotencyKey::Given("b".parse().unwrap()),
    ];
    for (index, key) in keys.iter().enumerate() {
        assert_eq!(IdempotencyKey::from_bytes(&key.to_bytes()).as_ref(), Some(key));
        for other in &keys[index + 1..] {
            assert_ne!(key.to_bytes(), other.to_bytes());
        }
    }
}

#[test]
fn bytes_that_are_no_key_are_refused() {
    for bytes in [&[][..], &[0], &[0; 32], &[1; 16], &[1; 18], &[2], &[2, 0xff], &[2, b'"'], &[2, b'\n'], &[3, 1]] {
        assert_eq!(IdempotencyKey::from_bytes(bytes), None, "{bytes:?}");
    }
}

#[test]
fn an_ask_is_cited_by_the_hash_of_its_text() {
    let ask = Ask { text: "abc".to_owned(), deadline_ms: None };
    assert_eq!(ask.hash(), Hash::sha256(b"abc"));
}

#[test]
fn a_step_is_tried_three_times_unless_said_otherwise() {
    assert_eq!(RetryPolicy::default().max_attempts, 3);
}
