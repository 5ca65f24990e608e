//! Promises about the numbers of what goes out.

use super::{MeshBackend, world::World};
use crate::outbound::{Block, Sender};

/// A fresh store has used no number, and the first is 1.
pub fn numbers_begin_with_one<B: MeshBackend>() {
    let world = World::<B>::new();
    assert_eq!(world.sender(), Sender { epoch: 0, reserved: 0 });
    assert_eq!(world.reserve(3), Block { epoch: 0, first: 1, last: 3 });
}

/// No number is in two blocks, and none is left out while the store lives.
pub fn blocks_follow_each_other_without_a_gap<B: MeshBackend>() {
    let world = World::<B>::new();
    let mut last = 0;
    for count in [1, 1_024, 2, 1] {
        let block = world.reserve(count);
        assert_eq!((block.first, block.last), (last + 1, last + count));
        last = block.last;
        assert_eq!(world.sender().reserved, last);
    }
}

/// Whoever asks for nothing gets one, and does not ask for ever.
pub fn a_block_of_nothing_has_one_number<B: MeshBackend>() {
    let world = World::<B>::new();
    let block = world.reserve(0);
    assert_eq!((block.first, block.last), (1, 1));
}

/// A later life counts from 1.
pub fn a_later_epoch_begins_with_one<B: MeshBackend>() {
    let world = World::<B>::new();
    world.reserve(10);
    assert!(world.begin(1_700_000_000_000));
    assert_eq!(world.reserve(2), Block { epoch: 1_700_000_000_000, first: 1, last: 2 });
}

/// A life that is not later is none: its numbers may have been used.
pub fn an_epoch_that_is_not_later_changes_nothing<B: MeshBackend>() {
    let world = World::<B>::new();
    assert!(world.begin(5));
    world.reserve(7);
    assert!(!world.begin(5) && !world.begin(4) && !world.begin(0));
    assert_eq!(world.sender(), Sender { epoch: 5, reserved: 7 });
}
