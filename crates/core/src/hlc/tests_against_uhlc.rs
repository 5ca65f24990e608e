//! The same histories through our clock and through `uhlc`, an independent implementation.
//!
//! `uhlc` keeps its counter in the low bits of a 64 bit time and reads physical time through a plain `fn()`. Here
//! one of our milliseconds is `1 << 24` of its units, so the mapping is exact and the counter has room; the same
//! shift makes 256 of our milliseconds one of its seconds. Stamps must then agree to the bit, not only in order.
//!
//! One difference is real and is kept out of the histories: see [`a_receipt_that_moves_nothing_is_an_event_here_only`].

use super::*;
use proptest::prelude::*;
use std::{cell::Cell, time::Duration};
use uhlc::{HLC, HLCBuilder, ID, NTP64, Timestamp};

const NODES: usize = 3;
const UNIT_BITS: u32 = 24;
const DRIFT: u64 = 256;

thread_local! {
    static PHYSICAL: Cell<u64> = const { Cell::new(0) };
}

fn physical() -> NTP64 {
    NTP64(PHYSICAL.get() << UNIT_BITS)
}

/// One node, twice.
struct Pair {
    now: u64,
    ours: HlcClock,
    theirs: HLC,
}

type Stamps = (Hlc, Timestamp);

impl Pair {
    fn new(index: usize, now: u64) -> Self {
        let n = u8::try_from(index + 1).unwrap();
        // They measure the drift with the counter included, we without: a microsecond of slack covers the counter
        // and is far from one of our milliseconds.
        let max_delta = Duration::from_secs(DRIFT / 256) + Duration::from_micros(1);
        let theirs = HLCBuilder::new().with_id(ID::try_from([n]).unwrap()).with_clock(physical);
        let ours = HlcClock::new(NodeId::new(0, n.into()));
        Self { now, ours, theirs: theirs.with_max_delta(max_delta).build() }
    }

    fn tick(&mut self) -> Stamps {
        PHYSICAL.set(self.now);
        (self.ours.tick(self.now).unwrap(), self.theirs.new_timestamp())
    }

    /// Both verdicts on a remote stamp, as "accepted".
    fn receive(&mut self, remote: Stamps) -> (bool, bool) {
        let (last, remote_ours) = (self.ours.last(), remote.0);
        if (last.wall_ms, last.logical).max((remote_ours.wall_ms, remote_ours.logical)) == (self.now, 0) {
            self.now += 1; // the one known difference
        }
        PHYSICAL.set(self.now);
        let ours = self.ours.receive(remote_ours, self.now, DRIFT);
        (ours.is_ok(), self.theirs.update_with_timestamp(&remote.1).is_ok())
    }
}

#[derive(Debug, Clone)]
enum Event {
    /// The node's wall clock jumps.
    ClockSet { node: usize, by: i64 },
    /// The node authors something.
    Authored { node: usize },
    /// The node takes in one of the stamps made so far: the one with this number, counted round and round.
    Received { node: usize, stamp: usize },
}

fn any_event() -> impl Strategy<Value = Event> {
    let by = prop_oneof![6 => 0..4i64, 2 => -4..0i64, 1 => 200..300i64, 1 => -300..-200i64];
    prop_oneof![
        2 => (0..NODES, by).prop_map(|(node, by)| Event::ClockSet { node, by }),
        3 => (0..NODES).prop_map(|node| Event::Authored { node }),
        4 => (0..NODES, any::<usize>()).prop_map(|(node, stamp)| Event::Received { node, stamp }),
    ]
}

/// Runs a history through both and gives the stamps, and how many receipts were refused.
fn run(offsets: [u64; NODES], events: &[Event]) -> Result<(Vec<Stamps>, usize), TestCaseError> {
    let mut pairs: Vec<Pair> = offsets.iter().enumerate().map(|(n, offset)| Pair::new(n, 10_000 + offset)).collect();
    let mut made: Vec<Stamps> = pairs.iter_mut().map(Pair::tick).collect();
    let mut refused = 0;
    for event in events {
        match event {
            Event::ClockSet { node, by } => pairs[*node].now = pairs[*node].now.saturating_add_signed(*by),
            Event::Authored { node } => made.push(pairs[*node].tick()),
            Event::Received { node, stamp } => {
                let (ours, theirs) = pairs[*node].receive(made[stamp % made.len()]);
                prop_assert_eq!(ours, theirs, "one accepts, the other refuses: {:?}", event);
                refused += usize::from(!ours);
                // They give out no stamp for a receipt. A tick at the same time shows where it led, on both sides.
                made.push(pairs[*node].tick());
            }
        }
    }
    Ok((made, refused))
}

fn check(made: &[Stamps]) -> Result<(), TestCaseError> {
    for (i, (ours, theirs)) in made.iter().enumerate() {
        prop_assert_eq!(theirs.get_time().0, (ours.wall_ms << UNIT_BITS) + u64::from(ours.logical), "stamp {}", i);
        for (j, (other_ours, other_theirs)) in made.iter().enumerate() {
            prop_assert_eq!(ours.cmp(other_ours), theirs.cmp(other_theirs), "stamps {} and {}", i, j);
        }
    }
    Ok(())
}

proptest! {
    #[test]
    fn both_clocks_order_every_history_alike(
        offsets in prop::array::uniform3(prop_oneof![3 => 0..4u64, 1 => 250..260u64]),
        events in prop::collection::vec(any_event(), 1..80),
    ) {
        check(&run(offsets, &events)?.0)?;
    }
}

#[test]
fn both_clocks_draw_the_line_of_trust_at_the_same_millisecond() {
    for (ahead, refused) in [(DRIFT - 1, 0), (DRIFT, 0), (DRIFT + 1, 1)] {
        // Node 2 is ahead and authors twice, so that its counter is not zero; node 0 receives the second stamp.
        let history = [Event::Authored { node: 2 }, Event::Received { node: 0, stamp: 3 }];
        let (made, refusals) = run([0, 0, ahead], &history).unwrap();
        check(&made).unwrap();
        assert_eq!(refusals, refused, "{ahead} ms ahead");
    }
}

#[test]
fn a_receipt_that_moves_nothing_is_an_event_here_only() {
    let (mut a, mut b) = (Pair::new(0, 500), Pair::new(1, 500));
    let (from_a, _) = (a.tick(), b.tick());
    PHYSICAL.set(500);
    // Everything seen so far is (500, 0), and so is the time: they stay there, we count the receipt.
    b.theirs.update_with_timestamp(&from_a.1).unwrap();
    assert_eq!(b.ours.receive(from_a.0, 500, DRIFT).unwrap().logical, 1);
    let (ours, theirs) = b.tick();
    assert_eq!((ours.logical, theirs.get_time().0 - (500 << UNIT_BITS)), (2, 1));
    // Causality holds on both sides all the same.
    assert!(ours > from_a.0 && theirs > from_a.1);
}
