//! Sealing: header and payload become bytes, once.

use super::{Error, HEADER_BYTES_MAX, Header, PAYLOAD_BYTES_MAX, open};
use crate::sign::{Domain, Signer};
use relaymesh_core::{canonical, hash::Hash};

/// The bytes of an envelope: `signature ‖ length of the header ‖ header ‖ payload`.
///
/// `payload_cid` and `sender` are filled in. What [`open`](super::open()) would refuse is refused here as well: nothing is
/// signed that nobody can read.
pub fn seal(signer: &Signer, header: &Header, payload: &[u8]) -> Result<Vec<u8>, Error> {
    if payload.len() > PAYLOAD_BYTES_MAX {
        return Err(Error::PayloadSize { bytes: payload.len() });
    }
    let mut header = header.clone();
    header.sender = signer.public_key();
    header.payload_cid = Hash::blake3(&[payload]);
    let damaged = |detail: String| Error::Damaged { detail };
    let value = serde_json::to_value(&header).map_err(|error| damaged(error.to_string()))?;
    let text = canonical::to_vec(&value).map_err(|error| damaged(error.to_string()))?;
    open::read(&text)?;
    Ok(sealed(signer, &text, payload))
}

/// The bytes of an envelope whose header is this text.
pub(super) fn sealed(signer: &Signer, text: &[u8], payload: &[u8]) -> Vec<u8> {
    let signature = signer.sign(Domain::Envelope, text);
    // A header that was read is never longer than HEADER_BYTES_MAX.
    const { assert!(HEADER_BYTES_MAX < u32::MAX as usize) };
    [&signature.0[..], &(text.len() as u32).to_be_bytes(), text, payload].concat()
}
