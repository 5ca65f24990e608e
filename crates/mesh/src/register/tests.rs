//! What can be said about a register, one op at a time. Who may say it is tried in `tests/mesh`.

use super::{
    Body, History, Refusal, Register, RegisterRow, SEAL_HEADS_MAX, SETTING_BYTES_MAX, WORDS_MAX, Words, apply, validate,
};
use crate::rows::{self, Rows};
use relaymesh_core::{
    hash::Hash,
    hlc::Hlc,
    id::{NodeId, OpId},
    name::Name,
    op::{self, ChainHead, Header, Op, Scope, WriteClass},
};

fn node() -> NodeId {
    NodeId::new(0, 1)
}

fn at(wall_ms: u64) -> Hlc {
    Hlc { wall_ms, logical: 0, node: node() }
}

fn name(text: &str) -> Name {
    text.parse().unwrap()
}

fn op(wall_ms: u64, register: Register, body: impl Into<op::Body>) -> Op {
    let header = Header {
        op_id: OpId::new(wall_ms, 1),
        origin: node(),
        origin_epoch: 1,
        seq: wall_ms,
        hlc: at(wall_ms),
        author: name("owner"),
        source: name("test"),
        namespace: name("default"),
        scope: Scope::Register(register),
        write_class: WriteClass::AppendOnly,
        causal_deps: Vec::new(),
        via: None,
    };
    Op { pos: 0, header, body: body.into() }
}

fn say(row: &mut Option<RegisterRow>, wall_ms: u64, body: Body) -> Result<(), Refusal> {
    let before = row.clone();
    let op = op(wall_ms, body.register(), body.clone());
    let outcome = apply(row, &op.about(body.register(), &body));
    if outcome.is_err() {
        assert_eq!(*row, before, "a refusal changes nothing");
    }
    assert!(row.as_ref().is_none_or(|row| validate(row).is_ok()));
    outcome
}

fn head(seq: u64, origin: u128) -> ChainHead {
    ChainHead { origin: NodeId::new(0, origin), origin_epoch: 1, seq, hash: Hash::sha256(&seq.to_be_bytes()) }
}

#[test]
fn every_word_is_kept_and_read_as_of_its_time() {
    let mut row = None;
    for (wall_ms, node) in [(10, 1), (20, 2), (30, 3)] {
        say(&mut row, wall_ms, Body::DesignateCoordinator { coordinator: NodeId::new(0, node) }).unwrap();
    }
    let Some(RegisterRow { rev: 3, words: Words::Coordinator(words), .. }) = &row else { panic!("{row:?}") };
    let as_of = |wall_ms| words.as_of(at(wall_ms)).map(|(since, node)| (since.wall_ms, *node));
    assert_eq!(as_of(9), None);
    assert_eq!(as_of(10), Some((10, NodeId::new(0, 1))));
    assert_eq!(as_of(29), Some((20, NodeId::new(0, 2))));
    assert_eq!(as_of(99), Some((30, NodeId::new(0, 3))));
}

#[test]
fn a_level_only_grows() {
    let mut row = None;
    assert_eq!(
        say(&mut row, 1, Body::SetFeatureLevel { level: 1 }),
        Err(Refusal::Level { found: 1, given: 1 }),
        "a mesh begins with it"
    );
    assert_eq!(row, None);
    say(&mut row, 2, Body::SetFeatureLevel { level: 3 }).unwrap();
    assert_eq!(say(&mut row, 3, Body::SetFeatureLevel { level: 2 }), Err(Refusal::Level { found: 3, given: 2 }));
}

#[test]
fn a_setting_is_short() {
    let set = |bytes: usize| Body::SetSetting { name: name("a"), value: Some("x".repeat(bytes)) };
    let mut row = None;
    say(&mut row, 1, set(SETTING_BYTES_MAX)).unwrap();
    let bytes = SETTING_BYTES_MAX + 1;
    assert_eq!(say(&mut row, 2, set(bytes)), Err(Refusal::SettingSize { bytes }));
}

