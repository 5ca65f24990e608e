//! Drain: what waits goes, of each peer one after the other.
//!
//! `poll` gives out parcels; each of them ends with one call, `handle_taken` or `handle_failed`, and until then nothing more is
//! given out for its peer. What was given out when the process ends waits in the outbox still, and goes again.
//!
//! Invariant: a parcel is under way from the moment that `poll` gives it to somebody. A `poll` that fails, or whose future is
//! dropped, gave nothing to anybody, so it leaves nothing under way; the numbers that it took are lost, and nobody misses them.

use super::{
    Bus, Error,
    message::{Message, Unreadable},
};
use crate::{
    envelope::{self, FenceToken, Header, Id, PROTOCOL, Recipient, State, VERSION, seal},
    outbound::{Failed, Item, OutboxId, SEQUENCE_BLOCK, Sequences},
    retry::Retry,
    sign::Fingerprint,
    store::MeshStore,
    write_class::EntityType,
};
use relaymesh_core::{hash::Hash, hlc::Hlc, op::WriteClass};
use std::collections::BTreeMap;

/// What drains the outbox of a bus.
#[derive(Debug)]
pub struct Drain<S> {
    bus: Bus<S>,
    retry: Retry,
    sequences: Sequences,
    /// Of each peer, what is on its way and how often it was tried before.
    under_way: BTreeMap<Fingerprint, (OutboxId, u32)>,
    /// What was given up and not told yet.
    untold: Vec<GivenUp>,
}

/// What `poll` gives out.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct Polled {
    /// To be sent, at most one for each peer.
    pub parcels: Vec<Parcel>,
    /// Will not go any more.
    pub given_up: Vec<GivenUp>,
}

/// Bytes for a peer.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Parcel {
    /// What to tell the drain about.
    pub id: OutboxId,
    /// For whom.
    pub peer: Fingerprint,
    /// The envelope.
    pub bytes: Vec<u8>,
}

/// Something that will not go any more, told once.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct GivenUp {
    /// Its id.
    pub id: OutboxId,
    /// For whom it was.
    pub peer: Fingerprint,
    /// What it was, if it can be read.
    pub message: Result<Message, Unreadable>,
    /// Why.
    pub why: Why,
}

/// Why something will not go any more.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
pub enum Why {
    /// Its time is over. If it was on its way, it may have arrived.
    #[error("expired")]
    Expired,
    /// It was tried as often as anything is tried.
    #[error("tried {attempts} times, the last time: {reason}")]
    TriedTooOften {
        /// How often.
        attempts: u32,
        /// Why the last try failed.
        reason: String,
    },
    /// No envelope can be made of it.
    #[error("cannot be sent: {reason}")]
    Unsendable {
        /// Why not.
        reason: String,
    },
}

impl<S: MeshStore> Drain<S> {
    pub(super) fn new(bus: Bus<S>, retry: Retry) -> Self {
        Self { bus, retry, sequences: Sequences::default(), under_way: BTreeMap::new(), untold: Vec::new() }
    }

    /// The same with other delays between tries.
    pub fn with_retry(self, retry: Retry) -> Self {
        Self { retry, ..self }
    }

    /// What can go now, at most one parcel for each peer; and what will not go any more, told once. Numbers are durable before
    /// they are used.
    pub async fn poll(&mut self, now_ms: u64, limit: usize) -> Result<Polled, Error<S::Error>> {
        let over = self.bus.store.expire(now_ms).await.map_err(Error::Store)?;
        self.untold.extend(over.iter().map(|(id, item)| given_up(*id, item, Why::Expired)));
        let look = limit.saturating_add(self.under_way.len());
        let due = self.bus.store.due(now_ms, look).await.map_err(Error::Store)?;
        let free = due.into_iter().filter(|(_, item)| !self.under_way.contains_key(&item.peer_fp)).take(limit);
        let free: Vec<(OutboxId, Item)> = free.collect();
        let mut sealed = Vec::new();
        for (id, item) in free {
            let number = self.number().await?;
            match self.seal(&item, number) {
                Ok(bytes) => sealed.push((Parcel { id, peer: item.peer_fp, bytes }, item.attempts)),
                Err(reason) => {
                    self.bus.store.remove(id).await.map_err(Error::Store)?;
                    self.untold.push(given_up(id, &item, Why::Unsendable { reason }));
                }
            }
        }
        self.under_way.extend(sealed.iter().map(|(parcel, tried)| (parcel.peer, (parcel.id, *tried))));
        let parcels = sealed.into_iter().map(|(parcel, _)| parcel).collect();
        Ok(Polled { parcels, given_up: std::mem::take(&mut self.untold) })
    }

