//! The hashes: SHA3-256 for the chain of ops (V2), SHA-256 for content and requests (R6), BLAKE3 for what travels (A2).

use serde::{Deserialize, Deserializer, Serialize, Serializer, de::Error as _};
use sha2::Digest as _;
use std::{fmt, str::FromStr};

/// 32 bytes of a hash; hexadecimal for people, raw in binary forms.
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash, Default)]
pub struct Hash(pub [u8; 32]);

impl Hash {
    /// SHA-256, the hash that `result_hash_algo` names.
    pub fn sha256(bytes: &[u8]) -> Self {
        Self(sha2::Sha256::digest(bytes).into())
    }

    /// SHA3-256 over the parts one after the other.
    pub fn sha3(parts: &[&[u8]]) -> Self {
        let mut hasher = sha3::Sha3_256::new();
        for part in parts {
            hasher.update(part);
        }
        Self(hasher.finalize().into())
    }

    /// BLAKE3 over the parts one after the other: the content id of what travels between nodes.
    pub fn blake3(parts: &[&[u8]]) -> Self {
        let mut hasher = blake3::Hasher::new();
        for part in parts {
            hasher.update(part);
        }
        Self(*hasher.finalize().as_bytes())
    }
}

/// SHA-256 of bytes that come in parts.
#[derive(Debug, Clone, Default)]
pub struct Parts(sha2::Sha256);

impl Parts {
    /// The next part.
    pub fn update(&mut self, part: &[u8]) {
        self.0.update(part);
    }

    /// The hash of all of them.
    pub fn hash(self) -> Hash {
        Hash(self.0.finalize().into())
    }
}

/// Why a text is not a hash.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
#[error("a hash must be 64 hexadecimal digits, not {found} other characters")]
pub struct ParseError {
    found: usize,
}

impl fmt::Display for Hash {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        self.0.iter().try_for_each(|byte| write!(f, "{byte:02x}"))
    }
}

impl fmt::Debug for Hash {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        fmt::Display::fmt(self, f)
    }
}

impl FromStr for Hash {
    type Err = ParseError;

    fn from_str(text: &str) -> Result<Self, ParseError> {
        let wrong = ParseError { found: text.chars().count() };
        let digits = text.as_bytes();
        if digits.len() != 64 || !digits.iter().all(u8::is_ascii_hexdigit) {
            return Err(wrong);
        }
        let mut bytes = [0; 32];
        for (byte, pair) in bytes.iter_mut().zip(digits.chunks_exact(2)) {
            let pair = std::str::from_utf8(pair).map_err(|_| wrong.clone())?;
            *byte = u8::from_str_radix(pair, 16).map_err(|_| wrong.clone())?;
        }
        Ok(Self(bytes))
    }
}

impl Serialize for Hash {
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        if serializer.is_human_readable() { serializer.collect_str(self) } else { self.0.serialize(serializer) }
    }
}

impl<'de> Deserialize<'de> for Hash {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        if deserializer.is_human_readable() {
            String::deserialize(deserializer)?.parse().map_err(D::Error::custom)
        } else {
            <[u8; 32]>::deserialize(deserializer).map(Self)
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn known_answers() {
        assert_eq!(
            Hash::sha256(b"abc").to_string(),
            "ba7816bf8f01cfea414140de5dae2223b00361a396177a9cb410ff61f20015ad"
        );
        assert_eq!(
            Hash::sha3(&[b"a", b"bc"]).to_string(),
            "3a985da74fe225b2045c172d6bd390bd855f086e3e9d525b46bfe24511431532"
        );
        assert_eq!(
            Hash::blake3(&[b"a", b"bc"]).to_string(),
            "6437b3ac38465133ffb63b75273a8db548c558465d79db03fd359c6cd5bd9d85"
        );
    }

    #[test]
    fn text_form_round_trips_and_rubbish_is_refused() {
        let hash = Hash::sha256(b"x");
        assert_eq!(hash.to_string().parse(), Ok(hash));
        for text in ["", "00", &"g".repeat(64), &"é".repeat(32)] {
            assert!(text.parse::<Hash>().is_err(), "{text}");
        }
    }
}
