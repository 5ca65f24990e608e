//! Keys and signatures: Ed25519, strictly, and never over bare bytes.
//!
//! RFC 8032 leaves room that attackers use. A signature whose scalar has the group's order added still passes with a
//! careless verifier, so one message has two signatures, and whoever names things by their hash has two names for one
//! thing. A key of small order signs every message. A key or a point can be written in two ways. So there is one verifier
//! here, [`PublicKey::verify`], and it takes none of that: the scalar is below the order, neither key nor point is of small
//! order, both are in their one spelling, and the equation holds without the cofactor.
//!
//! What is signed is never the bytes alone but `tag ‖ 0 ‖ bytes`, where the [`Domain`] gives the tag. Without it a
//! signature that was made for one purpose serves another one, as soon as somebody finds bytes that read as both.
//!
//! The same keys seal ([`PublicKey::seal`]), for the few things that carriers must not read.
//!
//! There is no randomness in here: the seed of a key, and the generator for what is sealed, come in as arguments.

mod bytes;
#[cfg(feature = "seal")]
mod sealing;
#[cfg(test)]
mod tests;

pub use bytes::{PublicKey, Signature};
pub use relaymesh_core::hex::HexError;
pub use relaymesh_store::traffic::Fingerprint;
#[cfg(feature = "seal")]
pub use sealing::NotSealed;

use ed25519_dalek::{Signer as _, SigningKey, VerifyingKey};
use relaymesh_core::id::NodeId;
use std::fmt;

/// What a signature is for. A signature for one is none for another.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
pub enum Domain {
    /// A link of a chain of capabilities.
    Delegation,
    /// The header of an envelope between nodes.
    Envelope,
    /// The head of a feed: all ops up to it, and a promise about those after it.
    Head,
}

impl Domain {
    /// Every purpose.
    pub const ALL: [Domain; 3] = [Self::Delegation, Self::Envelope, Self::Head];

    /// What stands before the signed bytes, with a NUL behind it. No tag has a NUL in it, so none is the start of another.
    pub const fn tag(self) -> &'static str {
        match self {
            Self::Delegation => "relaymesh/delegation/v1",
            Self::Envelope => "relaymesh/envelope/v1",
            Self::Head => "relaymesh/head/v1",
        }
    }

    fn message(self, bytes: &[u8]) -> Vec<u8> {
        [self.tag().as_bytes(), &[0], bytes].concat()
    }
}

/// Why a signature does not count.
#[derive(Debug, Clone, Copy, PartialEq, Eq, thiserror::Error)]
pub enum Refusal {
    /// The key is no point of the curve, or not in its one spelling.
    #[error("the key is not a point of the curve in its one spelling")]
    NoKey,
    /// The key is of small order, or has a part that is: it signs what nobody signed.
    #[error("the key is weak: it has a part of small order")]
    WeakKey,
    /// The signature is not one of this key over these bytes, or not in its one spelling.
    #[error("the signature is not one of this key over these bytes")]
    Signature,
}

/// A key pair. Its secret half is wiped from memory when it is dropped, and never shown.
#[derive(Clone)]
pub struct Signer(SigningKey);

impl Signer {
    /// The pair that follows from 32 secret random bytes.
    pub fn from_seed(seed: &[u8; 32]) -> Self {
        Self(SigningKey::from_bytes(seed))
    }

    /// The half that everybody may know.
    pub fn public_key(&self) -> PublicKey {
        PublicKey(self.0.verifying_key().to_bytes())
    }

    /// The signature over `bytes` for one purpose.
    pub fn sign(&self, domain: Domain, bytes: &[u8]) -> Signature {
        Signature(self.0.sign(&domain.message(bytes)).to_bytes())
    }
}

impl fmt::Debug for Signer {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "Signer({})", self.public_key())
    }
}

impl PublicKey {
    /// Whether this key signed `bytes` for this purpose. Strict, see [the module](self).
    pub fn verify(&self, domain: Domain, bytes: &[u8], signature: &Signature) -> Result<(), Refusal> {
        self.verify_message(&domain.message(bytes), signature)
    }

    /// The same for a key that was [checked](Self::check) before: nothing about a key changes, and half of the time goes into looking at it.
    pub fn verify_again(&self, domain: Domain, bytes: &[u8], signature: &Signature) -> Result<(), Refusal> {
        let key = VerifyingKey::from_bytes(&self.0).map_err(|_| Refusal::NoKey)?;
        let signature = ed25519_dalek::Signature::from_bytes(&signature.0);
        key.verify_strict(&domain.message(bytes), &signature).map_err(|_| Refusal::Signature)
    }

    fn verify_message(&self, message: &[u8], signature: &Signature) -> Result<(), Refusal> {
        let key = self.checked()?;
        let signature = ed25519_dalek::Signature::from_bytes(&signature.0);
        key.verify_strict(message, &signature).map_err(|_| Refusal::Signature)
    }

    /// Whether a signature by this key can count at all.
    pub fn check(&self) -> Result<(), Refusal> {
        self.checked().map(|_| ())
    }

    fn checked(&self) -> Result<VerifyingKey, Refusal> {
        let key = VerifyingKey::from_bytes(&self.0).map_err(|_| Refusal::NoKey)?;
        let point = key.to_edwards();
        if point.compress().to_bytes() != self.0 {
            return Err(Refusal::NoKey);
        }
        if key.is_weak() || !point.is_torsion_free() {
            return Err(Refusal::WeakKey);
        }
        Ok(key)
    }

    /// The node that has this key.
    pub fn node(&self) -> NodeId {
        NodeId::of_key(&self.0)
    }

    /// The name of this key: BLAKE3 of its bytes.
    pub fn fingerprint(&self) -> Fingerprint {
        Fingerprint(relaymesh_core::hash::Hash::blake3(&[&self.0]).0)
    }
}
