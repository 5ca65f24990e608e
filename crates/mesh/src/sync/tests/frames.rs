//! Frames as bytes: one spelling, bounds for every list, and nothing that anybody can send does harm.

use super::{
    world::{FOUL, START_MS, World},
    *,
};
use crate::feed::{BRANCHES_MAX, DecodeError, Place, Run, tests::Author};
use proptest::prelude::*;
use relaymesh_core::{hash::Hash, op::Scope};

/// One of each.
fn frames() -> Vec<Frame> {
    let mut author = Author::new(1);
    let run = author.run(3, START_MS, "x");
    let (feed, place, content) = (author.feed(), author.place(), Hash::sha256(b"x"));
    let span = Span { after: Some(feed), through: None };
    vec![
        Frame::Frontier(Frontier { complete: Some(span), heads: vec![run.head, author.head(START_MS + 9)] }),
        Frame::Want(Want { target: feed.head(place), locator: vec![place, feed.start()], until_ms: 7 }),
        Frame::Run(run),
        Frame::Lacking { target: feed.head(place), start: Some(place) },
        Frame::ContentWant { content, scope: Scope::Log, offset: 9 },
        Frame::ContentPart { content, offset: 9, bytes: vec![1, 2, 3] },
        Frame::ContentWithheld { content },
        Frame::Notice { origin: feed.origin, ahead_ms: 300 },
    ]
}

#[test]
fn every_frame_reads_as_it_was_written_and_a_part_of_it_does_not() {
    for frame in frames() {
        let bytes = frame.encode();
        assert_eq!(Frame::decode(&bytes), Ok(frame.clone()));
        for end in 0..bytes.len() {
            assert!(Frame::decode(&bytes[..end]).is_err(), "{end} bytes of {frame:?}");
        }
        assert!(Frame::decode(&[&bytes[..], &[0]].concat()).is_err());
    }
}

#[test]
fn what_is_too_long_is_refused() {
    let author = Author::new(1);
    let (head, place) = (author.head(1), author.place());
    let heads = |count| Frame::Frontier(Frontier { complete: None, heads: vec![head; count] });
    let places =
        |count| Frame::Want(Want { target: author.feed().head(place), locator: vec![place; count], until_ms: 0 });
    let ops = |count, len| Frame::Run(Run::new(place, vec![vec![0; len]; count], head));
    let part = |len| Frame::ContentPart { content: Hash::default(), offset: 0, bytes: vec![0; len] };
    for (frame, fits) in [
        (heads(BRANCHES_MAX * FRONTIER_FEEDS_MAX), true),
        (heads(BRANCHES_MAX * FRONTIER_FEEDS_MAX + 1), false),
        (places(LOCATOR_MAX), true),
        (places(LOCATOR_MAX + 1), false),
        (ops(1_024, 1_024), true),
        (ops(1_025, 1), false),
        (ops(17, 64 * 1_024), false),
        (ops(1, 64 * 1_024 + 1), false),
        (part(PART_BYTES_MAX), true),
        (part(PART_BYTES_MAX + 1), false),
    ] {
        let bytes = frame.encode();
        assert_eq!(Frame::decode(&bytes).is_ok(), fits, "{} bytes", bytes.len());
        assert!(!fits || bytes.len() <= FRAME_BYTES_MAX);
    }
    let long = vec![1; FRAME_BYTES_MAX + 1];
    assert!(matches!(Frame::decode(&long), Err(DecodeError::TooLong { .. })), "unread");
}

#[test]
fn bent_frames_do_no_harm() {
    let mut world = World::of(2, 1);
    world.write(0, 4);
    world.run(3_000);
    let from = world.id(0);
    for frame in frames() {
        let bytes = frame.encode();
        for at in 0..bytes.len() {
            for bits in [1, 0x80, 0xff] {
                let mut bent = bytes.clone();
                bent[at] ^= bits;
                let _ = world.with_node(1, |sync, around| sync.handle_frame(from, &bent, around));
            }
        }
        world.run(2_000);
    }
    world.assert_agreed(0..2);
}

proptest! {
    #[test]
    fn any_bytes_are_a_frame_or_refused(bytes in prop::collection::vec(any::<u8>(), 0..300)) {
        for bytes in [bytes.clone(), [&[1], &bytes[..]].concat()] {
            if let Ok(frame) = Frame::decode(&bytes) {
                prop_assert_eq!(frame.encode(), bytes);
            }
        }
    }

    /// Frames that can be read, with whatever is in them, in any order.
    #[test]
    fn any_frames_leave_a_node_that_works(
        picks in prop::collection::vec((0..8usize, any::<[u8; 4]>(), any::<u64>()), 0..60), seed: u64,
    ) {
        let mut world = World::of(3, seed);
        world.weather = FOUL;
        for (kind, [a, b, c, d], number) in picks {
            let mut author = Author::new(a % 4 + 11);
            let run = author.run(u64::from(b % 5), START_MS + u64::from(c), if d % 2 == 0 { "x" } else { "y" });
            let (feed, place) = (author.feed(), author.place());
            let odd = Place { seq: number, hash: place.hash };
            let place = if d % 3 == 0 { odd } else { place };
            let content = Hash::sha256(&[a]);
            let frame = match kind {
                0 => Frame::Frontier(Frontier { complete: Some(Span { after: None, through: Some(feed) }), heads: vec![run.head] }),
                1 => Frame::Frontier(Frontier { complete: None, heads: vec![author.head(number)] }),
                2 => Frame::Want(Want { target: feed.head(place), locator: vec![odd, place], until_ms: number }),
                3 => Frame::Run(run),
                4 => Frame::Lacking { target: feed.head(place), start: Some(odd) },
                5 => Frame::ContentWant { content, scope: Scope::Log, offset: number as u32 },
                6 => Frame::ContentPart { content, offset: number as u32, bytes: vec![a; usize::from(b)] },
                _ => Frame::Notice { origin: feed.origin, ahead_ms: number },
            };
            world.send(2, 0, frame.encode());
            world.run(u64::from(d) * 10);
        }
        world.heal();
        world.write(1, 5);
        world.run(20_000);
        prop_assert_eq!(world.nodes[0].log.validate(), Ok(()));
        prop_assert!(world.seq(0, 1) >= 5);
    }
}