#[test]
fn a_seal_is_over_what_is_past_and_goes_on_from_the_last_one() {
    let mut row = None;
    let seal = |upto, heads: &[ChainHead]| Body::Seal { upto: at(upto), heads: heads.to_vec() };
    assert!(matches!(say(&mut row, 10, seal(10, &[head(1, 1)])), Err(Refusal::SealAhead { .. })));
    say(&mut row, 10, seal(9, &[head(1, 1), head(4, 2)])).unwrap();
    for heads in [&[head(1, 1)][..], &[head(1, 1), head(3, 2)], &[head(2, 1)]] {
        assert!(matches!(say(&mut row, 20, seal(19, heads)), Err(Refusal::SealBack { .. })), "{heads:?}");
    }
    let other = ChainHead { hash: Hash::default(), ..head(4, 2) };
    assert!(matches!(say(&mut row, 20, seal(19, &[head(1, 1), other])), Err(Refusal::SealBack { .. })));
    assert!(matches!(say(&mut row, 20, seal(9, &[head(1, 1), head(4, 2)])), Err(Refusal::SealBack { .. })));
    let twice = [head(1, 2), head(2, 1)];
    assert_eq!(say(&mut row, 20, seal(19, &twice)), Err(Refusal::SealHeads { heads: 2 }));
    let many: Vec<ChainHead> = (1..=SEAL_HEADS_MAX as u128 + 1).map(|origin| head(9, origin)).collect();
    assert_eq!(say(&mut row, 20, seal(19, &many)), Err(Refusal::SealHeads { heads: SEAL_HEADS_MAX + 1 }));
    say(&mut row, 20, seal(19, &[head(1, 1), head(5, 2), head(1, 3)])).unwrap();
    let Some(RegisterRow { words: Words::Seals(seals), .. }) = &row else { panic!("{row:?}") };
    let over = |dated| seals.over(at(dated)).map(|seal| seal.upto.wall_ms);
    assert_eq!([over(1), over(9), over(10), over(19), over(20)], [Some(9), Some(9), Some(19), Some(19), None]);
}

#[test]
fn what_is_no_chain_is_not_given_and_nothing_is_given_or_taken_twice() {
    let mut row = None;
    let rubbish = Body::DelegateUcan { ucan_bytes: vec![1, 2, 3] };
    assert!(matches!(say(&mut row, 1, rubbish), Err(Refusal::NoChain(_))));
    let taken = || Body::RevokeUcan { ucan_cid: Hash::sha256(b"link") };
    say(&mut row, 2, taken()).unwrap();
    assert_eq!(say(&mut row, 3, taken()), Err(Refusal::TakenAlready { since: at(2) }));
}

#[test]
fn a_register_is_never_purged() {
    let purge = op(1, Register::Level, op::Body::PurgeScope {});
    assert_eq!(rows::apply(&mut None, &purge), Err(Refusal::NeverPurged.into()));
    let mut row = None;
    say(&mut row, 1, Body::SetFeatureLevel { level: 9 }).unwrap();
    let mut there = row.map(Rows::Register);
    let before = there.clone();
    assert_eq!((rows::apply(&mut there, &purge), there), (Err(Refusal::NeverPurged.into()), before));
}

#[test]
fn a_full_register_takes_no_other_word() {
    let mut words = History::default();
    (1..WORDS_MAX as u64).for_each(|wall_ms| words.push(at(wall_ms), node()));
    let (rev, head) = (WORDS_MAX as u32 - 1, at(WORDS_MAX as u64 - 1));
    let mut row = Some(RegisterRow { rev, head, words: Words::Coordinator(words) });
    let designate = || Body::DesignateCoordinator { coordinator: node() };
    say(&mut row, 20_000, designate()).unwrap();
    assert_eq!(say(&mut row, 20_001, designate()), Err(Refusal::Full { register: Register::Coordinator }));
}
