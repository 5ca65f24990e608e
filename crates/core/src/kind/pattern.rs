//! Patterns of kinds: one kind, or every kind below a prefix (D26).
//!
//! ```text
//!  com.example.ocr      that kind alone                 an exact kind wins over every prefix,
//!  com.example.*        every kind below com.example    a longer prefix over a shorter one
//! ```

use super::{Kind, KindError};
use serde::{Deserialize, Deserializer, Serialize, Serializer};
use std::{fmt, str::FromStr};

/// Which kinds a route is about.
#[derive(Debug, Clone, PartialEq, Eq, PartialOrd, Ord)]
pub enum Pattern {
    /// This one alone.
    Exact(Kind),
    /// Every one below this.
    Below(Kind),
}

impl Pattern {
    /// Whether a kind is one of them.
    pub fn matches(&self, kind: &Kind) -> bool {
        match self {
            Self::Exact(own) => own == kind,
            Self::Below(prefix) => prefix != kind && prefix.reaches(kind),
        }
    }

    /// What decides between patterns that match the same kind: of two that do, one is greater.
    pub fn weight(&self) -> (bool, usize) {
        match self {
            Self::Exact(kind) => (true, kind.labels()),
            Self::Below(prefix) => (false, prefix.labels()),
        }
    }
}

impl fmt::Display for Pattern {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Exact(kind) => write!(f, "{kind}"),
            Self::Below(prefix) => write!(f, "{prefix}.*"),
        }
    }
}

impl FromStr for Pattern {
    type Err = KindError;

    fn from_str(text: &str) -> Result<Self, KindError> {
        match text.strip_suffix(".*") {
            Some(prefix) => prefix.parse().map(Self::Below),
            None => text.parse().map(Self::Exact),
        }
    }
}

impl Serialize for Pattern {
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        serializer.collect_str(self)
    }
}

impl<'de> Deserialize<'de> for Pattern {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        String::deserialize(deserializer)?.parse().map_err(serde::de::Error::custom)
    }
}
