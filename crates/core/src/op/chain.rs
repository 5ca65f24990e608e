//! The chain: each op's hash covers the hash before it and all of its own bytes (V2, D24).
//!
//! There is one chain per (origin, origin epoch). Editing, dropping, swapping or adding an op anywhere breaks every
//! hash from there on. Along a chain the sequence has no gaps and the HLC only grows, so an author cannot date an op
//! back behind one that it wrote before.

use super::{Body, DecodeError, Header, Op};
use crate::{hash::Hash, hlc::Hlc, id::NodeId};
use serde::{Deserialize, Serialize};

/// Where a chain stands.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Chain {
    /// Whose chain.
    pub origin: NodeId,
    /// Which of its chains.
    pub origin_epoch: u32,
    /// Place of the newest op; 0 when there is none.
    pub seq: u64,
    /// Hash of the newest op; of the origin's name when there is none.
    pub head: Hash,
    /// Time of the newest op.
    pub hlc: Option<Hlc>,
}

/// Where a chain stood, as a checkpoint names it.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
pub struct ChainHead {
    /// Whose chain.
    pub origin: NodeId,
    /// Which of its chains.
    pub origin_epoch: u32,
    /// Place of the newest op.
    pub seq: u64,
    /// Hash of the newest op.
    pub hash: Hash,
}

/// A new link: the bytes to store and the hash to store with them.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Link {
    /// The op's bytes.
    pub bytes: Vec<u8>,
    /// Hash over the chain's head and the bytes.
    pub hash: Hash,
}

/// Why bytes are not the next link.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
pub enum Break {
    /// The bytes are not an op that can be read.
    #[error("op {pos} cannot be read: {error}")]
    Decode {
        /// Where it lies.
        pos: u64,
        /// What is wrong with it.
        error: DecodeError,
    },
    /// The op belongs to another chain.
    #[error("op {pos} is of {found} epoch {found_epoch}, not of {expected} epoch {expected_epoch}")]
    Origin {
        /// Where it lies.
        pos: u64,
        /// The origin that it names.
        found: NodeId,
        /// The origin epoch that it names.
        found_epoch: u32,
        /// The chain's origin.
        expected: NodeId,
        /// The chain's epoch.
        expected_epoch: u32,
    },
    /// An op is missing, doubled or swapped.
    #[error("op {pos} has sequence {found}, expected {expected}: ops are missing or out of order")]
    Sequence {
        /// Where it lies.
        pos: u64,
        /// The sequence that it has.
        found: u64,
        /// The sequence that comes next.
        expected: u64,
    },
    /// The op's time is not after the time of the one before it.
    #[error("op {pos} has the stamp {found}, which is not later than that of the op before it, {before}")]
    Time {
        /// Where it lies.
        pos: u64,
        /// The op's time.
        found: Hlc,
        /// The time of the op before it.
        before: Hlc,
    },
    /// The bytes, or an op before them, are not what was hashed.
    #[error(
        "op {pos} does not match its hash: expected {expected}, computed {found}; its bytes or those before it were changed"
    )]
    Hash {
        /// Where it lies.
        pos: u64,
        /// The stored hash.
        expected: Hash,
        /// The hash of what is there.
        found: Hash,
    },
}

impl Chain {
    /// A chain without ops.
    pub fn new(origin: NodeId, origin_epoch: u32) -> Self {
        let head = Hash::sha3(&[b"relaymesh.chain.v1", &origin.to_bytes(), &origin_epoch.to_be_bytes()]);
        Self { origin, origin_epoch, seq: 0, head, hlc: None }
    }

    /// Makes the next link. `header` names this chain and its next sequence, see [`Chain::next_seq`].
    pub fn append(&mut self, header: &Header, body: &Body) -> Link {
        let mut bytes = Vec::with_capacity(192);
        Op::encode(header, body, &mut bytes);
        let hash = link_hash(&self.head, &bytes);
        self.advance(header, hash);
        Link { bytes, hash }
    }

    /// Checks that `bytes`, stored at `pos` with `hash`, are the next link, and steps over it.
    pub fn verify(&mut self, pos: u64, bytes: &[u8], hash: Hash) -> Result<Op, Break> {
        let found = link_hash(&self.head, bytes);
        if found != hash {
            return Err(Break::Hash { pos, expected: hash, found });
        }
        self.follow(pos, bytes, hash)
    }

    /// The same for a hash that was just computed from this chain's head and `bytes`.
    pub fn follow(&mut self, pos: u64, bytes: &[u8], hash: Hash) -> Result<Op, Break> {
        let op = Op::decode(pos, bytes).map_err(|error| Break::Decode { pos, error })?;
        let header = &op.header;
        if (header.origin, header.origin_epoch) != (self.origin, self.origin_epoch) {
            return Err(Break::Origin {
                pos,
                found: header.origin,
                found_epoch: header.origin_epoch,
                expected: self.origin,
                expected_epoch: self.origin_epoch,
            });
        }
        if header.seq != self.next_seq() {
            return Err(Break::Sequence { pos, found: header.seq, expected: self.next_seq() });
        }
        if let Some(before) = self.hlc.filter(|before| header.hlc <= *before) {
            return Err(Break::Time { pos, found: header.hlc, before });
        }
        self.advance(header, hash);
        Ok(op)
    }

    /// The sequence that the next op has.
    pub fn next_seq(&self) -> u64 {
        self.seq + 1
    }

    fn advance(&mut self, header: &Header, hash: Hash) {
        self.seq = header.seq;
        self.head = hash;
        self.hlc = Some(header.hlc);
    }
}

/// The hash of the op in `bytes` that follows the op with hash `previous`.
pub fn link_hash(previous: &Hash, bytes: &[u8]) -> Hash {
    Hash::sha3(&[&previous.0, bytes])
}
