//! A store to tell stories with: short calls, and envelopes by numbers.

use super::MeshBackend;
use crate::envelope::FenceToken;
use crate::store::MeshStore;
use crate::{
    envelope::{Expected, Header, Nonce, PROTOCOL, Recipient, State, VERSION, open, seal},
    inbound::{self, Arrival, Mark, Refusal},
    outbound::{self, Block, Failed, Full, Item, OutboxId, Sender},
    sign::{Fingerprint, Signer},
    write_class::EntityType,
};
use relaymesh_core::{hash::Hash, hlc::Hlc, id::NodeId, op::WriteClass};

pub(super) struct World<B: MeshBackend> {
    backend: B,
    store: Option<B::Store>,
}

/// The sender with this number.
pub(super) fn peer(number: u8) -> Fingerprint {
    Signer::from_seed(&[number; 32]).public_key().fingerprint()
}

/// A nonce by number.
pub(super) fn nonce(number: u64) -> Nonce {
    let mut bytes = [7; 24];
    bytes[..8].copy_from_slice(&number.to_be_bytes());
    Nonce(bytes)
}

/// What came of an envelope of this sender, really sealed and opened.
pub(super) fn arrival(sender: u8, epoch: u64, sequence: u64, number: u64) -> Arrival {
    let us = peer(255);
    let node = NodeId::new(1, 1);
    let signer = Signer::from_seed(&[sender; 32]);
    let header = Header {
        protocol: PROTOCOL.to_owned(),
        version: VERSION,
        record_id: "r".parse().unwrap(),
        entity_type: EntityType::AuditEvent,
        entity_id: "e".parse().unwrap(),
        origin_node_id: node,
        origin_seq: 1,
        write_class: WriteClass::AppendOnly,
        lease_epoch: 1,
        fence_token: FenceToken { epoch: 1, coordinator: node, sequence: 1 },
        intent_id: "i".parse().unwrap(),
        state: State::Intent,
        created_at: Hlc { wall_ms: 1, logical: 0, node },
        committed_at: None,
        precondition: None,
        recipient: Recipient::Direct { agent_fp: us },
        nonce: nonce(number),
        sequence,
        payload_cid: Hash::default(),
        sender: signer.public_key(),
        sender_epoch: epoch,
    };
    let bytes = seal(&signer, &header, b"payload").unwrap();
    Arrival::of(&open(&bytes, Expected { recipient: us, carrier: None }).unwrap())
}

pub(super) fn item(number: u8, not_before_ms: u64, expires_ms: u64) -> Item {
    Item { peer_fp: peer(number), message: vec![number; 10], not_before_ms, expires_ms, attempts: 0, reason: None }
}

impl<B: MeshBackend> World<B> {
    /// A store with little room, so that a bound is met soon.
    pub(super) fn new() -> Self {
        let inbound = inbound::Limits { nonces_max: 8, peers_max: 4 };
        let outbound = outbound::Limits { items_max: 5, items_per_peer_max: 4, bytes_max: 100, attempts_max: 3 };
        let mut backend = B::fresh(inbound, outbound);
        let store = Some(backend.open());
        Self { backend, store }
    }

    pub(super) fn restart(&mut self) {
        self.store = None;
        self.store = Some(self.backend.open());
    }

    fn store(&self) -> &B::Store {
        self.store.as_ref().unwrap()
    }

    pub(super) fn admit(&self, sender: u8, epoch: u64, sequence: u64, number: u64) -> Result<(), Refusal> {
        B::wait(self.store().admit(arrival(sender, epoch, sequence, number))).unwrap()
    }

    pub(super) fn has_seen(&self, sender: u8, number: u64) -> bool {
        B::wait(self.store().nonce_seen(peer(sender), nonce(number))).unwrap()
    }

    pub(super) fn mark(&self, sender: u8) -> Option<Mark> {
        B::wait(self.store().high_water(peer(sender))).unwrap()
    }

    pub(super) fn sender(&self) -> Sender {
        B::wait(self.store().sender()).unwrap()
    }

    pub(super) fn reserve(&self, count: u64) -> Block {
        B::wait(self.store().reserve(count)).unwrap().unwrap()
    }

    pub(super) fn begin(&self, epoch: u64) -> bool {
        B::wait(self.store().begin_epoch(epoch)).unwrap()
    }

    pub(super) fn enqueue(&self, item: Item) -> Result<OutboxId, Full> {
        B::wait(self.store().enqueue(item)).unwrap()
    }

    pub(super) fn due(&self, now_ms: u64) -> Vec<(OutboxId, Item)> {
        B::wait(self.store().due(now_ms, 100)).unwrap()
    }

    pub(super) fn due_limited(&self, now_ms: u64, limit: usize) -> usize {
        B::wait(self.store().due(now_ms, limit)).unwrap().len()
    }

    pub(super) fn due_ids(&self, now_ms: u64) -> Vec<OutboxId> {
        self.due(now_ms).into_iter().map(|(id, _)| id).collect()
    }

    pub(super) fn fail(&self, id: OutboxId, reason: &str, not_before_ms: u64) -> Failed {
        B::wait(self.store().fail(id, reason.to_owned(), not_before_ms)).unwrap()
    }

    pub(super) fn hurry(&self, number: u8, now_ms: u64) {
        B::wait(self.store().hurry(peer(number), now_ms)).unwrap();
    }

    pub(super) fn remove(&self, id: OutboxId) -> Option<Item> {
        B::wait(self.store().remove(id)).unwrap()
    }

    pub(super) fn expire(&self, now_ms: u64) -> Vec<(OutboxId, Item)> {
        B::wait(self.store().expire(now_ms)).unwrap()
    }
}
