//! The rules one by one, then what holds whatever comes in.

use super::*;
use proptest::prelude::*;

const DRIFT: u64 = MAX_CLOCK_DRIFT_MS;

fn node(n: u128) -> NodeId {
    NodeId::new(0, n)
}

fn stamp(wall_ms: u64, logical: u32, by: u128) -> Hlc {
    Hlc { wall_ms, logical, node: node(by) }
}

fn clock_at(wall_ms: u64, logical: u32) -> HlcClock {
    HlcClock::resume(stamp(wall_ms, logical, 1))
}

#[test]
fn tick_follows_the_table() {
    for (wall, logical, now, expected) in [
        (100, 7, 101, (101, 0)), // time moved on
        (100, 7, 100, (100, 8)), // same millisecond
        (100, 7, 3, (100, 8)),   // the wall clock was set back
        (0, 0, 0, (0, 1)),       // a new clock at the epoch
        (u64::MAX, 0, u64::MAX, (u64::MAX, 1)),
        (u64::MAX - 1, 4, u64::MAX, (u64::MAX, 0)),
    ] {
        let got = clock_at(wall, logical).tick(now).unwrap();
        assert_eq!(got, stamp(expected.0, expected.1, 1), "({wall}, {logical}) at {now}");
    }
}

#[test]
fn receive_follows_the_table() {
    for (case, prior, remote, now, expected) in [
        ("both at m, remote counts higher", (100, 2), (100, 9), 50, (100, 10)),
        ("both at m, prior counts higher", (100, 9), (100, 2), 100, (100, 10)),
        ("only prior", (100, 5), (90, 9), 80, (100, 6)),
        ("prior and now", (100, 5), (90, 9), 100, (100, 6)),
        ("only remote", (90, 9), (100, 5), 80, (100, 6)),
        ("remote and now", (90, 9), (100, 5), 100, (100, 6)),
        ("now alone", (90, 9), (95, 9), 100, (100, 0)),
        ("a very old remote", (90, 9), (0, 0), 100, (100, 0)),
        ("exactly the drift ahead", (90, 9), (100 + DRIFT, 3), 100, (100 + DRIFT, 4)),
        ("the end of time", (u64::MAX, 1), (u64::MAX, 2), u64::MAX, (u64::MAX, 3)),
    ] {
        let got = clock_at(prior.0, prior.1).receive(stamp(remote.0, remote.1, 2), now, DRIFT).unwrap();
        assert_eq!(got, stamp(expected.0, expected.1, 1), "{case}");
    }
}

#[test]
fn one_millisecond_beyond_the_drift_is_quarantined() {
    let mut clock = clock_at(90, 9);
    let remote = stamp(101 + DRIFT, 0, 2);
    let error = clock.receive(remote, 100, DRIFT).unwrap_err();
    assert_eq!(error, Error::TooFarAhead { remote, ahead_ms: DRIFT + 1, max_drift_ms: DRIFT });
    assert!(error.to_string().contains("60001 ms ahead"), "{error}");
    assert_eq!(clock, clock_at(90, 9));
}

#[test]
fn drift_is_measured_from_the_wall_clock_and_not_from_the_last_stamp() {
    let mut clock = clock_at(100 + DRIFT, 0);
    assert!(clock.receive(stamp(101 + DRIFT, 0, 2), 100, DRIFT).is_err());
    assert!(clock.receive(stamp(u64::MAX, 0, 2), 0, u64::MAX).is_ok(), "a limit of u64::MAX accepts everything");
}

/// A stamp from elsewhere may say that its counter is used up. Nobody who believes it may be kept from writing.
#[test]
fn a_used_up_counter_goes_on_with_the_next_millisecond() {
    let mut clock = clock_at(100, u32::MAX);
    assert_eq!(clock.tick(100), Ok(stamp(101, 0, 1)));
    assert_eq!(clock_at(100, u32::MAX).receive(stamp(100, 0, 2), 100, DRIFT), Ok(stamp(101, 0, 1)));
    assert_eq!(clock_at(90, 0).receive(stamp(100, u32::MAX, 2), 95, DRIFT), Ok(stamp(101, 0, 1)));
    assert_eq!(clock_at(90, 0).receive(stamp(95 + DRIFT, u32::MAX, 2), 95, DRIFT), Ok(stamp(96 + DRIFT, 0, 1)));
    let mut last = clock_at(u64::MAX, u32::MAX);
    assert_eq!(last.tick(100), Err(Error::Exhausted));
    assert_eq!(last, clock_at(u64::MAX, u32::MAX));
}

