//! A chain is judged as of the deed: what held then, and what was taken back at or before then.

use super::world::*;
use crate::capability::*;
use proptest::prelude::*;
use relaymesh_core::{hlc::Hlc, id::NodeId};

fn read(time: Hlc) -> Deed<'static> {
    Deed::new(Resource::Evidence, Action::Read, time)
}

#[test]
fn time_is_that_of_the_deed_and_both_ends_are_exact() {
    let chain = authority(3, |number, link| {
        if number == 1 {
            (link.nbf, link.exp) = (2_000, Some(3_000));
        } else if number == 2 {
            (link.nbf, link.exp) = (2_500, Some(2_600));
        }
    });
    let none = Revocations::default();
    let judged = |time| chain.admit(&none, &read(at(time))).map(|_| ());
    assert_eq!(judged(999), Err(Refusal::NotYetValid { link: 0, nbf: 1_000, at: 999 }));
    assert_eq!(judged(1_999), Err(Refusal::NotYetValid { link: 1, nbf: 2_000, at: 1_999 }));
    assert_eq!(judged(2_499), Err(Refusal::NotYetValid { link: 2, nbf: 2_500, at: 2_499 }));
    assert_eq!(judged(2_500), Ok(()));
    assert_eq!(judged(2_599), Ok(()));
    assert_eq!(judged(2_600), Err(Refusal::Expired { link: 2, exp: 2_600, at: 2_600 }));
    assert_eq!(judged(3_000), Err(Refusal::Expired { link: 1, exp: 3_000, at: 3_000 }));
    assert_eq!(judged(u64::MAX), Err(Refusal::Expired { link: 0, exp: 9_000, at: u64::MAX }));
}

#[test]
fn revoking_a_link_revokes_everything_below_it_and_nothing_above() {
    let whole = authority(4, |_, _| {});
    for cut in 0..4 {
        let mut revoked = Revocations::default();
        let by = whole.links()[cut].delegation().iss;
        revoked.record(whole.links()[cut].cid(), by, at(5_000));
        for length in 1..=4 {
            let chain = authority(length, |_, _| {});
            let judged = |time| chain.admit(&revoked, &read(at(time))).map(|_| ());
            assert_eq!(judged(4_999), Ok(()), "what was done before stands");
            let below = usize::from(length) > cut;
            for time in [5_000, 5_001, 8_999] {
                let refusal = Refusal::Revoked { link: cut, revoked: at(5_000), at: at(time) };
                assert_eq!(judged(time), if below { Err(refusal) } else { Ok(()) }, "{cut} of {length} at {time}");
            }
        }
    }
}

#[test]
fn the_order_of_revocation_and_deed_is_that_of_their_whole_stamps() {
    let chain = authority(1, |_, _| {});
    let stamp = |logical, node| Hlc { wall_ms: 5_000, logical, node: NodeId::new(1, node) };
    let mut revoked = Revocations::default();
    revoked.record(chain.links()[0].cid(), root(), stamp(3, 3));
    for (logical, node, admitted) in [(2, 9, true), (3, 2, true), (3, 3, false), (3, 4, false), (4, 1, false)] {
        assert_eq!(chain.admit(&revoked, &read(stamp(logical, node))).is_ok(), admitted, "{logical} {node}");
    }
}

#[test]
fn only_who_stands_above_takes_back() {
    let chain = authority(3, |_, _| {});
    for link in 0..3_usize {
        for by in 0..=4_u8 {
            let mut revoked = Revocations::default();
            revoked.record(chain.links()[link].cid(), key(by), at(2_000));
            let cut = chain.admit(&revoked, &read(at(2_000))).is_err();
            assert_eq!(cut, usize::from(by) <= link, "key {by} takes back link {link}");
        }
    }
}

#[test]
fn another_delegation_of_the_same_thing_is_not_touched() {
    let (one, other) = (authority(2, |_, _| {}), authority(2, |_, link| link.nnc = Nonce([99; 16])));
    let mut revoked = Revocations::default();
    revoked.record(one.links()[0].cid(), root(), at(0));
    assert!(one.holds(&revoked, at(2_000)).is_err());
    assert_eq!(other.holds(&revoked, at(2_000)), Ok(()));
}

proptest! {
    #[test]
    fn the_order_in_which_revocations_arrive_does_not_matter(
        told in proptest::collection::vec((0..3_usize, 0..3_u8, 1_000..9_000_u64), 0..12).prop_shuffle(),
        time in 1_000..9_000_u64,
    ) {
        let chain = authority(3, |_, _| {});
        let all = |told: &[(usize, u8, u64)]| {
            let mut revoked = Revocations::default();
            told.iter().for_each(|(link, by, time)| revoked.record(chain.links()[*link].cid(), key(*by), at(*time)));
            revoked
        };
        let backwards: Vec<_> = told.iter().rev().copied().collect();
        prop_assert_eq!(all(&told), all(&backwards));
        let counts = told.iter().any(|(link, by, at)| usize::from(*by) <= *link && *at <= time);
        prop_assert_eq!(chain.holds(&all(&told), at(time)).is_err(), counts);
    }
}
