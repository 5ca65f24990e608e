//! The fence token: what a write carries to show under whose authority it was made.

use relaymesh_core::id::NodeId;
use serde::{Deserialize, Serialize};
use std::{fmt, str::FromStr};

/// Epoch, coordinator and sequence. Text form `<epoch>:<node id>:<sequence>`, with one spelling for each token.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize, Deserialize)]
#[serde(into = "String", try_from = "String")]
pub struct FenceToken {
    /// The generation of the coordinator's authority, from 1.
    pub epoch: u64,
    /// The coordinator that has this epoch.
    pub coordinator: NodeId,
    /// The place of the write among those of its origin.
    pub sequence: u64,
}

/// The text is not a fence token.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
#[error("`{found}` is not a fence token: it looks like 7:nod_<26 characters>:99")]
pub struct ParseError {
    /// The text, shortened.
    pub found: String,
}

impl fmt::Display for FenceToken {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{}:{}:{}", self.epoch, self.coordinator, self.sequence)
    }
}

impl From<FenceToken> for String {
    fn from(token: FenceToken) -> Self {
        token.to_string()
    }
}

impl TryFrom<String> for FenceToken {
    type Error = ParseError;

    fn try_from(text: String) -> Result<Self, ParseError> {
        text.parse()
    }
}

impl FromStr for FenceToken {
    type Err = ParseError;

    fn from_str(text: &str) -> Result<Self, ParseError> {
        let parsed = || {
            let (epoch, rest) = text.split_once(':')?;
            let (coordinator, sequence) = rest.split_once(':')?;
            let token =
                Self { epoch: number(epoch)?, coordinator: coordinator.parse().ok()?, sequence: number(sequence)? };
            Some(token)
        };
        parsed().ok_or_else(|| ParseError { found: text.chars().take(60).collect() })
    }
}

/// Only the canonical spelling: no sign, no leading zero.
fn number(text: &str) -> Option<u64> {
    text.parse().ok().filter(|number: &u64| number.to_string() == text)
}
