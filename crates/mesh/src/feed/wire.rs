//! How bytes and lists from outside are read: bytes as one piece, lists no longer than they may be.
//!
//! A list of lists is where a small frame becomes a large heap: a megabyte of zeros is a million empty lists of 24 bytes
//! each. So the bound holds while the list is read, not afterwards.

use serde::{
    Deserialize, Deserializer, Serialize, Serializer,
    de::{Error as _, SeqAccess, Visitor},
};
use std::{fmt, marker::PhantomData};

/// Bytes in one piece.
#[derive(Clone, PartialEq, Eq)]
pub(crate) struct Raw(pub(crate) Vec<u8>);

impl fmt::Debug for Raw {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{} bytes", self.0.len())
    }
}

impl Serialize for Raw {
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        serializer.serialize_bytes(&self.0)
    }
}

impl<'de> Deserialize<'de> for Raw {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        <&[u8]>::deserialize(deserializer).map(|bytes| Self(bytes.to_vec()))
    }
}

/// A list of at most `MAX`. For `#[serde(deserialize_with = "at_most::<_, _, MAX>")]`.
pub(crate) fn at_most<'de, D, T, const MAX: usize>(deserializer: D) -> Result<Vec<T>, D::Error>
where
    D: Deserializer<'de>,
    T: Deserialize<'de>,
{
    deserializer.deserialize_seq(Few::<T, MAX>(PhantomData))
}

struct Few<T, const MAX: usize>(PhantomData<T>);

impl<'de, T: Deserialize<'de>, const MAX: usize> Visitor<'de> for Few<T, MAX> {
    type Value = Vec<T>;

    fn expecting(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "a list of at most {MAX}")
    }

    fn visit_seq<A: SeqAccess<'de>>(self, mut seq: A) -> Result<Vec<T>, A::Error> {
        let said = seq.size_hint().unwrap_or(0);
        if said > MAX {
            return Err(A::Error::invalid_length(said, &self));
        }
        let mut list = Vec::with_capacity(said.min(64));
        while let Some(next) = seq.next_element()? {
            if list.len() == MAX {
                return Err(A::Error::invalid_length(MAX + 1, &self));
            }
            list.push(next);
        }
        Ok(list)
    }
}
