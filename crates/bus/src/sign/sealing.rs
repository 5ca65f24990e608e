//! Sealing: bytes that only the holder of one key can read.
//!
//! HPKE (RFC 9180) with X25519, HKDF-SHA256 and ChaCha20-Poly1305, in its base mode: it says nothing about who sealed, a signature
//! over the whole does. The key of a node is its Ed25519 key in the other form of the same curve, so that whoever knows a node can seal for
//! it, and there is no second key to be mixed up with the first. That one pair may serve both is known to hold for this pair of schemes
//! ("On using the same key pair for Ed25519 and an X25519 based KEM", 2021).
//!
//! ```text
//!  ┌───────────────────┬──────────────────────┐
//!  │ encapsulated key  │ ciphertext, tag      │   both bound to `info` (what for) and `aad` (from whom, to whom)
//!  │ 32 bytes          │ 16 bytes more than   │
//!  │                   │ what was sealed      │
//!  └───────────────────┴──────────────────────┘
//! ```

use super::{PublicKey, Refusal, Signer};
use hpke::{
    Deserializable as _, Kem, OpModeR, OpModeS, Serializable as _, aead::ChaCha20Poly1305, kdf::HkdfSha256,
    kem::X25519HkdfSha256, single_shot_open, single_shot_seal_with_rng,
};
use rand_core::CryptoRng;
use zeroize::Zeroizing;

type Public = <X25519HkdfSha256 as Kem>::PublicKey;
type Private = <X25519HkdfSha256 as Kem>::PrivateKey;
type Encapsulated = <X25519HkdfSha256 as Kem>::EncappedKey;

const ENCAPSULATED_BYTES: usize = 32;

/// What cannot be opened: it was sealed for another key, for something else, or was changed on the way. Which of them nobody can tell.
#[derive(Debug, Clone, Copy, PartialEq, Eq, thiserror::Error)]
#[error("it was not sealed for this key and this purpose, or was changed on the way")]
pub struct NotSealed;

impl PublicKey {
    /// Seals bytes so that only the holder of this key can open them. `info` says what for; `aad` is what has to be known to open it.
    pub fn seal(&self, info: &[u8], aad: &[u8], bytes: &[u8], rng: &mut impl CryptoRng) -> Result<Vec<u8>, Refusal> {
        let point = self.checked()?.to_montgomery();
        let public = Public::from_bytes(point.as_bytes()).map_err(|_| Refusal::NoKey)?;
        let (encapsulated, sealed) = single_shot_seal_with_rng::<ChaCha20Poly1305, HkdfSha256, X25519HkdfSha256>(
            &OpModeS::Base,
            &public,
            info,
            bytes,
            aad,
            rng,
        )
        .map_err(|_| Refusal::WeakKey)?;
        Ok([&encapsulated.to_bytes()[..], &sealed].concat())
    }
}

impl Signer {
    /// Opens what was sealed for this key. What comes out is wiped from memory when it is dropped.
    pub fn unseal(&self, info: &[u8], aad: &[u8], sealed: &[u8]) -> Result<Zeroizing<Vec<u8>>, NotSealed> {
        let (encapsulated, rest) = sealed.split_at_checked(ENCAPSULATED_BYTES).ok_or(NotSealed)?;
        let scalar = Zeroizing::new(self.0.to_scalar_bytes());
        let private = Private::from_bytes(&scalar[..]).map_err(|_| NotSealed)?;
        let encapsulated = Encapsulated::from_bytes(encapsulated).map_err(|_| NotSealed)?;
        single_shot_open::<ChaCha20Poly1305, HkdfSha256, X25519HkdfSha256>(
            &OpModeR::Base,
            &private,
            &encapsulated,
            info,
            rest,
            aad,
        )
        .map(Zeroizing::new)
        .map_err(|_| NotSealed)
    }
}
