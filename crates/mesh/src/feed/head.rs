//! The signed head: everything up to here is mine, and nothing that comes is older than this.
//!
//! Its bytes are `[format][key, epoch, seq, hash, as_of in postcard][signature]`, and the signature is over all that is before
//! it. There is one spelling for each head: other spellings of the same numbers are refused.
//!
//! `as_of` is a promise. Whoever signs it dates no later op of the feed at or before it. A node that has nothing to say signs a
//! newer head with the same `seq` now and then, and so the others can tell that they have all of it up to `as_of`.

use super::{
    error::{DecodeError, Refusal},
    place::{FeedId, Place},
};
use relaymesh_bus::sign::{Domain, PublicKey, Signature, Signer};
use relaymesh_core::{hash::Hash, hlc::Hlc, op::append};
use serde::{Deserialize, Serialize};

/// The longest head, in bytes.
pub const HEAD_BYTES_MAX: usize = 1 + 33 + 5 + 10 + 32 + (10 + 5 + 16) + 65;

const FORMAT: u8 = 1;

/// The head of a feed as its author signed it. Until [`SignedHead::verify`] says so, it is anybody's word.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
pub struct SignedHead {
    /// Who signs. The feed's origin follows from it.
    pub key: PublicKey,
    /// Which of its feeds.
    pub origin_epoch: u32,
    /// How many ops there are up to here.
    pub seq: u64,
    /// The hash of the last of them; that of the empty chain when there is none.
    pub hash: Hash,
    /// No later op is dated at or before this. A stamp of the origin's own, not before the op at `seq`.
    pub as_of: Hlc,
    /// The signature over all of this.
    pub signature: Signature,
}

impl SignedHead {
    /// Signs a head. `as_of` is taken as a stamp of the signer's own node.
    pub fn sign(signer: &Signer, origin_epoch: u32, place: Place, as_of: Hlc) -> Self {
        let key = signer.public_key();
        let as_of = Hlc { node: key.node(), ..as_of };
        let Place { seq, hash } = place;
        let mut head = Self { key, origin_epoch, seq, hash, as_of, signature: Signature([0; 64]) };
        head.signature = signer.sign(Domain::Head, &head.signed_bytes());
        head
    }

    /// Whose feed.
    pub fn feed(&self) -> FeedId {
        FeedId { origin: self.key.node(), origin_epoch: self.origin_epoch }
    }

    /// Where in the feed.
    pub const fn place(&self) -> Place {
        Place { seq: self.seq, hash: self.hash }
    }

    /// What can be told without the signature: the promise is dated by the origin, and place 0 is the start.
    pub fn check(&self) -> Result<FeedId, Refusal> {
        let feed = self.feed();
        if self.as_of.node != feed.origin {
            return Err(Refusal::Stamp { seq: self.seq, found: self.as_of.node, expected: feed.origin });
        }
        if self.seq == 0 && self.place() != feed.start() {
            return Err(Refusal::Start { feed });
        }
        Ok(feed)
    }

    /// Whether its key signed it, and says something that can be.
    pub fn verify(&self) -> Result<FeedId, Refusal> {
        let feed = self.check()?;
        self.key.verify(Domain::Head, &self.signed_bytes(), &self.signature)?;
        Ok(feed)
    }

    /// The same beside a head of the feed that was verified before, if there is one: then the key is known to be good.
    pub fn verify_beside(&self, known: Option<&Self>) -> Result<FeedId, Refusal> {
        if known.is_none_or(|known| known.key != self.key) {
            return self.verify();
        }
        let feed = self.check()?;
        self.key.verify_again(Domain::Head, &self.signed_bytes(), &self.signature)?;
        Ok(feed)
    }

    /// Its bytes.
    pub fn encode(&self) -> Vec<u8> {
        let mut bytes = vec![FORMAT];
        append(self, &mut bytes);
        bytes
    }

    /// The head in these bytes, if they are one in its one spelling. It is not verified.
    pub fn decode(bytes: &[u8]) -> Result<Self, DecodeError> {
        if bytes.len() > HEAD_BYTES_MAX {
            return Err(DecodeError::TooLong { what: "head", found: bytes.len(), max: HEAD_BYTES_MAX });
        }
        let (&format, rest) = bytes.split_first().ok_or(DecodeError::Format { what: "head", found: 0 })?;
        if format != FORMAT {
            return Err(DecodeError::Format { what: "head", found: format });
        }
        let head: Self = postcard::from_bytes(rest).map_err(|error| DecodeError::damaged("head", error))?;
        if head.encode() != bytes {
            return Err(DecodeError::Spelling { what: "head" });
        }
        Ok(head)
    }

    /// All that the signature covers.
    fn signed_bytes(&self) -> Vec<u8> {
        let mut bytes = vec![FORMAT];
        append(&(self.key, self.origin_epoch, self.seq, self.hash, self.as_of), &mut bytes);
        bytes
    }
}
