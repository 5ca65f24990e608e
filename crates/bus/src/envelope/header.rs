//! The header: all that an envelope says about what it carries. Names are those of the contract's sources, to the letter.
//!
//! `protocol` to `precondition` are the fields of the replication envelope (F1); `recipient`, `nonce`, `sequence` and
//! `payload_cid` those of the signed envelope (A2). `sender` and `senderEpoch` are ours: whose signature it is, and in which
//! life of the sender the sequence counts (D17). `payload` is not in the header: it follows it, and `payload_cid` binds it.

use super::{FenceToken, Nonce, error::Error, state::State};
use crate::{
    sign::{Fingerprint, PublicKey},
    write_class::EntityType,
};
use relaymesh_core::{hash::Hash, hlc::Hlc, id::NodeId, op::WriteClass};
use serde::{Deserialize, Deserializer, Serialize, Serializer, de::Error as _};
use std::{fmt, str::FromStr};

/// What `protocol` says.
pub const PROTOCOL: &str = "fusion.shared-mesh";
/// What `version` says of envelopes that this program makes.
pub const VERSION: Version = Version { major: 1, minor: 0 };
/// The longest of the ids that are somebody else's words, in bytes.
pub const ID_BYTES_MAX: usize = 128;

/// What an envelope says about what it carries.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
pub struct Header {
    /// Always [`PROTOCOL`].
    pub protocol: String,
    /// Another minor version may say more than this program knows; another major version is refused.
    pub version: Version,
    /// The record's own name.
    pub record_id: Id,
    /// What it is about.
    pub entity_type: EntityType,
    /// Which one of them.
    pub entity_id: Id,
    /// The node that wrote it first.
    pub origin_node_id: NodeId,
    /// Its place among all that this node wrote, from 1.
    pub origin_seq: u64,
    /// How the write is ordered.
    pub write_class: WriteClass,
    /// The epoch of the coordinator's lease.
    pub lease_epoch: u64,
    /// What shuts out earlier coordinators.
    pub fence_token: FenceToken,
    /// The write that was intended, however often it is sent.
    pub intent_id: Id,
    /// Where the write stands.
    pub state: State,
    /// When it was written. An HLC, so that the order of writing is never lost (D11).
    #[serde(with = "text")]
    pub created_at: Hlc,
    /// When it was agreed on.
    #[serde(default, skip_serializing_if = "Option::is_none", with = "optional_text")]
    pub committed_at: Option<Hlc>,
    /// What must hold for it to count.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub precondition: Option<Precondition>,
    /// Whom it is for.
    pub recipient: Recipient,
    /// What makes it one of its own.
    pub nonce: Nonce,
    /// Its place among all that the sender sent in this epoch, from 1.
    pub sequence: u64,
    /// BLAKE3 of the payload.
    #[serde(rename = "payload_cid")]
    pub payload_cid: Hash,
    /// Who sends and signs it.
    pub sender: PublicKey,
    /// The life of the sender in which the sequence counts; grows when it lost its memory.
    pub sender_epoch: u64,
}

/// What must hold for a write to count.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
pub struct Precondition {
    /// The revision that its author saw.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub expected_base_revision: Option<u64>,
    /// The epoch that its author saw.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub expected_lease_epoch: Option<u64>,
}

/// Whom an envelope is for. Only one key at a time: a copy for everybody could be given to anybody again.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
#[serde(tag = "kind", rename_all = "lowercase")]
pub enum Recipient {
    /// The one with this key.
    Direct {
        /// The name of the key.
        agent_fp: Fingerprint,
    },
}

/// `major.minor`.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
pub struct Version {
    /// Another one means something else.
    pub major: u32,
    /// A greater one says more.
    pub minor: u32,
}

impl fmt::Display for Version {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{}.{}", self.major, self.minor)
    }
}

impl FromStr for Version {
    type Err = Error;

    fn from_str(text: &str) -> Result<Self, Error> {
        let parts = text.split_once('.').and_then(|(major, minor)| Some((major.parse().ok()?, minor.parse().ok()?)));
        let version = parts.map(|(major, minor)| Self { major, minor });
        let spelled = version.filter(|version| version.to_string() == text);
        spelled.ok_or_else(|| Error::Version { found: text.chars().take(40).collect() })
    }
}

/// An id that is somebody else's word: 1 to 128 printable ASCII characters without a space.
#[derive(Clone, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct Id(Box<str>);

impl Id {
    /// The id as text.
    pub fn as_str(&self) -> &str {
        &self.0
    }
}

impl fmt::Display for Id {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.pad(&self.0)
    }
}

impl fmt::Debug for Id {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        fmt::Debug::fmt(&*self.0, f)
    }
}

impl FromStr for Id {
    type Err = Error;

    fn from_str(text: &str) -> Result<Self, Error> {
        let fits = (1..=ID_BYTES_MAX).contains(&text.len()) && text.bytes().all(|c| c.is_ascii_graphic());
        if fits { Ok(Self(text.into())) } else { Err(Error::Id) }
    }
}

macro_rules! as_text {
    ($($name:ty)*) => {$(
        impl Serialize for $name {
            fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
                serializer.collect_str(self)
            }
        }

        impl<'de> Deserialize<'de> for $name {
            fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
                String::deserialize(deserializer)?.parse().map_err(D::Error::custom)
            }
        }
    )*};
}
as_text! { Version Id }

/// A stamp in its text form.
mod text {
    use super::*;

    pub(super) fn serialize<S: Serializer>(hlc: &Hlc, serializer: S) -> Result<S::Ok, S::Error> {
        serializer.collect_str(hlc)
    }

    pub(super) fn deserialize<'de, D: Deserializer<'de>>(deserializer: D) -> Result<Hlc, D::Error> {
        String::deserialize(deserializer)?.parse().map_err(D::Error::custom)
    }
}

/// A stamp in its text form, if there is one.
mod optional_text {
    use super::*;

    pub(super) fn serialize<S: Serializer>(hlc: &Option<Hlc>, serializer: S) -> Result<S::Ok, S::Error> {
        match hlc {
            Some(hlc) => serializer.collect_str(hlc),
            None => serializer.serialize_none(),
        }
    }

    pub(super) fn deserialize<'de, D: Deserializer<'de>>(deserializer: D) -> Result<Option<Hlc>, D::Error> {
        super::text::deserialize(deserializer).map(Some)
    }
}
