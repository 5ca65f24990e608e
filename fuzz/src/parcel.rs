//! Messages of an embedded bus: what an envelope carries, and what waited in an outbox.

use crate::say;
use relaymesh_bus::bus::{Kind, Message};
use relaymesh_bus::envelope::Nonce;

const NONCE: Nonce = Nonce([5; 24]);

/// What is read can be written, and is then read as the same. The body is what was there: no message is longer than its bytes.
pub fn target(data: &[u8]) {
    match Message::from_payload(NONCE, 1, data) {
        Ok(message) => {
            assert!(data.ends_with(&message.body));
            assert!(message.to_payload().len() <= data.len());
            assert_eq!(Message::from_payload(NONCE, 1, &message.to_payload()), Ok(message));
        }
        Err(error) => say(&error),
    }
    match Message::from_spool(data) {
        Ok(message) => {
            assert!(data.ends_with(&message.body));
            assert!(message.to_spool().len() <= data.len());
            assert_eq!(Message::from_spool(&message.to_spool()), Ok(message));
        }
        Err(error) => say(&error),
    }
}

/// Each kind in both forms.
pub fn seeds() -> Vec<Vec<u8>> {
    let message = |kind| Message {
        nonce: NONCE,
        sent_ms: 1_700_000_000_000,
        kind,
        topic: "ping".parse().expect("a topic"),
        body: b"hello".to_vec(),
    };
    let all = [Kind::Note, Kind::Request, Kind::Reply { to: Nonce([6; 24]) }].map(message);
    all.iter().flat_map(|message| [message.to_payload(), message.to_spool()]).collect()
}
