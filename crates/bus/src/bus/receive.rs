//! Receive: bytes from a link become a message, once.

use super::{
    Bus, Error,
    message::{Message, Unreadable},
};
use crate::store::MeshStore;
use crate::{
    envelope::{self, Expected, open},
    inbound::{Arrival, Refusal},
    sign::PublicKey,
};

/// What came of bytes from a link.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Received {
    /// Something new. It does not come again.
    Message(Incoming),
    /// It was here before. Nothing is to be done but to say so.
    Again,
    /// It does not count. Nothing changed.
    Refused(Refused),
}

/// A message with who sent it.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Incoming {
    /// Whose signature it has.
    pub from: PublicKey,
    /// What was sent.
    pub message: Message,
}

/// Why bytes from a link do not count.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
pub enum Refused {
    /// They are no envelope for us.
    #[error(transparent)]
    Envelope(envelope::Error),
    /// The envelope carries no message of a bus.
    #[error(transparent)]
    Unreadable(Unreadable),
    /// It was overtaken, or is of a life that is over, or there are too many senders.
    #[error(transparent)]
    Order(Refusal),
}

/// What the sender should be told, by whatever way the link has.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Receipt {
    /// It is here: [`Drain::handle_taken`](super::Drain::handle_taken).
    Taken,
    /// It is not, and why: [`Drain::handle_failed`](super::Drain::handle_failed).
    Refused {
        /// In words.
        reason: String,
    },
}

impl Received {
    /// What the sender should be told.
    pub fn receipt(&self) -> Receipt {
        match self {
            Self::Message(_) | Self::Again => Receipt::Taken,
            Self::Refused(refused) => Receipt::Refused { reason: refused.to_string() },
        }
    }
}

impl<S: MeshStore> Bus<S> {
    /// Takes bytes from a link. `carrier` is whose link it is, if links are authenticated.
    ///
    /// A message is given out once it is durable that it came. Everything is checked before anything is remembered: signature, recipient,
    /// payload, and only then nonce and number, in one step (D15).
    pub async fn receive(&self, bytes: &[u8], carrier: Option<PublicKey>) -> Result<Received, Error<S::Error>> {
        let expected = Expected { recipient: self.fingerprint(), carrier };
        let envelope = match open(bytes, expected) {
            Ok(envelope) => envelope,
            Err(error) => return Ok(Received::Refused(Refused::Envelope(error))),
        };
        let header = envelope.header();
        let message = match Message::from_payload(header.nonce, header.created_at.wall_ms, envelope.payload()) {
            Ok(message) => message,
            Err(error) => return Ok(Received::Refused(Refused::Unreadable(error))),
        };
        let incoming = Incoming { from: header.sender, message };
        Ok(match self.store.admit(Arrival::of(&envelope)).await.map_err(Error::Store)? {
            Ok(()) => Received::Message(incoming),
            Err(Refusal::Replay) => Received::Again,
            Err(
                refusal @ (Refusal::BadSequence { .. } | Refusal::StaleEpoch { .. } | Refusal::TooManyPeers { .. }),
            ) => Received::Refused(Refused::Order(refusal)),
        })
    }
}
