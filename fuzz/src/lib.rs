//! Fuzz targets: what reads bytes or text from outside, and what it promises.
//!
//! A target takes any bytes at all and asserts. The promises are the same everywhere:
//!
//! - no panic, no overflow of the stack, no hang, and memory in proportion to the input;
//! - what decodes can be encoded, and decodes again to an equal value;
//! - what is refused is refused in few words, however long the input is ([`say`]).
//!
//! The targets know nothing of a fuzzer. `tests/targets.rs` runs them for seconds with every test run, on seeds, on the
//! saved corpus and on inputs mutated with a fixed seed; `cargo xtask fuzz` runs them under libFuzzer for as long as
//! you like. An input that broke something lies in `corpus/<target>/` for ever.

pub mod auth;
pub mod backup;
pub mod bulk;
pub mod bus;
pub mod canonical;
pub mod capability;
pub mod content;
pub mod door;
pub mod envelope;
pub mod expr;
pub mod feed;
pub mod ids;
pub mod locks;
pub mod mutate;
pub mod op;
pub mod parcel;
pub mod request;
pub mod row;
pub mod samples;
pub mod settings;
pub mod sidecar;
pub mod sse;
pub mod workflow;

use std::fmt::Display;

/// The longest error text, in bytes. A terminal full of it is enough for anybody.
pub const ERROR_BYTES_MAX: usize = 2048;

/// Something that reads what comes from outside.
#[derive(Debug, Clone, Copy)]
pub struct Target {
    /// The name of its module, of its folder in the corpus and of its libFuzzer binary.
    pub name: &'static str,
    /// Panics if a promise is broken.
    pub run: fn(&[u8]),
    /// Valid inputs to start from.
    pub seeds: fn() -> Vec<Vec<u8>>,
}

macro_rules! targets {
    ($($name:ident)*) => {
        /// Every target there is.
        pub const TARGETS: &[Target] =
            &[$(Target { name: stringify!($name), run: $name::target, seeds: $name::seeds },)*];
    };
}

targets! { op row ids canonical request workflow sidecar content locks expr settings sse bus backup capability envelope parcel door bulk feed auth }

/// Checks that an error can be said, and in few words.
pub fn say(error: &dyn Display) {
    let text = error.to_string();
    assert!(!text.is_empty(), "an error that says nothing");
    assert!(text.len() <= ERROR_BYTES_MAX, "an error of {} bytes: {text:.200}…", text.len());
}

/// Checks that a value survives JSON, which is how programs see it.
pub(crate) fn survives_json<T>(value: &T)
where
    T: serde::Serialize + serde::de::DeserializeOwned + PartialEq + std::fmt::Debug,
{
    let text = serde_json::to_string(value).expect("a value has a JSON form");
    let again: T = serde_json::from_str(&text).unwrap_or_else(|error| panic!("{error}: {text}"));
    assert_eq!(again, *value, "through {text}");
}

/// Checks that a value survives postcard, which is how the log and the rows keep it.
pub(crate) fn survives_postcard<T>(value: &T)
where
    T: serde::Serialize + serde::de::DeserializeOwned + PartialEq + std::fmt::Debug,
{
    let bytes = postcard::to_stdvec(value).expect("a value has a binary form");
    assert_eq!(postcard::from_bytes::<T>(&bytes).as_ref(), Ok(value));
}
