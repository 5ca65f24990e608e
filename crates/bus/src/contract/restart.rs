//! Promises about a restart (A5).

use super::{
    MeshBackend,
    world::{World, item},
};
use crate::{
    inbound::{Mark, Refusal},
    outbound::{Block, Failed, Sender},
};

/// A replay that was captured before a restart is refused after it.
pub fn a_replay_from_before_is_refused_after<B: MeshBackend>() {
    let mut world = World::<B>::new();
    for number in 1..=10 {
        assert_eq!(world.admit(1, 0, number, number), Ok(()));
    }
    world.restart();
    assert_eq!(world.admit(1, 0, 10, 10), Err(Refusal::Replay));
    assert_eq!(world.admit(1, 0, 1, 1), Err(Refusal::BadSequence { wanted: 11, found: 1 }), "its nonce is forgotten");
    assert_eq!(world.admit(1, 0, 11, 11), Ok(()));
}

/// Marks of all senders are as they were.
pub fn marks_are_kept<B: MeshBackend>() {
    let mut world = World::<B>::new();
    assert_eq!((world.admit(1, 3, 4, 1), world.admit(2, 0, 9, 1)), (Ok(()), Ok(())));
    world.restart();
    assert_eq!(world.mark(1), Some(Mark { epoch: 3, sequence: 4 }));
    assert_eq!(world.mark(2), Some(Mark { epoch: 0, sequence: 9 }));
    assert_eq!(world.mark(3), None);
}

/// The numbers that were reserved may have been used; none of them comes again.
pub fn numbers_go_on_behind_the_last_block<B: MeshBackend>() {
    let mut world = World::<B>::new();
    let mut last = 0;
    for _ in 0..5 {
        let block = world.reserve(1_024);
        assert_eq!(block, Block { epoch: 0, first: last + 1, last: last + 1_024 });
        last = block.last;
        world.restart();
    }
}

/// A restart is no new life.
pub fn the_epoch_is_kept<B: MeshBackend>() {
    let mut world = World::<B>::new();
    assert!(world.begin(7));
    world.reserve(3);
    world.restart();
    assert_eq!(world.sender(), Sender { epoch: 7, reserved: 3 });
    assert!(!world.begin(7));
}

/// Order, attempts, reasons and times are as they were, and ids go on.
pub fn what_waits_is_kept_in_order<B: MeshBackend>() {
    let mut world = World::<B>::new();
    let ids = [1, 1, 2].map(|peer| world.enqueue(item(peer, 5, 90)).unwrap());
    assert_eq!(world.fail(ids[0], "unreachable", 6), Failed::Waits);
    let before = world.due(50);
    assert_eq!(before.len(), 2);
    world.restart();
    assert_eq!(world.due(50), before);
    world.remove(ids[0]);
    world.remove(ids[2]);
    world.restart();
    assert_eq!(world.due_ids(50), [ids[1]]);
    assert!(world.enqueue(item(3, 0, 90)).unwrap() > ids[2]);
}

/// What was refused is as if it had never come.
pub fn a_refused_envelope_leaves_nothing<B: MeshBackend>() {
    let mut world = World::<B>::new();
    assert_eq!(world.admit(1, 1, 5, 1), Ok(()));
    assert!(world.admit(1, 1, 4, 2).is_err());
    world.restart();
    assert!(!world.has_seen(1, 2));
    assert_eq!(world.admit(1, 1, 6, 2), Ok(()));
}
