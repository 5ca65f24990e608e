//! What envelopes promise: every byte counts, additions are kept, and each refusal has its reason.

mod bytes;
mod carriers;
mod fields;
mod tables;

use super::*;
use crate::{
    fence::FenceToken,
    hash::Hash,
    hlc::Hlc,
    id::NodeId,
    op::WriteClass,
    sign::{Fingerprint, PublicKey, tests::signer},
    write_class::{EntityType, Order, class_of},
};

pub(crate) const SENDER: u8 = 1;
pub(crate) const US: u8 = 2;

pub(crate) fn node(number: u128) -> NodeId {
    NodeId::new(1, number)
}

pub(crate) fn fingerprint(number: u8) -> Fingerprint {
    signer(number).public_key().fingerprint()
}

pub(crate) fn expected() -> Expected {
    Expected { recipient: fingerprint(US), carrier: None }
}

fn stamp(wall_ms: u64) -> Hlc {
    Hlc { wall_ms, logical: 0, node: node(1) }
}

/// A good header.
pub(crate) fn header() -> Header {
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

pub(crate) fn sealed(change: impl Fn(&mut Header)) -> Result<Vec<u8>, Error> {
    let mut header = header();
    change(&mut header);
    seal(&signer(SENDER), &header, b"payload")
}

/// A good envelope after a change of its header's text, signed anew.
fn rewritten(change: impl Fn(String) -> String) -> Vec<u8> {
    let bytes = sealed(|_| {}).unwrap();
    let length = u32::from_be_bytes(bytes[64..68].try_into().unwrap()) as usize;
    let text = change(String::from_utf8(bytes[68..68 + length].to_vec()).unwrap());
    seal::sealed(&signer(SENDER), text.as_bytes(), b"payload")
}
