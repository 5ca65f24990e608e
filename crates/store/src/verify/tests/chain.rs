use super::{Fixture, quiet};
use crate::{
    Batch, Reader, Store, StoredOp,
    verify::{Checked, Problem, chain},
};
use relaymesh_core::{
    hash::Hash,
    op::{Break, Chain, Op},
};

fn check(fixture: &mut Fixture) -> Result<Checked, Problem> {
    chain(&mut fixture.reader, Checked::default(), &mut quiet())
}

/// Commits one op with this header change, on any chain, with right hashes.
fn forge(fixture: &mut Fixture, mut chain: Chain, change: impl FnOnce(&mut Op)) {
    let mut head = fixture.reader.head().unwrap();
    let last = fixture.reader.ops(head.pos - 1, 1).unwrap().remove(0);
    let mut op = Op::decode(last.pos, &last.bytes).unwrap();
    op.header.seq = chain.next_seq();
    op.header.origin_epoch = chain.origin_epoch;
    op.header.hlc.logical += 1;
    change(&mut op);
    let link = chain.append(&op.header, &op.body);
    head.pos += 1;
    head.chain = chain;
    let pos = head.pos;
    let mut batch = Batch::new(head);
    batch.ops.push(StoredOp { pos, bytes: link.bytes, hash: link.hash });
    fixture.store.commit(&batch).unwrap();
}

#[test]
fn an_empty_log_and_a_whole_one_hold() {
    let empty = crate::memory::MemoryStore::new(relaymesh_core::id::NodeId::new(1, 1));
    let checked = chain(&mut empty.reader().unwrap(), Checked::default(), &mut quiet()).unwrap();
    assert_eq!(checked, Checked::default());
    let mut fixture = Fixture::new();
    let checked = check(&mut fixture).unwrap();
    let head = fixture.reader.head().unwrap();
    assert_eq!((checked.pos, checked.chain), (head.pos, Some(head.chain)));
}

#[test]
fn a_check_goes_on_where_the_last_one_ended() {
    let mut fixture = Fixture::new();
    let checked = check(&mut fixture).unwrap();
    crate::contract::gallery::gallery(&mut fixture.author);
    fixture.commit();
    let mut told = Vec::new();
    let after = chain(&mut fixture.reader, checked.clone(), &mut |pos| told.push(pos)).unwrap();
    assert_eq!(after, check(&mut fixture).unwrap());
    assert_eq!(told, [after.pos]);
    // What was changed before is not looked at again; a wrong starting point is found at once.
    let wrong = Checked { chain: Some(Chain { head: Hash::default(), ..checked.chain.unwrap() }), ..checked };
    assert!(matches!(chain(&mut fixture.reader, wrong, &mut quiet()), Err(Problem::Break(Break::Hash { .. }))));
}

#[test]
fn a_flipped_bit_anywhere_is_found_where_it_is() {
    let mut fixture = Fixture::new();
    for pos in 1..=fixture.head_pos() {
        let len = fixture.disk.state().ops[&pos].bytes.len();
        for at in [0, 1, len / 2, len - 1] {
            let flip = |fixture: &Fixture| fixture.disk.state().ops.get_mut(&pos).unwrap().bytes[at] ^= 0x10;
            flip(&fixture);
            match check(&mut fixture) {
                Err(Problem::Break(
                    Break::Hash { pos: found, .. }
                    | Break::Decode { pos: found, .. }
                    | Break::Origin { pos: found, .. }
                    | Break::Sequence { pos: found, .. }
                    | Break::Time { pos: found, .. },
                )) => assert_eq!(found, pos),
                other => panic!("op {pos}, byte {at}: {other:?}"),
            }
            flip(&fixture);
        }
    }
    check(&mut fixture).unwrap();
}

#[test]
fn a_missing_op_is_named() {
    let mut fixture = Fixture::new();
    let removed = fixture.disk.state().ops.remove(&5).unwrap();
    assert_eq!(check(&mut fixture), Err(Problem::Missing { pos: 5, found: 6 }));
    fixture.disk.state().ops.insert(5, removed);
    let end = fixture.head_pos();
    fixture.disk.state().ops.remove(&end);
    assert_eq!(check(&mut fixture), Err(Problem::HeadPosition { expected: end, found: end - 1 }));
}

#[test]
fn an_op_beyond_the_head_is_found() {
    let mut fixture = Fixture::new();
    let end = fixture.head_pos();
    let extra = StoredOp { pos: end + 1, ..fixture.disk.state().ops[&end].clone() };
    fixture.disk.state().ops.insert(end + 1, extra);
    assert_eq!(check(&mut fixture), Err(Problem::HeadPosition { expected: end, found: end + 1 }));
}

#[test]
fn another_chain_than_the_head_s_is_found() {
    let mut fixture = Fixture::new();
    fixture.disk.state().head.chain.head = Hash::default();
    assert!(matches!(check(&mut fixture), Err(Problem::HeadChain { .. })));
}

#[test]
fn a_new_epoch_must_grow_be_of_this_node_and_begin_at_its_beginning() {
    let node = Fixture::new().author.node();
    let ok = |chain: Chain| {
        let mut fixture = Fixture::new();
        forge(&mut fixture, chain, |_| {});
        check(&mut fixture)
    };
    assert!(ok(Chain::new(node, 3)).is_ok());
    assert!(ok(Chain::new(node, 9)).is_ok(), "epochs may be skipped");
    assert!(ok(Chain::new(node, 2)).is_err(), "the same epoch does not begin twice");
    assert!(ok(Chain::new(node, 1)).is_err(), "an old epoch does not come back");
    assert!(ok(Chain { seq: 4, ..Chain::new(node, 3) }).is_err(), "an epoch begins with sequence 1");
    assert!(ok(Chain { head: Hash::default(), ..Chain::new(node, 3) }).is_err(), "and with its own hash");
    let mut other = Fixture::new();
    let stranger = relaymesh_core::id::NodeId::new(8, 8);
    forge(&mut other, Chain::new(stranger, 3), |op| op.header.origin = stranger);
    assert!(check(&mut other).is_err(), "another node has no place in this log");
}

#[test]
fn time_goes_on_across_epochs() {
    let mut fixture = Fixture::new();
    let node = fixture.author.node();
    forge(&mut fixture, Chain::new(node, 3), |op| op.header.hlc.wall_ms -= 1);
    assert!(matches!(check(&mut fixture), Err(Problem::Break(Break::Time { .. }))));
}

#[test]
fn an_epoch_without_ops_is_no_break() {
    let mut fixture = Fixture::new();
    fixture.author.begin_epoch();
    fixture.commit();
    check(&mut fixture).unwrap();
}

#[test]
fn a_store_that_moves_meanwhile_is_no_damage() {
    let Fixture { mut store, mut reader, mut author, tasks, .. } = Fixture::new();
    let from = reader.head().unwrap().pos;
    let mut write = |_| {
        if author.rows(tasks[0]).task.cancel.is_none() {
            author.cancel(tasks[0], relaymesh_core::op::CancelMode::Hard).unwrap();
            store.commit(&author.take()).unwrap();
        }
    };
    let moved = chain(&mut reader, Checked::default(), &mut write);
    assert_eq!(moved, Err(Problem::Moved { from, to: from + 1 }));
}