    /// The other side has it.
    pub async fn handle_taken(&mut self, id: OutboxId) -> Result<(), Error<S::Error>> {
        self.bus.store.remove(id).await.map_err(Error::Store)?;
        self.landed(id);
        Ok(())
    }

    /// The other side does not have it, or nobody knows: it goes again later, or is given up and told. `jitter_ms` is random.
    pub async fn handle_failed(
        &mut self,
        id: OutboxId,
        reason: &str,
        now_ms: u64,
        jitter_ms: u64,
    ) -> Result<Option<GivenUp>, Error<S::Error>> {
        let tried = self.under_way.values().find(|(on_its_way, _)| *on_its_way == id).map_or(0, |(_, tried)| *tried);
        let later_ms = now_ms.saturating_add(self.retry.delay_ms(tried, jitter_ms));
        let failed = self.bus.store.fail(id, reason.to_owned(), later_ms).await.map_err(Error::Store)?;
        self.landed(id);
        Ok(match failed {
            Failed::Waits | Failed::Unknown => None,
            Failed::GivenUp(item) => {
                let reason = item.reason.clone().unwrap_or_default();
                Some(given_up(id, &item, Why::TriedTooOften { attempts: item.attempts, reason }))
            }
        })
    }

    /// A peer can be reached: its first need not wait any longer.
    pub async fn handle_back(&mut self, peer: Fingerprint, now_ms: u64) -> Result<(), Error<S::Error>> {
        self.bus.store.hurry(peer, now_ms).await.map_err(Error::Store)
    }

    fn landed(&mut self, id: OutboxId) {
        self.under_way.retain(|_, (on_its_way, _)| *on_its_way != id);
    }

    /// The next number and its epoch, from a block that is durable.
    async fn number(&mut self) -> Result<(u64, u64), Error<S::Error>> {
        loop {
            if let Some(next) = self.sequences.poll_next() {
                return Ok(next);
            }
            let block = self.bus.store.reserve(SEQUENCE_BLOCK).await.map_err(Error::Store)?;
            self.sequences.handle_reserved(block.map_err(Error::Exhausted)?);
        }
    }

    fn seal(&self, item: &Item, number: (u64, u64)) -> Result<Vec<u8>, String> {
        let message = Message::from_spool(&item.message).map_err(|error| error.to_string())?;
        let header = self.header(&message, item.peer_fp, number);
        let sealed = header.and_then(|header| seal(&self.bus.signer, &header, &message.to_payload()));
        sealed.map_err(|error| error.to_string())
    }

    /// A message is a record of its own, that its sender wrote and nobody coordinates: what the header says of leases and of the
    /// log is the sender's own.
    fn header(
        &self,
        message: &Message,
        agent_fp: Fingerprint,
        (sender_epoch, sequence): (u64, u64),
    ) -> Result<Header, envelope::Error> {
        let node = self.bus.node;
        let name: Id = message.nonce.to_string().parse()?;
        Ok(Header {
            protocol: PROTOCOL.to_owned(),
            version: VERSION,
            record_id: name.clone(),
            entity_type: EntityType::Message,
            entity_id: name.clone(),
            origin_node_id: node,
            origin_seq: sequence,
            write_class: WriteClass::AppendOnly,
            lease_epoch: 1,
            fence_token: FenceToken { epoch: 1, coordinator: node, sequence },
            intent_id: name,
            state: State::Intent,
            created_at: Hlc { wall_ms: message.sent_ms, logical: 0, node },
            committed_at: None,
            precondition: None,
            recipient: Recipient::Direct { agent_fp },
            nonce: message.nonce,
            sequence,
            payload_cid: Hash::default(),
            sender: self.bus.public_key(),
            sender_epoch,
        })
    }
}

fn given_up(id: OutboxId, item: &Item, why: Why) -> GivenUp {
    GivenUp { id, peer: item.peer_fp, message: Message::from_spool(&item.message), why }
}
