//! Where content lies: small pieces in the same commit as the op that names them, large ones in blobs beside it.
//!
//! A blob is durable before any op names it, so a commit never waits for ten mebibytes to be written, and a crash in
//! between leaves at most a blob that nothing names. Blobs are named by the hash of their bytes: two ops that name the
//! same bytes share one.

use crate::Error;
use relaymesh_core::{
    content::{ContentRef, Damaged, INLINE_BYTES_MAX, Media},
    hash::Hash,
};
use serde::{Deserialize, Deserializer, Serialize, Serializer, ser};
use std::sync::Arc;

/// Bytes that an op names by hash.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Content {
    /// The bytes themselves, for the content table.
    Inline(Vec<u8>),
    /// Bytes that are durable already.
    Blob(Blob),
}

/// A blob that is durable. As long as the value lives, nobody removes the blob.
#[derive(Debug, Clone)]
pub struct Blob {
    /// SHA-256 of the bytes, and the blob's name.
    pub hash: Hash,
    /// How many bytes.
    pub len: u32,
    /// Shared by all who need the blob to stay.
    _pin: Option<Arc<()>>,
}

impl PartialEq for Blob {
    fn eq(&self, other: &Self) -> bool {
        (self.hash, self.len) == (other.hash, other.len)
    }
}

impl Eq for Blob {}

/// Takes blobs. Clones are the same place.
pub trait Blobs: Clone + Send + Sync + 'static {
    /// Makes the bytes durable and gives the blob. Bytes that are there already are not written again.
    fn put(&self, bytes: &[u8]) -> Result<Blob, Error>;

    /// The bytes of a blob, unchecked; `None` when it is not there.
    fn get(&self, hash: &Hash) -> Result<Option<Vec<u8>>, Error>;

    /// Somebody beside the store saw a sync of a file of the root fail: the store takes no more writes, as after a commit that failed
    /// (D2). Gives the error that says so.
    fn distrust(&self, cause: &str) -> Error;
}

impl Blob {
    /// A blob whose bytes are durable. Whoever keeps blobs holds the pin weakly, and removes nothing that is pinned.
    pub fn new(hash: Hash, len: u32, pin: Option<Arc<()>>) -> Self {
        Self { hash, len, _pin: pin }
    }
}

/// On a wire it is the bytes. A blob is of one store, and means nothing elsewhere.
impl Serialize for Content {
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        match self {
            Self::Inline(bytes) => serializer.serialize_bytes(bytes),
            Self::Blob(blob) => Err(ser::Error::custom(format!("the blob {} is of one store", blob.hash))),
        }
    }
}

impl<'de> Deserialize<'de> for Content {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        Vec::deserialize(deserializer).map(Self::Inline)
    }
}

impl Content {
    /// The same in its place: bytes that came in, however long, become a blob if they must. It is durable when this returns.
    pub fn stowed<B: Blobs>(self, blobs: &B) -> Result<Self, Error> {
        match self {
            Self::Inline(bytes) => Self::stow(bytes, blobs),
            Self::Blob(_) => Ok(self),
        }
    }

    /// The place for these bytes: a blob if they are long. It is durable when this returns.
    pub fn stow<B: Blobs>(bytes: Vec<u8>, blobs: &B) -> Result<Self, Error> {
        if bytes.len() <= INLINE_BYTES_MAX {
            return Ok(Self::Inline(bytes));
        }
        blobs.put(&bytes).map(Self::Blob)
    }

    /// The same, without keeping a blob from being removed: for whoever keeps blobs.
    pub fn unpinned(&self) -> Self {
        match self {
            Self::Inline(bytes) => Self::Inline(bytes.clone()),
            Self::Blob(blob) => Self::Blob(Blob::new(blob.hash, blob.len, None)),
        }
    }

    /// How many bytes.
    pub fn len(&self) -> usize {
        match self {
            Self::Inline(bytes) => bytes.len(),
            Self::Blob(blob) => blob.len as usize,
        }
    }

    /// Whether there are no bytes.
    pub fn is_empty(&self) -> bool {
        self.len() == 0
    }

    /// The reference that names it.
    pub fn named(&self, media: Media) -> ContentRef {
        match self {
            Self::Inline(bytes) => ContentRef::of(media, bytes),
            Self::Blob(blob) => ContentRef { hash: blob.hash, len: blob.len, media },
        }
    }

    /// Whether it is what the reference names. The bytes of a blob are checked when they are read.
    pub fn check(&self, named: &ContentRef) -> Result<(), Damaged> {
        match self {
            Self::Inline(bytes) => named.check(bytes),
            Self::Blob(blob) if (blob.hash, blob.len) == (named.hash, named.len) => Ok(()),
            Self::Blob(blob) => Err(Damaged { expected: named.hash, found: blob.hash, found_len: blob.len as usize }),
        }
    }
}
