//! Content: inputs and results, kept beside the log and named on it by hash.
//!
//! An op carries a [`ContentRef`], never the bytes. Whoever reads the bytes checks them against the reference,
//! so a flipped bit in a result is an error with a name and never a wrong answer (D3).

use crate::hash::Hash;
use serde::{Deserialize, Serialize};

/// Content up to this size lies in the content table, in the same commit as the op that names it; longer content in a
/// blob beside it.
pub const INLINE_BYTES_MAX: usize = 8 * 1024;

/// The longest content there may be, however far the setting `payload_max_bytes` is raised.
pub const CONTENT_BYTES_MAX: usize = 64 * 1024 * 1024;

/// The longest content, unless the settings say otherwise (R9).
pub const CONTENT_BYTES_DEFAULT: usize = 10 * 1024 * 1024;

/// What kind of bytes they are.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, Serialize, Deserialize)]
pub enum Media {
    /// JSON text.
    #[serde(rename = "application/json")]
    Json,
    /// UTF-8 text.
    #[serde(rename = "text/plain")]
    Text,
}

/// Names content by hash, length and media type.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, Serialize, Deserialize)]
pub struct ContentRef {
    /// SHA-256 of the bytes.
    pub hash: Hash,
    /// How many bytes.
    pub len: u32,
    /// What kind of bytes.
    pub media: Media,
}

/// The bytes are not those that the reference names.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
#[error("content {expected} is damaged: found {found_len} bytes with hash {found}")]
pub struct Damaged {
    /// The hash that the log names.
    pub expected: Hash,
    /// The hash of what was found.
    pub found: Hash,
    /// The length of what was found.
    pub found_len: usize,
}

impl ContentRef {
    /// The reference that names these bytes. `bytes` are at most [`CONTENT_BYTES_MAX`] long, which callers have checked.
    pub fn of(media: Media, bytes: &[u8]) -> Self {
        Self { hash: Hash::sha256(bytes), len: u32::try_from(bytes.len()).unwrap_or(u32::MAX), media }
    }

    /// Whether these are the bytes that the reference names.
    pub fn check(&self, bytes: &[u8]) -> Result<(), Damaged> {
        let found = Hash::sha256(bytes);
        if found == self.hash && bytes.len() == self.len as usize {
            return Ok(());
        }
        Err(Damaged { expected: self.hash, found, found_len: bytes.len() })
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn every_flipped_bit_is_found() {
        let bytes = b"{\"answer\":42}".to_vec();
        let reference = ContentRef::of(Media::Json, &bytes);
        assert_eq!(reference.check(&bytes), Ok(()));
        for bit in 0..bytes.len() * 8 {
            let mut flipped = bytes.clone();
            flipped[bit / 8] ^= 1 << (bit % 8);
            assert!(reference.check(&flipped).is_err(), "bit {bit}");
        }
        assert!(reference.check(&bytes[1..]).is_err());
    }
}
