//! A run: ops in a row, from a place up to a signed head.
//!
//! Bytes are `[format][after, ops, head in postcard]`, in one spelling. What costs nothing is checked first: the numbers, then the
//! hashes, then the one signature, and only then is an op decoded. So rubbish that anybody can make costs a hash.

use super::{
    error::{DecodeError, Refusal},
    head::{HEAD_BYTES_MAX, SignedHead},
    place::{FeedId, Place},
    wire::{Raw, at_most},
};
use relaymesh_core::{
    hash::Hash,
    hlc::Hlc,
    op::{Chain, Op, append, link_hash},
};
use serde::{Deserialize, Serialize};

/// The most ops in one run.
pub const RUN_OPS_MAX: usize = 1024;
/// The most bytes of ops in one run.
pub const RUN_BYTES_MAX: usize = 1024 * 1024;
/// The longest op that travels: a body and a header, both as long as they may be.
pub const OP_BYTES_MAX: usize = 64 * 1024;
/// The longest run, in bytes.
pub const RUN_ENCODED_MAX: usize = RUN_BYTES_MAX + 3 * RUN_OPS_MAX + HEAD_BYTES_MAX + 64;

const FORMAT: u8 = 1;

/// Ops in a row and the signed head that they lead to. Without ops it is the head alone, with a newer promise.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct Run {
    /// The place before its first op.
    pub after: Place,
    #[serde(deserialize_with = "at_most::<_, _, RUN_OPS_MAX>")]
    ops: Vec<Raw>,
    /// The place of its last op, signed.
    pub head: SignedHead,
}

/// An op that was verified, with the hashes that tie it into its chain.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Linked {
    /// The op. It has no position here yet: `pos` is 0.
    pub op: Op,
    /// Its bytes, which are never encoded again.
    pub bytes: Vec<u8>,
    /// The hash of the op before it.
    pub previous: Hash,
    /// Its own hash.
    pub hash: Hash,
}

impl Run {
    /// A run of these ops. Whether it is a good one only [`Run::verify`] can tell.
    pub fn new(after: Place, ops: Vec<Vec<u8>>, head: SignedHead) -> Self {
        Self { after, ops: ops.into_iter().map(Raw).collect(), head }
    }

    /// A head without ops: a promise.
    pub const fn promise(head: SignedHead) -> Self {
        Self { after: head.place(), ops: Vec::new(), head }
    }

    /// How many ops.
    pub const fn len(&self) -> usize {
        self.ops.len()
    }

    /// Whether it is a head alone.
    pub const fn is_empty(&self) -> bool {
        self.ops.is_empty()
    }

    /// The bytes of its ops together.
    pub fn bytes(&self) -> usize {
        self.ops.iter().map(|op| op.0.len()).sum()
    }

    /// The date of its last op, as its author says; nobody has checked it. None: it has no op, or one that cannot be read.
    pub fn newest(&self) -> Option<Hlc> {
        self.ops.last().and_then(|Raw(bytes)| Op::decode(0, bytes).ok()).map(|op| op.header.hlc)
    }

    /// Its bytes.
    pub fn encode(&self) -> Vec<u8> {
        let mut bytes = Vec::with_capacity(self.bytes() + 3 * self.len() + HEAD_BYTES_MAX + 64);
        bytes.push(FORMAT);
        append(self, &mut bytes);
        bytes
    }

    /// The run in these bytes, if they are one in its one spelling and no longer than allowed. It is not verified.
    pub fn decode(bytes: &[u8]) -> Result<Self, DecodeError> {
        if bytes.len() > RUN_ENCODED_MAX {
            return Err(DecodeError::TooLong { what: "run", found: bytes.len(), max: RUN_ENCODED_MAX });
        }
        let (&format, rest) = bytes.split_first().ok_or(DecodeError::Format { what: "run", found: 0 })?;
        if format != FORMAT {
            return Err(DecodeError::Format { what: "run", found: format });
        }
        let run: Self = postcard::from_bytes(rest).map_err(|error| DecodeError::damaged("run", error))?;
        run.check_bounds()?;
        if run.encode() != bytes {
            return Err(DecodeError::Spelling { what: "run" });
        }
        Ok(run)
    }

    /// Whether it is as short as runs are.
    pub(crate) fn check_bounds(&self) -> Result<(), DecodeError> {
        let too_long = |what, found, max| Err(DecodeError::TooLong { what, found, max });
        match self.ops.iter().map(|op| op.0.len()).max() {
            Some(longest) if longest > OP_BYTES_MAX => too_long("op", longest, OP_BYTES_MAX),
            _ if self.bytes() > RUN_BYTES_MAX => too_long("run", self.bytes(), RUN_BYTES_MAX),
            _ => Ok(()),
        }
    }

    /// Its ops, if they are a chain from `after` to the head, the head is signed, and all is dated by its author. `before` is the
    /// time of the op at `after`.
    pub fn verify(self, before: Option<Hlc>) -> Result<Vec<Linked>, Refusal> {
        self.check()?;
        let hashes = self.hashes()?;
        self.head.verify()?;
        self.linked(0, &hashes, before)
    }

    /// What can be told without a hash: the head is one, and the numbers fit.
    pub(super) fn check(&self) -> Result<FeedId, Refusal> {
        let feed = self.head.check()?;
        if self.after.seq.checked_add(self.len() as u64) != Some(self.head.seq) {
            return Err(Refusal::Length { after: self.after.seq, ops: self.len(), head: self.head.seq });
        }
        Ok(feed)
    }

    /// The hashes of its ops, if they lead from `after` to the head.
    pub(super) fn hashes(&self) -> Result<Vec<Hash>, Refusal> {
        let next = |previous: &mut Hash, op: &Raw| {
            *previous = link_hash(previous, &op.0);
            Some(*previous)
        };
        let hashes: Vec<Hash> = self.ops.iter().scan(self.after.hash, next).collect();
        let found = hashes.last().copied().unwrap_or(self.after.hash);
        if found != self.head.hash {
            return Err(Refusal::Hash { expected: self.head.hash, found });
        }
        Ok(hashes)
    }

    /// Its ops but for the first `skipped`. `before` is the time of the op before those.
    pub(super) fn linked(self, skipped: usize, hashes: &[Hash], before: Option<Hlc>) -> Result<Vec<Linked>, Refusal> {
        let FeedId { origin, origin_epoch } = self.head.feed();
        let head = skipped.checked_sub(1).map_or(self.after.hash, |last| hashes[last]);
        let mut chain = Chain { origin, origin_epoch, seq: self.after.seq + skipped as u64, head, hlc: before };
        let mut linked = Vec::with_capacity(self.ops.len() - skipped);
        for (Raw(bytes), hash) in self.ops.into_iter().zip(hashes).skip(skipped) {
            let previous = chain.head;
            let op = chain.follow(0, &bytes, *hash)?;
            if op.header.hlc.node != origin {
                return Err(Refusal::Stamp { seq: op.header.seq, found: op.header.hlc.node, expected: origin });
            }
            linked.push(Linked { op, bytes, previous, hash: *hash });
        }
        match chain.hlc {
            Some(op) if self.head.as_of < op => Err(Refusal::AsOf { as_of: self.head.as_of, op }),
            _ => Ok(linked),
        }
    }
}
