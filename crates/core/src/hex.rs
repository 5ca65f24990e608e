//! Byte arrays with a name: raw in binary forms, lower-case hexadecimal in text. Each value has one spelling.

use std::fmt;

/// Why a text is not so many bytes.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
#[error("{what} must be {digits} lower-case hexadecimal digits, not {found} other characters")]
pub struct HexError {
    /// What was wanted.
    pub what: &'static str,
    /// How many digits it has.
    pub digits: usize,
    /// How many characters were given.
    pub found: usize,
}

/// The bytes that lower case digits spell.
pub fn decode<const N: usize>(what: &'static str, text: &str) -> Result<[u8; N], HexError> {
    let wrong = || HexError { what, digits: 2 * N, found: text.chars().count() };
    let digit = |c: u8| match c {
        b'0'..=b'9' => Ok(c - b'0'),
        b'a'..=b'f' => Ok(c - b'a' + 10),
        _ => Err(wrong()),
    };
    if text.len() != 2 * N {
        return Err(wrong());
    }
    let mut bytes = [0; N];
    for (byte, pair) in bytes.iter_mut().zip(text.as_bytes().chunks_exact(2)) {
        *byte = digit(pair[0])? << 4 | digit(pair[1])?;
    }
    Ok(bytes)
}

/// The digits of bytes.
pub fn encode(bytes: &[u8], f: &mut fmt::Formatter<'_>) -> fmt::Result {
    bytes.iter().try_for_each(|byte| write!(f, "{byte:02x}"))
}

/// Defines types that hold a fixed number of bytes. The crate that uses it depends on `serde`.
#[macro_export]
macro_rules! hex_bytes {
    ($($(#[$doc:meta])* $name:ident, $what:literal, $bytes:literal;)*) => {$(
        $(#[$doc])*
        #[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash)]
        pub struct $name(pub [u8; $bytes]);

        impl std::fmt::Display for $name {
            fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
                $crate::hex::encode(&self.0, f)
            }
        }

        impl std::fmt::Debug for $name {
            fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
                std::fmt::Display::fmt(self, f)
            }
        }

        impl std::str::FromStr for $name {
            type Err = $crate::hex::HexError;

            fn from_str(text: &str) -> Result<Self, Self::Err> {
                $crate::hex::decode($what, text).map(Self)
            }
        }

        impl serde::Serialize for $name {
            fn serialize<S: serde::Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
                if serializer.is_human_readable() {
                    serializer.collect_str(self)
                } else {
                    serializer.serialize_bytes(&self.0)
                }
            }
        }

        impl<'de> serde::Deserialize<'de> for $name {
            fn deserialize<D: serde::Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
                use serde::de::Error as _;
                if deserializer.is_human_readable() {
                    String::deserialize(deserializer)?.parse().map_err(D::Error::custom)
                } else {
                    let bytes = <&[u8]>::deserialize(deserializer)?;
                    bytes.try_into().map(Self).map_err(|_| D::Error::invalid_length(bytes.len(), &$what))
                }
            }
        }
    )*};
}

pub use hex_bytes;
