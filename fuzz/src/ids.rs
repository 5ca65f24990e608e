//! Ids, names, hashes, stamps and keys: short texts that people paste and programs pass on.

use crate::{samples, say, survives_json, survives_postcard};
use relaymesh_core::{
    hash::Hash,
    hlc::Hlc,
    id::{LeaseToken, MessageId, NodeId, OpId, RepositoryId, RequestId, StepId, TaskId, ThreadId, WorkerId},
    lanes::Priority,
    name::{NAME_BYTES_MAX, Name},
    task::{key::GivenKey, spec::IdempotencyKey},
};
use std::{fmt, str::FromStr};

/// The data is read as text and as bytes, as each of them.
pub fn target(data: &[u8]) {
    if let Ok(text) = std::str::from_utf8(data) {
        as_text(text);
    }
    if let Some(bytes) = data.first_chunk::<16>() {
        as_bytes(*bytes);
    }
    if let Some(bytes) = data.first_chunk::<32>() {
        let hash = Hash(*bytes);
        assert_eq!(hash.to_string().parse(), Ok(hash));
        survives_json(&hash);
        survives_postcard(&hash);
    }
    if let Some(key) = IdempotencyKey::from_bytes(data) {
        assert_eq!(key.to_bytes(), data, "a key has one spelling");
        say(&key);
        survives_json(&key);
        survives_postcard(&key);
    }
    if let Ok(name) = postcard::from_bytes::<Name>(data) {
        survives_postcard(&name);
    }
    if let Ok(hlc) = postcard::from_bytes::<Hlc>(data) {
        assert_eq!(spelling::<Hlc>(&hlc.to_string()), Some(hlc));
        survives_postcard(&hlc);
    }
    if let Some(priority) = data.first().and_then(|number| Priority::from_u8(*number)) {
        assert_eq!(Some(&priority.as_u8()), data.first());
    }
}

macro_rules! ids {
    ($($id:ident)*) => {
        fn id_texts(text: &str) {
            let mut kinds = 0;
            $(if let Some(id) = spelling::<$id>(text) {
                kinds += 1;
                assert_eq!($id::from_bytes(id.to_bytes()), id);
                survives_json(&id);
            })*
            assert!(kinds <= 1, "`{text}` names things of two kinds");
        }

        fn as_bytes(bytes: [u8; 16]) {
            $({
                let id = $id::from_bytes(bytes);
                assert_eq!(id.to_bytes(), bytes);
                assert_eq!(spelling::<$id>(&id.to_string()), Some(id));
                survives_postcard(&id);
            })*
        }
    };
}

ids! { TaskId OpId NodeId RequestId WorkerId LeaseToken ThreadId MessageId RepositoryId }

fn as_text(text: &str) {
    id_texts(text);
    spelling::<StepId>(text);
    spelling::<Hlc>(text);
    spelling::<Priority>(text);
    if let Some(name) = spelling::<Name>(text) {
        assert!((1..=NAME_BYTES_MAX).contains(&name.as_str().len()));
    }
    if let Ok(key) = text.parse::<GivenKey>() {
        assert_eq!(key.as_str().parse().as_ref(), Ok(&key), "a key is its own spelling");
        let key = IdempotencyKey::Given(key);
        assert_eq!(IdempotencyKey::from_bytes(&key.to_bytes()), Some(key));
    }
    match text.parse::<Hash>() {
        Ok(hash) => assert_eq!(hash.to_string(), text.to_ascii_lowercase()),
        Err(error) => say(&error),
    }
}

/// Reads the text. There is one spelling of each value, so it is shown as it was read.
fn spelling<T>(text: &str) -> Option<T>
where
    T: FromStr<Err: fmt::Display> + fmt::Display + PartialEq,
{
    match text.parse::<T>() {
        Ok(value) => {
            assert_eq!(value.to_string(), text);
            Some(value)
        }
        Err(error) => {
            say(&error);
            None
        }
    }
}

/// One text of each kind, and keys as bytes.
pub fn seeds() -> Vec<Vec<u8>> {
    let task = samples::task_id();
    let bytes = task.to_bytes();
    let hash = Hash::sha256(b"x");
    let texts = [
        task.to_string(),
        OpId::from_bytes(bytes).to_string(),
        NodeId::from_bytes(bytes).to_string(),
        RequestId::from_bytes(bytes).to_string(),
        WorkerId::from_bytes(bytes).to_string(),
        LeaseToken::from_bytes(bytes).to_string(),
        StepId { task, index: 12 }.to_string(),
        samples::hlc().to_string(),
        hash.to_string(),
        "com.example.name-1".to_owned(),
        Priority::Low.to_string(),
    ];
    let keys = [
        IdempotencyKey::Request(hash),
        IdempotencyKey::RequestId(RequestId::from_bytes(bytes)),
        IdempotencyKey::Given(samples::name("key-1").into()),
    ];
    let texts = texts.into_iter().map(String::into_bytes);
    texts.chain(keys.iter().map(IdempotencyKey::to_bytes)).collect()
}
