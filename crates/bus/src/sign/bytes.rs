//! The byte forms of keys and signatures.

use relaymesh_core::hex::hex_bytes;

hex_bytes! {
    /// The public half of a key: who somebody is. It may be no point of the curve at all until a signature by it counts.
    PublicKey, "a public key", 32;
    /// A signature.
    Signature, "a signature", 64;
}
