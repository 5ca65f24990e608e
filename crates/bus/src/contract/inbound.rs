//! Promises about what comes in.

use super::{MeshBackend, world::World};
use crate::inbound::{Mark, Refusal};

/// The same envelope again is refused.
pub fn an_envelope_is_admitted_once<B: MeshBackend>() {
    let world = World::<B>::new();
    assert_eq!(world.admit(1, 0, 1, 1), Ok(()));
    assert_eq!(world.admit(1, 0, 1, 1), Err(Refusal::Replay));
    assert!(world.has_seen(1, 1) && !world.has_seen(1, 2));
}

/// A nonce counts whatever stands beside it.
pub fn a_nonce_is_refused_with_another_sequence<B: MeshBackend>() {
    let world = World::<B>::new();
    assert_eq!(world.admit(1, 0, 1, 1), Ok(()));
    assert_eq!(world.admit(1, 0, 2, 1), Err(Refusal::Replay));
    assert_eq!(world.admit(1, 1, 1, 1), Err(Refusal::Replay));
}

/// Equal and smaller sequences are refused, with what is due.
pub fn a_sequence_that_does_not_grow_is_refused<B: MeshBackend>() {
    let world = World::<B>::new();
    assert_eq!(world.admit(1, 0, 5, 1), Ok(()));
    assert_eq!(world.admit(1, 0, 5, 2), Err(Refusal::BadSequence { wanted: 6, found: 5 }));
    assert_eq!(world.admit(1, 0, 4, 3), Err(Refusal::BadSequence { wanted: 6, found: 4 }));
    assert_eq!(world.admit(1, 0, 6, 4), Ok(()));
}

/// Numbers are lost in restarts; that is no reason to refuse.
pub fn a_gap_in_the_sequence_is_no_reason<B: MeshBackend>() {
    let world = World::<B>::new();
    for (number, sequence) in (0..).zip([1, 1_025, 9_000_000_000_000_000]) {
        assert_eq!(world.admit(1, 0, sequence, number), Ok(()));
    }
}

/// One sender's mark says nothing of another's.
pub fn each_sender_has_its_own_mark<B: MeshBackend>() {
    let world = World::<B>::new();
    assert_eq!(world.admit(1, 3, 9, 1), Ok(()));
    assert_eq!(world.admit(2, 0, 1, 2), Ok(()));
    assert_eq!(world.mark(1), Some(Mark { epoch: 3, sequence: 9 }));
    assert_eq!(world.mark(2), Some(Mark { epoch: 0, sequence: 1 }));
}

/// Nobody can use up another's nonce by sending it first.
pub fn each_sender_has_its_own_nonces<B: MeshBackend>() {
    let world = World::<B>::new();
    assert_eq!(world.admit(1, 0, 1, 1), Ok(()));
    assert_eq!(world.admit(2, 0, 1, 1), Ok(()));
}

/// A sender that lost its memory counts from 1 again.
pub fn a_later_epoch_counts_anew<B: MeshBackend>() {
    let world = World::<B>::new();
    assert_eq!(world.admit(1, 4, 70, 1), Ok(()));
    assert_eq!(world.admit(1, 6, 1, 2), Ok(()));
    assert_eq!(world.mark(1), Some(Mark { epoch: 6, sequence: 1 }));
}

/// What is of a life that is over is refused, whatever its sequence.
pub fn an_earlier_epoch_is_refused<B: MeshBackend>() {
    let world = World::<B>::new();
    assert_eq!(world.admit(1, 6, 1, 1), Ok(()));
    assert_eq!(world.admit(1, 5, 99, 2), Err(Refusal::StaleEpoch { newest: 6, found: 5 }));
}

/// Neither nonce nor mark of what was refused is kept.
pub fn a_refusal_changes_nothing<B: MeshBackend>() {
    let world = World::<B>::new();
    assert_eq!(world.admit(1, 2, 5, 1), Ok(()));
    for (epoch, sequence, nonce) in [(2, 9, 1), (2, 4, 2), (1, 9, 3)] {
        assert!(world.admit(1, epoch, sequence, nonce).is_err());
        assert_eq!(world.mark(1), Some(Mark { epoch: 2, sequence: 5 }));
        assert!(nonce == 1 || !world.has_seen(1, nonce));
    }
    for nonce in [2, 3] {
        assert_eq!(world.admit(1, 2, 5 + nonce, nonce), Ok(()), "the nonce was not used up");
    }
}

/// There is room for eight; the ninth makes the first be forgotten, and it is refused by its sequence.
pub fn the_oldest_nonces_are_forgotten_and_the_mark_is_not<B: MeshBackend>() {
    let world = World::<B>::new();
    for number in 1..=10 {
        assert_eq!(world.admit(1, 0, number, number), Ok(()));
    }
    let seen: Vec<u64> = (1..=10).filter(|number| world.has_seen(1, *number)).collect();
    assert_eq!(seen, [3, 4, 5, 6, 7, 8, 9, 10]);
    assert_eq!(world.admit(1, 0, 1, 1), Err(Refusal::BadSequence { wanted: 11, found: 1 }));
}

/// Who sends a lot pushes out nobody's nonces but its own.
pub fn a_loud_sender_pushes_out_its_own_nonces<B: MeshBackend>() {
    let world = World::<B>::new();
    assert_eq!((world.admit(2, 0, 1, 1), world.admit(3, 0, 1, 1)), (Ok(()), Ok(())));
    for number in 1..=30 {
        assert_eq!(world.admit(1, 0, number, number), Ok(()));
    }
    assert!(world.has_seen(2, 1) && world.has_seen(3, 1));
    assert_eq!((1..=30).filter(|number| world.has_seen(1, *number)).count(), 6);
}

/// Marks are never given up, so there are only so many.
pub fn more_senders_than_allowed_are_refused<B: MeshBackend>() {
    let world = World::<B>::new();
    for sender in 1..=4 {
        assert_eq!(world.admit(sender, 0, 1, 1), Ok(()));
    }
    assert_eq!(world.admit(5, 0, 1, 1), Err(Refusal::TooManyPeers { peers: 4 }));
    assert_eq!(world.mark(5), None);
}

/// When there is no room for new senders, the known ones go on.
pub fn a_sender_that_is_known_is_not_one_more<B: MeshBackend>() {
    let world = World::<B>::new();
    for sender in 1..=4 {
        assert_eq!(world.admit(sender, 0, 1, 1), Ok(()));
    }
    for sender in 1..=4 {
        assert_eq!(world.admit(sender, 0, 2, 2), Ok(()));
    }
}

/// Who never sent anything is unknown.
pub fn nobody_has_a_mark_before_the_first_envelope<B: MeshBackend>() {
    let world = World::<B>::new();
    assert_eq!(world.mark(1), None);
    assert!(!world.has_seen(1, 1));
}
