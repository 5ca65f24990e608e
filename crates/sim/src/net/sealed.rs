//! What may count at all, by a model of its own: nothing from where its author wrote twice on, and nothing that a seal leaves out.
//!
//! Both rules are about ops that nearly everybody would believe. A fold without them is the same on every node, so only somebody who
//! reads the ops and the seals once more can tell.

use super::check::{Verdict, ensure};
use relaymesh_core::{
    hlc::Hlc,
    id::NodeId,
    op::{Body, ChainHead, Op, Scope},
    register,
};
use relaymesh_mesh::fold::Fold;
use std::collections::{BTreeMap, BTreeSet};

/// Everything that took effect may count.
pub(super) fn sealed<'a>(number: usize, fold: &Fold, owner: NodeId, ops: impl Iterator<Item = &'a Op>) -> Verdict {
    let all: Vec<&Op> = ops.collect();
    let forks = forks(&all);
    let took_effect = |op: &&&Op| fold.no_effect(op.header.scope, op.header.op_id).is_none();
    let counting: Vec<&Op> = all.iter().filter(took_effect).copied().collect();
    let mut seals: Vec<(Hlc, &[ChainHead])> = counting.iter().filter_map(|op| seal(op)).collect();
    seals.sort_by_key(|(upto, _)| *upto);
    let mut places = BTreeSet::new();
    for op in counting {
        let header = &op.header;
        let chain = (header.origin, header.origin_epoch);
        let named = |heads: &[ChainHead]| {
            heads.iter().any(|head| (head.origin, head.origin_epoch) == chain && head.seq >= header.seq)
        };
        let told = |what: &str| format!("on node {number} {:?} at {}: {what}", op.body.kind(), header.hlc);
        ensure(places.insert((chain, header.seq)), "AUTHORITY", || told("another op in its place counts as well"))?;
        let over = seals.iter().find(|(upto, _)| *upto >= header.hlc);
        let covered = over.is_some_and(|(_, heads)| named(heads));
        let lied = forks.get(&chain).is_some_and(|from| header.seq >= *from);
        ensure(!lied || covered, "AUTHORITY", || told("its author wrote twice, and nobody had agreed on it before"))?;
        let spared = matches!(header.scope, Scope::Register(_)) && (header.origin == owner || seal(op).is_some());
        ensure(over.is_none() || covered || spared, "AUTHORITY", || {
            told("it is dated before a seal that leaves it out")
        })?;
    }
    Ok(())
}

/// The first place of each chain in which there are two ops.
fn forks(all: &[&Op]) -> BTreeMap<(NodeId, u32), u64> {
    let (mut places, mut forks) = (BTreeSet::new(), BTreeMap::new());
    for op in all {
        let chain = (op.header.origin, op.header.origin_epoch);
        if !places.insert((chain, op.header.seq)) {
            let from = forks.entry(chain).or_insert(op.header.seq);
            *from = op.header.seq.min(*from);
        }
    }
    forks
}

fn seal(op: &Op) -> Option<(Hlc, &[ChainHead])> {
    if let Body::Register(register::Body::Seal { upto, heads }) = &op.body {
        Some((*upto, heads.as_slice()))
    } else {
        None
    }
}
