//! Promises about the log: what was put there comes back, and nothing else is let in.

use super::{Backend, gallery::gallery, graph::Graph, snapshot::all_ops, world::World};
use crate::{Reader, StoredOp};
use relaymesh_core::{
    op::{BODY_BYTES_MAX, Chain, Op},
    row::StateHash,
    task,
};

/// A fresh store stands at 0 with a chain that has no ops and no rows to hash.
pub fn a_fresh_store_has_an_empty_head<B: Backend>() {
    let head = World::<B>::new().reader().head().unwrap();
    assert_eq!(head.pos, 0);
    assert_eq!(head.chain, Chain::new(head.chain.origin, head.chain.origin_epoch));
    assert_eq!(head.state, StateHash::default());
}

/// The head after a commit is the batch's.
pub fn the_head_is_that_of_the_last_batch<B: Backend>() {
    let mut world = World::<B>::new();
    for _ in 0..3 {
        world.author.submit(&Graph::chain(2));
        let batch = world.commit();
        assert_eq!(world.reader().head().unwrap(), batch.head);
    }
}

/// Ops come back with the bytes, hashes and numbers that were committed, in order.
pub fn ops_come_back_byte_for_byte_in_order<B: Backend>() {
    let mut world = World::<B>::new();
    gallery(&mut world.author);
    let mut expected = world.commit().ops;
    gallery(&mut world.author);
    expected.extend(world.commit().ops);
    assert_eq!(world.reader().ops(0, 10_000).unwrap(), expected);
}

/// Pages of every length join to the whole.
pub fn ops_are_paged_without_loss<B: Backend>() {
    let mut world = World::<B>::new();
    gallery(&mut world.author);
    let expected = world.commit().ops;
    let mut reader = world.reader();
    assert_eq!(all_ops(&mut reader), expected);
    for limit in 1..5 {
        let from_third = reader.ops(3, limit).unwrap();
        assert_eq!(from_third, expected[3..3 + limit], "{limit} ops after op 3");
    }
}

/// After the newest op there is nothing; neither is there after a number that was never given.
pub fn ops_after_the_newest_are_none<B: Backend>() {
    let mut world = World::<B>::new();
    assert!(world.reader().ops(0, 10).unwrap().is_empty());
    world.author.submit(&Graph::single());
    let head = world.commit().head;
    let mut reader = world.reader();
    assert!(reader.ops(head.pos, 10).unwrap().is_empty());
    assert!(reader.ops(head.pos + 1_000, 10).unwrap().is_empty());
}

/// A batch whose first op does not follow the head, and one with a hole in its middle, are refused.
pub fn a_gap_in_the_ops_is_refused<B: Backend>() {
    let mut world = World::<B>::new();
    world.author.submit(&Graph::single());
    world.commit();
    world.author.submit_all(3, &Graph::single());
    let batch = world.author.take();
    let shift = |op: &StoredOp, by: u64| StoredOp { pos: op.pos + by, ..op.clone() };

    let mut late = batch.clone();
    late.ops = batch.ops.iter().map(|op| shift(op, 1)).collect();
    late.head.pos += 1;
    world.refuse(&late);

    let mut hole = batch.clone();
    hole.ops = vec![batch.ops[0].clone(), shift(&batch.ops[1], 1), shift(&batch.ops[2], 1)];
    hole.head.pos += 1;
    world.refuse(&hole);
}

/// Ops with numbers that are taken are refused, though their rows would fit.
pub fn a_batch_from_before_the_head_is_refused<B: Backend>() {
    let mut world = World::<B>::new();
    let task = world.author.submit(&Graph::single());
    world.commit();
    world.author.claim(task, 0);
    let mut batch = world.author.take();
    batch.ops[0].pos -= 1;
    world.refuse(&batch);
}

/// A batch committed twice is refused the second time, whether it creates rows or only changes them.
pub fn a_batch_cannot_be_committed_twice<B: Backend>() {
    let mut world = World::<B>::new();
    let task = world.author.submit(&Graph::single());
    let created = world.commit();
    world.refuse(&created);
    world.author.claim(task, 0);
    let changed = world.commit();
    world.refuse(&changed);
}

/// What was stored is a chain: every op verifies after the one before it, and the last one is the head.
pub fn the_chain_of_what_was_stored_holds<B: Backend>() {
    let mut world = World::<B>::new();
    gallery(&mut world.author);
    let head = world.commit().head;
    let mut chain = Chain::new(head.chain.origin, head.chain.origin_epoch);
    for op in all_ops(&mut world.reader()) {
        chain.verify(op.pos, &op.bytes, op.hash).unwrap();
    }
    assert_eq!(chain, head.chain);
}

/// A head of a later epoch is kept like any other.
pub fn the_head_goes_on_in_a_new_epoch<B: Backend>() {
    let mut world = World::<B>::new();
    world.author.submit(&Graph::single());
    let before = world.commit().head;
    world.author.begin_epoch();
    world.author.submit(&Graph::single());
    let batch = world.commit();
    let head = world.reader().head().unwrap();
    assert_eq!(head, batch.head);
    assert_eq!((head.chain.origin_epoch, head.chain.seq), (before.chain.origin_epoch + 1, 1));
}

/// An op as large as its body may be comes back.
pub fn an_op_of_the_largest_size_comes_back<B: Backend>() {
    let mut world = World::<B>::new();
    let task = world.author.submit(&Graph::single());
    let held = world.author.claim(task, 0);
    let error = "x".repeat(BODY_BYTES_MAX - 64);
    world.author.say(task, task::Body::FailJob { held, retryable: true, jitter_ms: 0, error }).unwrap();
    let batch = world.commit();
    let last = world.reader().ops(batch.head.pos - 1, 1).unwrap().remove(0);
    assert_eq!(Some(&last), batch.ops.last());
    assert!(Op::decode(last.pos, &last.bytes).is_ok());
}
