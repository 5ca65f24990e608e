//! A link that loses, repeats and holds back, and two ends that restart.

use super::{Backend, Node};
use proptest::{collection::vec, prelude::*, test_runner::TestRunner};
use relaymesh_bus::bus::{Parcel, Receipt};

/// Plays random histories and heals the link in the end.
pub(crate) fn whatever_the_link_does<B: Backend>() {
    let config = ProptestConfig { cases: 12, failure_persistence: None, ..ProptestConfig::default() };
    let histories = vec((0..9_u8, any::<prop::sample::Index>()), 1..40);
    TestRunner::new(config).run(&histories, |history| play::<B>(&history)).expect("each is taken once and in order");
}

fn play<B: Backend>(history: &[(u8, prop::sample::Index)]) -> Result<(), TestCaseError> {
    let (mut alice, mut bob) = (Node::<B>::new(1), Node::<B>::new(2));
    let (mut sent, mut now_ms) = (0, 0);
    let mut captured: Vec<Vec<u8>> = Vec::new();
    for (event, pick) in history {
        now_ms += 31_000;
        match event {
            0..3 => {
                sent += 1;
                alice.send(&bob, sent, now_ms);
            }
            3 => drop(alice.fail(now_ms)),
            4 => captured.extend(alice.deliver(&mut bob, now_ms)),
            // It arrives, and the receipt does not.
            5 => {
                for Parcel { id, bytes, .. } in alice.poll(now_ms).parcels {
                    bob.receive(&bytes);
                    captured.push(bytes);
                    alice.told(id, Receipt::Refused { reason: "no answer".to_owned() }, now_ms);
                }
            }
            // It is held back, and counts as lost meanwhile.
            6 => {
                for Parcel { id, bytes, .. } in alice.poll(now_ms).parcels {
                    captured.push(bytes);
                    alice.told(id, Receipt::Refused { reason: "no answer".to_owned() }, now_ms);
                }
            }
            7 if !captured.is_empty() => drop(bob.receive(pick.get::<Vec<u8>>(&captured))),
            _ if pick.index(2) == 0 => alice.restart(now_ms),
            _ => bob.restart(now_ms),
        }
        let heard = bob.heard();
        prop_assert!(heard.iter().copied().eq(1..=heard.len() as u64), "out of order or twice: {heard:?}");
    }
    for _ in 0..=sent {
        now_ms += 31_000;
        alice.deliver(&mut bob, now_ms);
    }
    captured.iter().for_each(|bytes| drop(bob.receive(bytes)));
    prop_assert_eq!(bob.heard(), (1..=sent).collect::<Vec<_>>());
    Ok(())
}
