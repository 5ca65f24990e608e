//! A snapshot in an envelope, and out of it.

use super::{Error, Snapshot};
use rand_core::CryptoRng;
use relaymesh_bus::{
    envelope::{self, Envelope, Header, Recipient},
    sign::{PublicKey, Signer},
    write_class::EntityType,
};
use relaymesh_core::op::WriteClass;

/// What sealed bytes are for: nothing else that is sealed for a node can be shown to it as auth material.
const INFO: &[u8] = b"relaymesh/auth-material/v1";

/// The bytes of an envelope with a snapshot for one node. What the envelope is about, for whom, and its write class are filled in.
pub fn seal(
    signer: &Signer,
    receiver: &PublicKey,
    header: &Header,
    snapshot: &Snapshot,
    rng: &mut impl CryptoRng,
) -> Result<Vec<u8>, Error> {
    let header = Header {
        entity_type: EntityType::AuthMaterial,
        write_class: WriteClass::Queued,
        recipient: Recipient::Direct { agent_fp: receiver.fingerprint() },
        ..header.clone()
    };
    let bound = between(&signer.public_key(), receiver);
    let payload = receiver.seal(INFO, &bound, &snapshot.to_json()?, rng)?;
    Ok(envelope::seal(signer, &header, &payload)?)
}

/// The snapshot in an envelope that was opened and is for `own` key. Whether the sender may hand out credentials is for the caller to know.
pub fn open(own: &Signer, envelope: &Envelope) -> Result<Snapshot, Error> {
    let header = envelope.header();
    if header.entity_type != EntityType::AuthMaterial {
        return Err(Error::Other { found: header.entity_type });
    }
    let bound = between(&header.sender, &own.public_key());
    Snapshot::from_json(&own.unseal(INFO, &bound, envelope.payload())?)
}

/// From whom to whom.
fn between(sender: &PublicKey, receiver: &PublicKey) -> [u8; 64] {
    let mut bound = [0; 64];
    bound[..32].copy_from_slice(&sender.0);
    bound[32..].copy_from_slice(&receiver.0);
    bound
}