#[test]
fn stamps_order_by_wall_then_counter_then_node() {
    let ascending = [stamp(1, 9, 9), stamp(2, 0, 9), stamp(2, 1, 1), stamp(2, 1, 2), stamp(3, 0, 0)];
    assert!(ascending.is_sorted_by(|a, b| a < b));
}

#[test]
fn text_form_has_one_spelling() {
    let text = "1700000000000.3@nod_01HF7YAT000000000000000007";
    let stamp: Hlc = text.parse().unwrap();
    assert_eq!((stamp.wall_ms, stamp.logical, stamp.to_string().as_str()), (1_700_000_000_000, 3, text));
    let node = "nod_01HF7YAT000000000000000007";
    for time in
        ["", ".", "1", "1.", ".1", "01.0", "1.00", "+1.0", "1.-1", "1.4294967296", "18446744073709551616.0", "1.2.3"]
    {
        assert!(matches!(format!("{time}@{node}").parse::<Hlc>(), Err(Error::Text { .. })), "{time}");
    }
    assert!(matches!("1.2@tsk_01HF7YAT000000000000000007".parse::<Hlc>(), Err(Error::Node(_))));
    assert!("x".repeat(10_000).parse::<Hlc>().unwrap_err().to_string().len() < 200);
}

/// Times that often meet, because equal times are where the rules differ, and now and then any time at all.
fn any_wall() -> impl Strategy<Value = u64> {
    prop_oneof![4 => 1000..1010u64, 1 => Just(u64::MAX), 1 => any::<u64>()]
}

fn any_logical() -> impl Strategy<Value = u32> {
    prop_oneof![4 => 0..4u32, 1 => u32::MAX - 1..=u32::MAX, 1 => any::<u32>()]
}

proptest! {
    #[test]
    fn tick_strictly_grows_whatever_now_does(start in any_wall(), nows in prop::collection::vec(any_wall(), 1..50)) {
        let mut clock = clock_at(start, 0);
        for now in nows {
            let prior = clock.last();
            let next = clock.tick(now).unwrap();
            prop_assert!(next > prior && next.wall_ms >= now);
            prop_assert_eq!(next, clock.last());
        }
    }

    #[test]
    fn receive_is_after_both_or_changes_nothing(
        prior in (any_wall(), any_logical()), remote in (any_wall(), any_logical(), 0..3u128),
        now in any_wall(), max_drift_ms in prop_oneof![0..10u64, any::<u64>()],
    ) {
        let mut clock = clock_at(prior.0, prior.1);
        let (before, remote) = (clock.last(), stamp(remote.0, remote.1, remote.2));
        match clock.receive(remote, now, max_drift_ms) {
            Ok(next) => {
                prop_assert!(next > before && next > remote && next.wall_ms >= now);
                prop_assert_eq!((next, next.node), (clock.last(), before.node));
                prop_assert!(remote.wall_ms <= now.saturating_add(max_drift_ms));
            }
            Err(error) => {
                prop_assert_eq!(clock.last(), before);
                let too_far = matches!(error, Error::TooFarAhead { .. });
                prop_assert_eq!(too_far, remote.wall_ms > now.saturating_add(max_drift_ms));
            }
        }
    }

    #[test]
    fn every_stamp_survives_all_forms(wall_ms: u64, logical: u32, bytes: [u8; 16]) {
        let stamp = Hlc { wall_ms, logical, node: NodeId::from_bytes(bytes) };
        prop_assert_eq!(stamp.to_string().parse(), Ok(stamp));
        prop_assert_eq!(serde_json::from_str::<Hlc>(&serde_json::to_string(&stamp).unwrap()).unwrap(), stamp);
        prop_assert_eq!(postcard::from_bytes::<Hlc>(&postcard::to_allocvec(&stamp).unwrap()).unwrap(), stamp);
    }

    #[test]
    fn parsing_never_panics(text in "[0-9.@a-z_]{0,50}|.{0,50}") {
        let _ = text.parse::<Hlc>();
    }
}
