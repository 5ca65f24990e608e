//! Send: into the outbox, durably, whether or not anybody is there.

use super::{
    Bus, Error,
    message::{Kind, Message},
};
use crate::store::MeshStore;
use crate::{
    envelope::{Id, Nonce, PAYLOAD_BYTES_MAX},
    outbound::{Item, OutboxId},
    sign::Fingerprint,
};

/// Something to be sent.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Draft {
    /// For whom.
    pub to: Fingerprint,
    /// Its name: 24 random bytes that were never used before.
    pub nonce: Nonce,
    /// What it is.
    pub kind: Kind,
    /// What it is about.
    pub topic: Id,
    /// What it says.
    pub body: Vec<u8>,
    /// Given up from this time on. [`u64::MAX`]: never.
    pub expires_ms: u64,
}

impl<S: MeshStore> Bus<S> {
    /// Takes a message for a peer. *Durable* when it is ready with `Ok`; it goes when the drain comes to it.
    pub async fn send(&self, draft: Draft, now_ms: u64) -> Result<OutboxId, Error<S::Error>> {
        let Draft { to, nonce, kind, topic, body, expires_ms } = draft;
        let message = Message { nonce, sent_ms: now_ms, kind, topic, body };
        let bytes = message.to_payload().len();
        if bytes > PAYLOAD_BYTES_MAX {
            return Err(Error::TooLong { bytes });
        }
        let item = Item {
            peer_fp: to,
            message: message.to_spool(),
            not_before_ms: now_ms,
            expires_ms,
            attempts: 0,
            reason: None,
        };
        self.store.enqueue(item).await.map_err(Error::Store)?.map_err(Error::Full)
    }
}
