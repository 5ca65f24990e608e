//! A message: what it is about, what it is, and its bytes in an envelope and in the outbox.
//!
//! ```text
//!  in an envelope   format ‖ kind, topic ‖ body                     nonce and time are in the header
//!  in the outbox    format ‖ nonce, time, kind, topic ‖ body
//! ```
//!
//! What stands before the body is postcard; the body is the rest.

use crate::envelope::{Id, Nonce};
use serde::{Deserialize, Serialize, de::DeserializeOwned};

/// The first byte of both forms.
const FORMAT: u8 = 1;

/// What a message is.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
pub enum Kind {
    /// Nobody waits for an answer.
    Note,
    /// Whoever sent it waits for a reply to its nonce.
    Request,
    /// The reply to a request. Anybody can claim that; check that it comes from whom you asked.
    Reply {
        /// The nonce of the request.
        to: Nonce,
    },
}

/// Something that somebody sent to somebody.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Message {
    /// Its name, the same however often it is tried.
    pub nonce: Nonce,
    /// When it was sent, by the sender's clock.
    pub sent_ms: u64,
    /// What it is.
    pub kind: Kind,
    /// What it is about.
    pub topic: Id,
    /// What it says.
    pub body: Vec<u8>,
}

/// The bytes are no message.
#[derive(Debug, Clone, Copy, PartialEq, Eq, thiserror::Error)]
#[error("unreadable: these bytes are no message of a bus")]
pub struct Unreadable;

impl Message {
    /// The bytes that an envelope carries.
    pub fn to_payload(&self) -> Vec<u8> {
        let Self { nonce: _, sent_ms: _, kind, topic, body } = self;
        encode(&(kind, topic), body)
    }

    /// What an envelope carried.
    pub fn from_payload(nonce: Nonce, sent_ms: u64, bytes: &[u8]) -> Result<Self, Unreadable> {
        let ((kind, topic), body) = decode(bytes)?;
        Ok(Self { nonce, sent_ms, kind, topic, body })
    }

    /// The bytes that wait in the outbox.
    pub fn to_spool(&self) -> Vec<u8> {
        let Self { nonce, sent_ms, kind, topic, body } = self;
        encode(&(nonce, sent_ms, kind, topic), body)
    }

    /// What waited in the outbox.
    pub fn from_spool(bytes: &[u8]) -> Result<Self, Unreadable> {
        let ((nonce, sent_ms, kind, topic), body) = decode(bytes)?;
        Ok(Self { nonce, sent_ms, kind, topic, body })
    }
}

fn encode(head: &impl Serialize, body: &[u8]) -> Vec<u8> {
    // Postcard refuses lists whose length is unknown, and nothing else; there is none here.
    let mut bytes = postcard::to_extend(head, vec![FORMAT]).unwrap_or_default();
    bytes.extend_from_slice(body);
    bytes
}

fn decode<T: DeserializeOwned>(bytes: &[u8]) -> Result<(T, Vec<u8>), Unreadable> {
    let (format, rest) = bytes.split_first().ok_or(Unreadable)?;
    if *format != FORMAT {
        return Err(Unreadable);
    }
    let (head, body) = postcard::take_from_bytes(rest).map_err(|_| Unreadable)?;
    Ok((head, body.to_vec()))
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::{collection::vec, prelude::*};

    fn any_message() -> impl Strategy<Value = Message> {
        let kind = prop_oneof![
            Just(Kind::Note),
            Just(Kind::Request),
            any::<[u8; 24]>().prop_map(|to| Kind::Reply { to: Nonce(to) })
        ];
        let parts = (any::<[u8; 24]>(), any::<u64>(), kind, "[!-~]{1,128}", vec(any::<u8>(), 0..200));
        parts.prop_map(|(nonce, sent_ms, kind, topic, body)| Message {
            nonce: Nonce(nonce),
            sent_ms,
            kind,
            topic: topic.parse().unwrap(),
            body,
        })
    }

    proptest! {
        #[test]
        fn both_forms_come_back(message in any_message()) {
            let (nonce, sent_ms) = (message.nonce, message.sent_ms);
            prop_assert_eq!(Message::from_payload(nonce, sent_ms, &message.to_payload()), Ok(message.clone()));
            prop_assert_eq!(Message::from_spool(&message.to_spool()), Ok(message));
        }

        #[test]
        fn bytes_from_outside_are_read_or_refused(bytes in vec(any::<u8>(), 0..60), format in 0..3_u8) {
            let bytes = [&[format], &bytes[..]].concat();
            if let Ok(message) = Message::from_payload(Nonce([0; 24]), 1, &bytes) {
                prop_assert_eq!(Message::from_payload(Nonce([0; 24]), 1, &message.to_payload()), Ok(message));
            }
            if let Ok(message) = Message::from_spool(&bytes) {
                prop_assert_eq!(Message::from_spool(&message.to_spool()), Ok(message));
            }
        }
    }

    #[test]
    fn a_message_is_these_bytes() {
        let message = Message {
            nonce: Nonce([7; 24]),
            sent_ms: 300,
            kind: Kind::Request,
            topic: "ping".parse().unwrap(),
            body: b"hi".to_vec(),
        };
        assert_eq!(message.to_payload(), b"\x01\x01\x04pinghi");
        assert_eq!(message.to_spool(), [&[1, 24], &[7; 24][..], &[0xac, 0x02, 1, 4], b"pinghi"].concat());
    }
}
