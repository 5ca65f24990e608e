//! Kinds of work: reverse-DNS names, matched by whole labels (L10).
//!
//! The tempting wrong answer compares text: then `com.example` reaches `com.examples.evil`, which belongs to somebody
//! else. A prefix here is a run of whole labels, so it reaches itself and what stands below it.

mod pattern;

pub use pattern::Pattern;

use serde::{Deserialize, Deserializer, Serialize, Serializer};
use std::{fmt, str::FromStr, sync::Arc};

/// The longest kind, in bytes.
pub const KIND_BYTES_MAX: usize = 128;

/// A kind of work, or the start of several: labels of `a-z A-Z 0-9 _ -` with a dot between them. Cheap to clone.
#[derive(Clone, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct Kind(Arc<str>);

/// Why a text is not a kind.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
#[error("`{found}` is not a kind: write labels of a-z A-Z 0-9 _ - with dots between them, 128 bytes at most")]
pub struct KindError {
    found: String,
}

impl Kind {
    /// The kind as text.
    pub fn as_str(&self) -> &str {
        &self.0
    }

    /// How many labels it has.
    pub fn labels(&self) -> usize {
        self.0.split('.').count()
    }

    /// Whether `kind` is this one or stands below it.
    pub fn reaches(&self, kind: &Kind) -> bool {
        let rest = kind.0.strip_prefix(&*self.0);
        rest.is_some_and(|rest| rest.is_empty() || rest.starts_with('.'))
    }
}

impl FromStr for Kind {
    type Err = KindError;

    fn from_str(text: &str) -> Result<Self, KindError> {
        let allowed = |c: u8| c.is_ascii_alphanumeric() || matches!(c, b'_' | b'-');
        let labels = text.split('.').all(|label| !label.is_empty() && label.bytes().all(allowed));
        if labels && text.len() <= KIND_BYTES_MAX {
            return Ok(Self(text.into()));
        }
        Err(KindError { found: text.chars().take(40).collect() })
    }
}

impl fmt::Display for Kind {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.pad(&self.0)
    }
}

impl fmt::Debug for Kind {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        fmt::Debug::fmt(&*self.0, f)
    }
}

impl Serialize for Kind {
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        serializer.serialize_str(&self.0)
    }
}

impl<'de> Deserialize<'de> for Kind {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        String::deserialize(deserializer)?.parse().map_err(serde::de::Error::custom)
    }
}
