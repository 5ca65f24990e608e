//! The fold once more, as plainly as it can be said and as slowly as it may be: the oracle that the real one is compared
//! with. And the ways to bring a history in another order.

use relaymesh_core::{
    hlc::Hlc,
    id::NodeId,
    kernel::{Rows, apply},
    op::{Body, Header, Op, Scope},
    row::StateHash,
};
use relaymesh_mesh::{fold::Fold, rows};
use std::collections::{BTreeMap, BTreeSet};

/// Each different op once.
pub(crate) fn distinct(ops: &[Op]) -> Vec<Op> {
    let mut distinct: Vec<Op> = Vec::new();
    for op in ops {
        if !distinct.iter().any(|other| same(other, op)) {
            distinct.push(op.clone());
        }
    }
    distinct
}

/// Where each author's chain first has two ops in one place.
pub(crate) fn forks(ops: &[Op]) -> BTreeMap<(NodeId, u32), u64> {
    let distinct = distinct(ops);
    let mut forks = BTreeMap::new();
    for (index, op) in distinct.iter().enumerate() {
        if distinct[index + 1..].iter().any(|other| place(&other.header) == place(&op.header)) {
            let (origin, epoch, seq) = place(&op.header);
            let first = forks.entry((origin, epoch)).or_insert(seq);
            *first = seq.min(*first);
        }
    }
    forks
}

/// The ops that the fold hands to the machine, in its order: no frozen authors, no time twice.
pub(crate) fn admitted(ops: &[Op]) -> Vec<Op> {
    let (distinct, forks) = (distinct(ops), forks(ops));
    let mut times: BTreeMap<(Scope, Hlc), usize> = BTreeMap::new();
    for op in &distinct {
        *times.entry((op.header.scope, op.header.hlc)).or_default() += 1;
    }
    let frozen =
        |header: &Header| forks.get(&(header.origin, header.origin_epoch)).is_some_and(|from| header.seq >= *from);
    let alone = |header: &Header| times[&(header.scope, header.hlc)] == 1;
    let caused = caused(&distinct);
    let mut admitted: Vec<Op> = distinct
        .into_iter()
        .zip(caused)
        .filter(|(op, caused)| *caused && alone(&op.header) && !frozen(&op.header))
        .map(|(op, _)| op)
        .collect();
    admitted.sort_by_key(|op| op.header.hlc);
    admitted
}

/// Whether what each op cites lets it take effect. Said over and over until nothing changes: an op is settled when it can
/// never take effect, or when everything that it cites is there, older and settled.
fn caused(ops: &[Op]) -> Vec<bool> {
    let mut settled: Vec<Option<bool>> = vec![None; ops.len()];
    loop {
        let before = settled.clone();
        for (index, op) in ops.iter().enumerate() {
            settled[index] = verdict(ops, &before, op);
        }
        if settled == before {
            return settled.into_iter().map(|verdict| verdict == Some(true)).collect();
        }
    }
}

/// `None` while it waits.
fn verdict(ops: &[Op], settled: &[Option<bool>], op: &Op) -> Option<bool> {
    if op.header.causal_deps.contains(&op.header.op_id) {
        return Some(false);
    }
    for dep in &op.header.causal_deps {
        let named = || ops.iter().zip(settled).filter(|(other, _)| other.header.op_id == *dep);
        let older = || named().filter(|(other, _)| other.header.hlc < op.header.hlc);
        if named().next().is_some() && older().next().is_none() {
            return Some(false);
        }
        older().find_map(|(_, verdict)| *verdict)?;
    }
    Some(true)
}

/// The rows, by scope.
pub(crate) fn reference(ops: &[Op]) -> BTreeMap<Scope, rows::Rows> {
    let mut scopes: BTreeMap<Scope, Option<Rows>> = BTreeMap::new();
    for op in admitted(ops) {
        let _ = apply(scopes.entry(op.header.scope).or_default(), &op, &mut Vec::new());
    }
    let stored = |rows: &Rows| !matches!(rows, Rows::Purged(_));
    scopes.into_iter().filter_map(|(scope, rows)| Some((scope, rows::Rows::Node(rows.filter(stored)?)))).collect()
}

/// Takes the ops in one after the other and checks after each one that all rows are valid.
pub(crate) fn arrive(ops: impl IntoIterator<Item = Op>) -> Fold {
    let mut fold = Fold::default();
    for op in ops {
        fold.insert(op);
        for rows in fold.all_rows() {
            rows::validate(rows).unwrap_or_else(|invalid| panic!("{invalid}\n{rows:#?}"));
        }
    }
    fold
}

/// Everything that can be asked of a fold.
pub(crate) fn answers(fold: &Fold, ops: &[Op]) -> (Vec<rows::Rows>, StateHash, Vec<Option<String>>) {
    let why = |op: &Op| fold.no_effect(op.header.scope, op.header.op_id).map(|reason| format!("{reason:?}"));
    (fold.all_rows().cloned().collect(), fold.state_hash(), ops.iter().map(why).collect())
}

/// The same ops in another order, some of them twice.
pub(crate) fn shuffled(ops: &[Op], seed: u64) -> Vec<Op> {
    let doubled = ops.iter().zip(0u64..).filter(|(_, n)| mix(seed ^ (n << 32)).is_multiple_of(3)).map(|(op, _)| op);
    let mut all: Vec<(u64, &Op)> =
        ops.iter().chain(doubled).zip(0u64..).map(|(op, n)| (mix(seed.wrapping_add(n)), op)).collect();
    all.sort_by_key(|(key, _)| *key);
    all.into_iter().map(|(_, op)| op.clone()).collect()
}

/// Every order of these ops.
pub(crate) fn permutations(ops: &[Op]) -> Vec<Vec<Op>> {
    let Some((first, rest)) = ops.split_first() else { return vec![Vec::new()] };
    let mut all = Vec::new();
    for order in permutations(rest) {
        for index in 0..=order.len() {
            let mut order = order.clone();
            order.insert(index, first.clone());
            all.push(order);
        }
    }
    all
}

/// The ops' places in their chains.
pub(crate) fn place(header: &Header) -> (NodeId, u32, u64) {
    (header.origin, header.origin_epoch, header.seq)
}

fn same(one: &Op, other: &Op) -> bool {
    (&one.header, &one.body) == (&other.header, &other.body)
}

/// A number that is spread out: the finalizer of splitmix64.
fn mix(number: u64) -> u64 {
    let number = number.wrapping_add(0x9e37_79b9_7f4a_7c15);
    let number = (number ^ (number >> 30)).wrapping_mul(0xbf58_476d_1ce4_e5b9);
    let number = (number ^ (number >> 27)).wrapping_mul(0x94d0_49bb_1331_11eb);
    number ^ (number >> 31)
}

#[test]
fn there_are_as_many_orders_as_there_should_be() {
    let author = crate::author::Author::new(1);
    let body = Body::Task(crate::author::submit(Vec::new()));
    let hlc = author.oldest_time();
    let op =
        |seq| Op { pos: 1, header: Header { seq, ..author.header(crate::author::scope(0), hlc) }, body: body.clone() };
    let orders: BTreeSet<Vec<u64>> = permutations(&[op(1), op(2), op(3), op(4)])
        .iter()
        .map(|order| order.iter().map(|op| op.header.seq).collect())
        .collect();
    assert_eq!(orders.len(), 24);
}
