//! What travels between nodes about feeds. Bytes are `[format][frame in postcard]`, in one spelling, with a bound for every list.
//!
//! A frame proves nothing and is signed by nobody: heads are. Who sent it is the link's word.

use super::content::PART_BYTES_MAX;
use crate::feed::{BRANCHES_MAX, DecodeError, FeedId, Place, RUN_ENCODED_MAX, Raw, Run, SignedHead, at_most};
use relaymesh_core::{
    hash::Hash,
    id::NodeId,
    op::{ChainHead, Scope, append},
};
use serde::{Deserialize, Serialize};

/// The longest frame, in bytes.
pub const FRAME_BYTES_MAX: usize = RUN_ENCODED_MAX + 64;
/// The most feeds that one frontier is about.
pub const FRONTIER_FEEDS_MAX: usize = 64;
/// The most places in a locator: two branches of 2^40 ops, and one more.
pub const LOCATOR_MAX: usize = 96;

const HEADS_MAX: usize = FRONTIER_FEEDS_MAX * BRANCHES_MAX;
const FORMAT: u8 = 1;

/// One frame.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub enum Frame {
    /// These heads are here.
    Frontier(Frontier),
    /// Give me what leads to this head.
    Want(Want),
    /// Ops, asked for or not.
    Run(Run),
    /// What you want is not here, or not from where you stand.
    Lacking {
        /// What was wanted.
        target: ChainHead,
        /// From here it could be given.
        start: Option<Place>,
    },
    /// Give me a part of this content.
    ContentWant {
        /// SHA-256 of it.
        content: Hash,
        /// Where it is named.
        scope: Scope,
        /// From which byte on.
        offset: u32,
    },
    /// A part of a content.
    ContentPart {
        /// SHA-256 of the whole.
        content: Hash,
        /// From which byte on.
        offset: u32,
        /// The bytes.
        #[serde(with = "part")]
        bytes: Vec<u8>,
    },
    /// You do not get this content here, for whatever reason.
    ContentWithheld {
        /// SHA-256 of it.
        content: Hash,
    },
    /// Something of this origin is dated too far ahead of my clock.
    Notice {
        /// Whose.
        origin: NodeId,
        /// How far.
        ahead_ms: u64,
    },
}

/// Heads that the sender has.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct Frontier {
    /// If this is there, the sender has no other feeds in this span, and wants to hear what it lacks.
    pub complete: Option<Span>,
    /// The heads, up to two of each feed.
    #[serde(deserialize_with = "at_most::<_, _, HEADS_MAX>")]
    pub heads: Vec<SignedHead>,
}

/// A part of all feeds, in their order.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
pub struct Span {
    /// After this one; from the first on if there is none.
    pub after: Option<FeedId>,
    /// Up to this one; to the last if there is none.
    pub through: Option<FeedId>,
}

impl Span {
    /// Whether a feed is in it.
    pub fn contains(&self, feed: FeedId) -> bool {
        self.after.is_none_or(|after| feed > after) && self.through.is_none_or(|through| feed <= through)
    }
}

/// A request for what leads to a head.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct Want {
    /// What is wanted. It need not be a signed head.
    pub target: ChainHead,
    /// Places that are here, going back ever further. The start is always one.
    #[serde(deserialize_with = "at_most::<_, _, LOCATOR_MAX>")]
    pub locator: Vec<Place>,
    /// Rather not what is dated later than this.
    pub until_ms: u64,
}

impl Frame {
    /// Its bytes.
    pub fn encode(&self) -> Vec<u8> {
        let room = match self {
            Self::Run(run) => run.bytes() + 3 * run.len() + 512,
            Self::ContentPart { bytes, .. } => bytes.len() + 64,
            Self::Frontier(_)
            | Self::Want(_)
            | Self::Lacking { .. }
            | Self::ContentWant { .. }
            | Self::ContentWithheld { .. }
            | Self::Notice { .. } => 256,
        };
        let mut bytes = Vec::with_capacity(room);
        bytes.push(FORMAT);
        append(self, &mut bytes);
        bytes
    }

    /// The frame in these bytes, if they are one in its one spelling and within all bounds. Nothing in it is verified.
    pub fn decode(bytes: &[u8]) -> Result<Self, DecodeError> {
        if bytes.len() > FRAME_BYTES_MAX {
            return Err(DecodeError::TooLong { what: "frame", found: bytes.len(), max: FRAME_BYTES_MAX });
        }
        let (&format, rest) = bytes.split_first().ok_or(DecodeError::Format { what: "frame", found: 0 })?;
        if format != FORMAT {
            return Err(DecodeError::Format { what: "frame", found: format });
        }
        let frame: Self = postcard::from_bytes(rest).map_err(|error| DecodeError::damaged("frame", error))?;
        match &frame {
            Self::Run(run) => run.check_bounds()?,
            Self::ContentPart { bytes, .. } if bytes.len() > PART_BYTES_MAX => {
                return Err(DecodeError::TooLong { what: "part", found: bytes.len(), max: PART_BYTES_MAX });
            }
            Self::ContentPart { .. }
            | Self::Frontier(_)
            | Self::Want(_)
            | Self::Lacking { .. }
            | Self::ContentWant { .. }
            | Self::ContentWithheld { .. }
            | Self::Notice { .. } => {}
        }
        if frame.encode() != bytes {
            return Err(DecodeError::Spelling { what: "frame" });
        }
        Ok(frame)
    }
}

/// Bytes in one piece, for serde.
mod part {
    use super::Raw;
    use serde::{Deserialize as _, Deserializer, Serializer};

    pub(super) fn serialize<S: Serializer>(bytes: &[u8], serializer: S) -> Result<S::Ok, S::Error> {
        serializer.serialize_bytes(bytes)
    }

    pub(super) fn deserialize<'de, D: Deserializer<'de>>(deserializer: D) -> Result<Vec<u8>, D::Error> {
        Raw::deserialize(deserializer).map(|raw| raw.0)
    }
}
