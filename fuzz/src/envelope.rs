//! Envelopes: bytes from a peer.

use crate::say;
use relaymesh_bus::{
    envelope::{Expected, Header, Nonce, PROTOCOL, Recipient, State, VERSION, open, seal},
    sign::Signer,
    write_class::EntityType,
};
use relaymesh_core::{hash::Hash, hlc::Hlc, id::NodeId, op::WriteClass};
use relaymesh_mesh::fence::FenceToken;

fn us() -> Expected {
    Expected { recipient: Signer::from_seed(&[2; 32]).public_key().fingerprint(), carrier: None }
}

/// Nothing is opened but what was really sealed, and that is kept as it came. The header is read by itself as well, behind a
/// signature that is none.
pub fn target(data: &[u8]) {
    match open(data, us()) {
        Ok(envelope) => {
            assert_eq!(envelope.as_bytes(), data);
            assert!(seeds().contains(&data.to_vec()), "an envelope that nobody sealed");
        }
        Err(error) => say(&error),
    }
    let length = u32::try_from(data.len()).unwrap_or(u32::MAX);
    let unsigned = [&[0; 64], &length.to_be_bytes()[..], data].concat();
    say(&open(&unsigned, us()).expect_err("a header that nobody signed"));
}

/// An envelope, and the text of its header.
pub fn seeds() -> Vec<Vec<u8>> {
    let (signer, node) = (Signer::from_seed(&[1; 32]), NodeId::new(1, 1));
    let header = Header {
        protocol: PROTOCOL.to_owned(),
        version: VERSION,
        record_id: "record".parse().expect("an id"),
        entity_type: EntityType::Task,
        entity_id: "entity".parse().expect("an id"),
        origin_node_id: node,
        origin_seq: 1,
        write_class: WriteClass::Strong,
        lease_epoch: 7,
        fence_token: FenceToken { epoch: 7, coordinator: node, sequence: 1 },
        intent_id: "intent".parse().expect("an id"),
        state: State::Committed,
        created_at: Hlc { wall_ms: 1, logical: 0, node },
        committed_at: Some(Hlc { wall_ms: 2, logical: 0, node }),
        precondition: None,
        recipient: Recipient::Direct { agent_fp: us().recipient },
        nonce: Nonce([3; 24]),
        sequence: 1,
        payload_cid: Hash::default(),
        sender: signer.public_key(),
        sender_epoch: 0,
    };
    let bytes = seal(&signer, &header, b"payload").expect("a good header");
    let text = bytes[68..bytes.len() - 7].to_vec();
    vec![bytes, text]
}
