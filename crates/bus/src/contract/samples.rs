//! Keys and a header that tests of several crates use.

use crate::{
    envelope::{Expected, FenceToken, Header, Nonce, PROTOCOL, Recipient, State, VERSION},
    sign::{Fingerprint, PublicKey, Signer},
    write_class::EntityType,
};
use relaymesh_core::{hash::Hash, hlc::Hlc, id::NodeId, op::WriteClass};

/// The key pair with this number.
pub fn signer(number: u8) -> Signer {
    Signer::from_seed(&[number; 32])
}

/// The number of the sender's key.
pub const SENDER: u8 = 1;
/// The number of the recipient's key.
pub const US: u8 = 2;

/// The node with this number.
pub fn node(number: u128) -> NodeId {
    NodeId::new(1, number)
}

/// The name of the key with this number.
pub fn fingerprint(number: u8) -> Fingerprint {
    signer(number).public_key().fingerprint()
}

/// What the recipient expects of an envelope.
pub fn expected() -> Expected {
    Expected { recipient: fingerprint(US), carrier: None }
}

/// A time.
pub fn stamp(wall_ms: u64) -> Hlc {
    Hlc { wall_ms, logical: 0, node: node(1) }
}

/// A good header.
pub fn header() -> Header {
    Header {
        protocol: PROTOCOL.to_owned(),
        version: VERSION,
        record_id: "rec-1".parse().unwrap(),
        entity_type: EntityType::Task,
        entity_id: "tsk-1".parse().unwrap(),
        origin_node_id: node(1),
        origin_seq: 99,
        write_class: WriteClass::Strong,
        lease_epoch: 7,
        fence_token: FenceToken { epoch: 7, coordinator: node(1), sequence: 99 },
        intent_id: "int-1".parse().unwrap(),
        state: State::Intent,
        created_at: stamp(1_000),
        committed_at: None,
        precondition: None,
        recipient: Recipient::Direct { agent_fp: fingerprint(US) },
        nonce: Nonce([5; 24]),
        sequence: 3,
        payload_cid: Hash::default(),
        sender: PublicKey([0; 32]),
        sender_epoch: 1,
    }
}
