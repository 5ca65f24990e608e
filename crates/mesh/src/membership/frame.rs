//! What travels between nodes about membership: a datagram of SWIM, or a sample of what a node knows.
//!
//! A sample always starts with its sender and what the sender thinks of the receiver. That pair is what ends a mutual
//! "dead": each hears from the other that it was given up, comes back under a new life, and says so in the next sample.

use super::{config::DATAGRAM_BYTES_MAX, dwell::Status, identity::Identity};
use foca::{Member, State};
use serde::{Deserialize, Serialize};

/// The most members in a sample, whatever the setting says.
pub const SAMPLE_MAX: usize = 256;
/// The longest frame.
pub const FRAME_BYTES_MAX: usize = 16 * 1024;

/// One frame.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub(super) enum Frame {
    /// A datagram of SWIM, as it is.
    Swim(Vec<u8>),
    /// A sample of what the sender knows.
    Sync(Sample),
}

/// A part of what a node knows.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub(super) struct Sample {
    /// Who sends it.
    pub(super) from: Identity,
    /// Whether it wants one back.
    pub(super) answer_wanted: bool,
    /// Members with their states.
    pub(super) members: Vec<foca::Member<Identity>>,
}

/// The bytes are no frame. Nothing was changed.
#[derive(Debug, Clone, Copy, PartialEq, Eq, thiserror::Error)]
#[error("not a frame of membership: {bytes} bytes")]
pub struct Malformed {
    /// How many bytes there were.
    pub bytes: usize,
}

/// The bytes of a sample that says this of these nodes, true or not: for whoever tries out what lies come to.
pub fn sample_of(from: Identity, words: impl IntoIterator<Item = (Identity, Status)>) -> Vec<u8> {
    let member = |(id, status)| match status {
        Status::Alive => Member::alive(id),
        Status::Suspect => Member::new(id, 0, State::Suspect),
        Status::Dead => Member::down(id),
    };
    let members = words.into_iter().map(member).collect();
    Frame::Sync(Sample { from, answer_wanted: false, members }).encode()
}

impl Frame {
    pub(super) fn encode(&self) -> Vec<u8> {
        // Plain data into memory: there is nothing that could fail.
        postcard::to_stdvec(self).unwrap_or_default()
    }

    pub(super) fn decode(bytes: &[u8]) -> Result<Self, Malformed> {
        let malformed = Malformed { bytes: bytes.len() };
        if bytes.len() > FRAME_BYTES_MAX {
            return Err(malformed);
        }
        match postcard::take_from_bytes(bytes) {
            Ok((Self::Sync(sample), [])) if sample.members.len() <= SAMPLE_MAX => Ok(Self::Sync(sample)),
            Ok((Self::Swim(datagram), [])) if datagram.len() <= DATAGRAM_BYTES_MAX => Ok(Self::Swim(datagram)),
            Ok(_) | Err(_) => Err(malformed),
        }
    }
}
