//! A token and the one before it: what rotation is made of.

use super::spell;
use crate::sealed;
use relaymesh_core::hash::Hash;
use serde::{Deserialize, Serialize};
use std::{io, path::Path};

/// The file of the registration token, in the root.
pub const FILE: &str = "agent-token.json";

/// What a registration token begins with, so that people and scanners of sources know one when they see it.
pub const PREFIX: &str = "rmat_";

/// The tokens that are good.
#[derive(Debug, Clone, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct Pair {
    /// The newest.
    pub current: Option<Kept>,
    /// The one before it, as long as it is good.
    pub previous: Option<Kept>,
}

/// What is kept of a token.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
pub struct Kept {
    /// Its SHA-256.
    pub hash: Hash,
    /// When it was made, in milliseconds since 1970.
    pub made_ms: u64,
    /// Until when it is good; for ever if nobody has said.
    pub until_ms: Option<u64>,
}

impl Pair {
    /// The registration token of this root. Without a file there is none, and nobody may register.
    pub fn read(root: &Path) -> io::Result<Self> {
        Ok(Self::found(root)?.map(|(pair, _)| pair).unwrap_or_default())
    }

    /// The same, and whether its file has its checksum.
    fn found(root: &Path) -> io::Result<Option<(Self, bool)>> {
        super::read(root, FILE)?.map(|bytes| sealed::decode(&bytes)).transpose()
    }

    /// Gives a file of an older version its checksum. Without a file nothing is done.
    pub fn seal(root: &Path) -> io::Result<()> {
        match Self::found(root)? {
            Some((pair, false)) => pair.write(root),
            Some((_, true)) | None => Ok(()),
        }
    }

    /// Keeps it as the registration token. It is durable when this returns.
    pub fn write(&self, root: &Path) -> io::Result<()> {
        super::put(root, FILE, &sealed::encode(self)?)
    }

    /// A new registration token in the place of the current one, which stays good for `overlap_ms`. `random` is 32 bytes that nobody can
    /// guess.
    pub fn rotate(&mut self, random: [u8; 32], overlap_ms: u64, now_ms: u64) -> String {
        self.rotate_as(PREFIX, random, overlap_ms, now_ms)
    }

    /// The same for a token that begins otherwise.
    pub(super) fn rotate_as(&mut self, prefix: &str, random: [u8; 32], overlap_ms: u64, now_ms: u64) -> String {
        let token = spell(prefix, random);
        let until_ms = Some(now_ms.saturating_add(overlap_ms));
        self.previous = self.current.take().filter(|_| overlap_ms > 0).map(|kept| Kept { until_ms, ..kept });
        self.current = Some(Kept { hash: Hash::sha256(token.as_bytes()), made_ms: now_ms, until_ms: None });
        token
    }

    /// Whether this token is good.
    pub fn allows(&self, token: &str, now_ms: u64) -> bool {
        self.has(&Hash::sha256(token.trim().as_bytes()), now_ms)
    }

    /// Whether the token with this hash is good. It takes as long whichever it is like, and looks at both in any case.
    pub(super) fn has(&self, hash: &Hash, now_ms: u64) -> bool {
        let fits = |kept: &Option<Kept>| {
            let kept = kept.unwrap_or(Kept { hash: Hash([0; 32]), made_ms: 0, until_ms: Some(0) });
            let is_equal = constant_time_eq::constant_time_eq_32(&kept.hash.0, &hash.0);
            is_equal & kept.until_ms.is_none_or(|until_ms| now_ms < until_ms)
        };
        fits(&self.current) | fits(&self.previous)
    }
}
