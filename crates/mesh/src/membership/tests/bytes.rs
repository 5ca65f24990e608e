//! Bytes from anybody: they may be refused, and nothing else may happen.

use super::{frame::FRAME_BYTES_MAX, world::World, *};
use proptest::prelude::*;

/// Frames that were really sent.
fn frames() -> Vec<Vec<u8>> {
    let mut world = World::of(3, Config::default());
    world.cut.insert(2);
    let mut kept = Vec::new();
    for _ in 0..40 {
        world.now_ms += 250;
        for sender in 0..2 {
            world.nodes[sender].handle_timeout(world.now_ms);
            kept.extend(std::iter::from_fn(|| world.nodes[sender].poll_transmit()).map(|transmit| transmit.bytes));
        }
    }
    kept
}

fn fresh() -> Membership<rand_pcg::Pcg64Mcg> {
    World::strangers(1, Config::default()).nodes.remove(0)
}

#[test]
fn bent_frames_never_harm() {
    let frames = frames();
    assert!(frames.len() > 20);
    for frame in frames.iter().take(60) {
        for place in 0..frame.len() {
            for bent in [0, 0xff, frame[place] ^ 1, frame[place] ^ 0x80] {
                let mut bytes = frame.clone();
                bytes[place] = bent;
                let mut membership = fresh();
                let _ = membership.handle_datagram(&bytes, 1);
                membership.handle_timeout(2_000);
                let mut membership = fresh();
                let _ = membership.handle_frame(node(1), &bytes, |_| Rank::Member, 1);
                membership.handle_timeout(2_000);
                membership.validate().unwrap();
            }
            assert!(fresh().handle_datagram(&frame[..place], 1).is_err(), "a part of a frame is no frame");
        }
    }
}

#[test]
fn what_is_too_long_is_refused_unread() {
    let mut membership = fresh();
    assert!(membership.handle_datagram(&vec![0; FRAME_BYTES_MAX + 1], 1).is_err());
    assert_eq!(membership.counters().malformed, 1);
}

proptest! {
    #[test]
    fn any_bytes_are_taken_or_refused(bytes in prop::collection::vec(any::<u8>(), 0..200)) {
        let mut membership = fresh();
        let refused = membership.handle_datagram(&bytes, 1).is_err();
        prop_assert_eq!(membership.counters().malformed, u64::from(refused));
    }
}
