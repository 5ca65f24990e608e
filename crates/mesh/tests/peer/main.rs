//! One peer over its commits and restarts: what it may say when, and what it holds to afterwards.
//!
//! The simulated mesh has all of this too, but only a kill in the few milliseconds of a write, or a clock that was set back at the
//! right moment, shows what is wrong there. Here the moment is chosen.

mod contents;
mod members;
mod memory;

use rand_pcg::{Pcg64Mcg, rand_core::SeedableRng as _};
use relaymesh_bus::sign::Signer;
use relaymesh_core::{
    hlc::Hlc,
    id::{NodeId, OpId},
    name::Name,
    op::{Body, Header, Scope, WriteClass},
    register,
};
use relaymesh_mesh::{
    capability::{Action, Att, Caveats, Chain, Delegation, Link, Nonce, Resource},
    feed::{Branch, FeedId, FeedLog, MemoryFeedLog},
    peer::{Channel, Command, Config, Peer, Start, Unsealed},
    register::Register,
    sync::Frame,
};

const START_MS: u64 = 1_000_000;

fn signer(number: u8) -> Signer {
    Signer::from_seed(&[number; 32])
}

fn name(text: &str) -> Name {
    text.parse().expect("it is there")
}

/// The owner's node, which goes on with this log.
fn open(log: MemoryFeedLog, life: u64, now_ms: u64) -> Peer<Pcg64Mcg> {
    node(0, 1, (log, life), now_ms)
}

/// A node with this number, in this epoch.
fn node(number: u8, origin_epoch: u32, (log, life): (MemoryFeedLog, u64), now_ms: u64) -> Peer<Pcg64Mcg> {
    configured(number, origin_epoch, (log, life), Config::default(), now_ms)
}

/// The same, with these numbers.
fn configured(
    number: u8,
    origin_epoch: u32,
    (log, life): (MemoryFeedLog, u64),
    config: Config,
    now_ms: u64,
) -> Peer<Pcg64Mcg> {
    let rngs = [1, 2, 3].map(|seed| Pcg64Mcg::seed_from_u64(seed + u64::from(number) * 10));
    let root = signer(0).public_key();
    Peer::open(Start { signer: signer(number), root, origin_epoch, life, log, config, rngs }, now_ms)
}

/// A peer that no clock but the test's moves: writes whatever is to be written, does what is due, and gives what it sends.
fn turn(peer: &mut Peer<Pcg64Mcg>, now_ms: u64) -> Vec<(NodeId, Channel, Vec<u8>)> {
    peer.handle_timeout(now_ms);
    if let Some(commit) = peer.poll_commit(now_ms) {
        peer.handle_committed(commit, now_ms);
    }
    std::iter::from_fn(|| peer.poll_transmit()).map(|sent| (sent.to, sent.channel, sent.bytes)).collect()
}

/// Both go on from one time to another and hear each other.
fn converse(one: &mut Peer<Pcg64Mcg>, other: &mut Peer<Pcg64Mcg>, span_ms: std::ops::Range<u64>) {
    converse_apart(one, other, 0, span_ms);
}

/// The same, with a clock that is so far ahead of the other one's.
fn converse_apart(
    one: &mut Peer<Pcg64Mcg>,
    other: &mut Peer<Pcg64Mcg>,
    other_ahead_ms: u64,
    span_ms: std::ops::Range<u64>,
) {
    for now_ms in span_ms.step_by(100) {
        for (_, channel, bytes) in turn(one, now_ms) {
            other.handle_bytes(one.node(), channel, &bytes, now_ms + other_ahead_ms);
        }
        for (_, channel, bytes) in turn(other, now_ms + other_ahead_ms) {
            one.handle_bytes(other.node(), channel, &bytes, now_ms);
        }
    }
}

/// Three go on from one time to another and hear each other in turns.
fn all_converse([one, two, three]: [&mut Peer<Pcg64Mcg>; 3], span_ms: std::ops::Range<u64>) {
    for begins_ms in span_ms.step_by(900) {
        converse(one, two, begins_ms..begins_ms + 300);
        converse(one, three, begins_ms + 300..begins_ms + 600);
        converse(two, three, begins_ms + 600..begins_ms + 900);
    }
}

/// The owner lets a node in.
fn enrol(number: u8) -> Command {
    enrol_with(number, Resource::Registration, Action::Write, Caveats::default())
}

/// The owner gives a node this right.
fn enrol_with(number: u8, resource: Resource, action: Action, caveats: Caveats) -> Command {
    let writes = Att { resource, action, caveats };
    let delegation = Delegation {
        iss: signer(0).public_key(),
        aud: signer(number).public_key(),
        att: vec![writes],
        nbf: 0,
        exp: None,
        prf: Vec::new(),
        depth: 1,
        nnc: Nonce([number; 16]),
    };
    let link = Link::issue(&signer(0), &delegation).expect("it is there");
    let ucan_bytes = Chain::new(vec![link]).expect("it is there").encode();
    let scope = Scope::Register(Register::Delegations);
    Command { scope, body: Body::Register(register::Body::DelegateUcan { ucan_bytes }), ..word() }
}

fn seals(peer: &Peer<Pcg64Mcg>) -> usize {
    peer.fold().registers().map_or(0, |registers| registers.seals().all().len())
}

fn feed() -> FeedId {
    FeedId { origin: signer(0).public_key().node(), origin_epoch: 1 }
}

/// Something that the owner may say.
fn word() -> Command {
    Command {
        author: name("owner"),
        source: name("test"),
        namespace: name("default"),
        scope: Scope::Register(Register::Settings),
        causal_deps: Vec::new(),
        body: Body::Register(register::Body::SetSetting { name: name("a"), value: Some("1".to_owned()) }),
    }
}

/// The furthest place of its own feed that it tells others of, in all that it sends now.
fn told(peer: &mut Peer<Pcg64Mcg>) -> Option<u64> {
    let sent: Vec<Frame> = std::iter::from_fn(|| peer.poll_transmit())
        .filter(|sent| sent.channel == Channel::Sync)
        .map(|sent| Frame::decode(&sent.bytes).expect("it is there"))
        .collect();
    let heads = sent.iter().flat_map(|frame| match frame {
        Frame::Frontier(frontier) => frontier.heads.clone(),
        Frame::Run(run) => vec![run.head],
        Frame::Want(_)
        | Frame::Lacking { .. }
        | Frame::ContentWant { .. }
        | Frame::ContentPart { .. }
        | Frame::ContentWithheld { .. }
        | Frame::Notice { .. } => Vec::new(),
    });
    heads.filter(|head| head.feed() == feed()).map(|head| head.seq).max()
}

fn promised(peer: &Peer<Pcg64Mcg>) -> Hlc {
    peer.log().tips(feed()).first().expect("it is there").head.as_of
}

fn commit(peer: &mut Peer<Pcg64Mcg>, now_ms: u64) {
    let commit = peer.poll_commit(now_ms).expect("it is there");
    peer.handle_committed(commit, now_ms);
}

#[test]
fn d1_nobody_hears_of_an_op_before_it_is_durable() {
    let mut peer = open(MemoryFeedLog::default(), 1, START_MS);
    peer.remember([signer(1).public_key().node()], START_MS);
    commit(&mut peer, START_MS);
    peer.handle_timeout(START_MS + 10);
    assert_eq!(told(&mut peer), Some(0), "the feed is there, and nothing is in it");

    peer.handle_command(word(), START_MS + 20).expect("it is there");
    let writing = peer.poll_commit(START_MS + 20).expect("it is there");
    assert_eq!(writing.ops.len(), 1);
    for after_ms in [20, 500, 5_000, 60_000] {
        peer.handle_timeout(START_MS + after_ms);
        assert!(told(&mut peer).is_none_or(|seq| seq == 0), "{after_ms} ms on, it is still being written");
        assert_eq!(peer.poll_commit(START_MS + after_ms), None, "one commit at a time");
    }

    peer.handle_committed(writing, START_MS + 60_000);
    peer.handle_timeout(START_MS + 60_001);
    peer.handle_timeout(START_MS + 61_000);
    assert_eq!(told(&mut peer), Some(1));
}

#[test]
fn what_was_not_written_before_a_kill_was_never_said_and_its_place_is_free() {
    let mut peer = open(MemoryFeedLog::default(), 1, START_MS);
    peer.handle_command(word(), START_MS).expect("it is there");
    drop(peer.poll_commit(START_MS).expect("it is there"));
    let mut again = open(peer.into_log(), 2, START_MS + 1);
    assert_eq!(again.log().all().count(), 0);
    again.handle_command(word(), START_MS + 1).expect("it is there");
    commit(&mut again, START_MS + 1);
    assert_eq!(again.log().all().map(|linked| linked.op.header.seq).collect::<Vec<_>>(), [1]);
    again.log().validate().expect("it is there");
}

#[test]
fn a_promise_is_kept_over_a_restart_with_a_clock_that_was_set_back() {
    let mut peer = open(MemoryFeedLog::default(), 1, START_MS);
    peer.handle_command(word(), START_MS).expect("it is there");
    commit(&mut peer, START_MS);
    // Long after its last op it promises that nothing older is to come.
    commit(&mut peer, START_MS + 30_000);
    let before = promised(&peer);
    assert_eq!(before.wall_ms, START_MS + 30_000);

    let mut again = open(peer.into_log(), 2, START_MS + 10_000);
    again.handle_command(word(), START_MS + 10_000).expect("it is there");
    commit(&mut again, START_MS + 10_000);
    let newest = again.log().all().map(|linked| linked.op.header.hlc).max().expect("it is there");
    assert!(newest > before, "it is dated {newest}, and {before} was promised");
    assert!(promised(&again) > newest);
}

#[test]
fn a_chain_goes_on_where_it_ended_before_a_restart() {
    let mut peer = open(MemoryFeedLog::default(), 1, START_MS);
    for after_ms in 0..3 {
        peer.handle_command(word(), START_MS + after_ms).expect("it is there");
        commit(&mut peer, START_MS + after_ms);
    }
    let mut again = open(peer.into_log(), 2, START_MS + 10);
    again.handle_command(word(), START_MS + 10).expect("it is there");
    commit(&mut again, START_MS + 10);
    assert_eq!(again.log().all().map(|linked| linked.op.header.seq).collect::<Vec<_>>(), [1, 2, 3, 4]);
    again.log().validate().expect("it is there");
}

#[test]
fn a_coordinator_says_why_nothing_is_sealed() {
    let mut peer = open(MemoryFeedLog::default(), 1, START_MS);
    peer.handle_command(enrol(1), START_MS).expect("it is there");
    commit(&mut peer, START_MS);
    let other = signer(1).public_key().node();
    let Some(Unsealed::Behind { behind }) = peer.unsealed() else { panic!("{:?}", peer.unsealed()) };
    assert_eq!((behind.node, behind.as_of), (other, None), "it was let in, and nobody has heard of it");
    let stranger = node(1, 1, (MemoryFeedLog::default(), 1), START_MS);
    assert_eq!(stranger.unsealed(), Some(Unsealed::NotCoordinator { coordinator: peer.node() }));
}

/// A stamp may say that its counter is used up, as far ahead as is believed: to wait until then is what its author wants.
#[test]
fn d20_a_counter_that_is_used_up_ahead_of_time_keeps_nobody_from_writing() {
    let mut owner = open(MemoryFeedLog::default(), 1, START_MS);
    let liar = FeedId { origin: signer(1).public_key().node(), origin_epoch: 1 };
    owner.remember([liar.origin], START_MS);
    owner.handle_command(enrol(1), START_MS).expect("it is there");
    commit(&mut owner, START_MS);

    let mut log = MemoryFeedLog::default();
    for logical in [u32::MAX - 1, u32::MAX] {
        let hlc = Hlc { wall_ms: START_MS + 60_000, logical, node: liar.origin };
        let mut chain = log.chain(liar);
        let Command { author, source, namespace, scope, causal_deps, body } = word();
        let header = Header {
            op_id: OpId::new(hlc.wall_ms, u128::from(logical)),
            origin: liar.origin,
            origin_epoch: 1,
            seq: chain.next_seq(),
            hlc,
            author,
            source,
            namespace,
            scope,
            write_class: WriteClass::AppendOnly,
            causal_deps,
            via: None,
        };
        let link = chain.append(&header, &body);
        log.author(&signer(1), 1, vec![link.bytes], hlc).expect("it is there");
    }
    let run = log.run(liar, Branch::TRUNK, 0, u64::MAX).expect("it is there");
    owner.handle_bytes(liar.origin, Channel::Sync, &Frame::Run(run).encode(), START_MS);
    commit(&mut owner, START_MS);
    assert_eq!(owner.log().ops(liar, Branch::TRUNK).len(), 2, "it is believed that far");

    for after_ms in 1..4 {
        owner.handle_command(word(), START_MS + after_ms).expect("it is there");
        commit(&mut owner, START_MS + after_ms);
    }
    assert_eq!(owner.log().ops(feed(), Branch::TRUNK).len(), 4);
    assert_eq!(owner.now().wall_ms, START_MS + 60_001, "a millisecond further, and not stuck");
    owner.log().validate().expect("it is there");
}

#[test]
fn l6_a_coordinator_that_has_nothing_to_say_is_not_quiet_as_long_as_it_promises() {
    let mut owner = open(MemoryFeedLog::default(), 1, START_MS);
    let mut other = node(1, 1, (MemoryFeedLog::default(), 1), START_MS);
    owner.remember([other.node()], START_MS);
    other.remember([owner.node()], START_MS);
    owner.handle_command(enrol(1), START_MS).expect("it is there");
    let end_ms = START_MS + 25_000;
    converse(&mut owner, &mut other, START_MS..end_ms);
    let newest = other.log().all().map(|linked| linked.op.header.hlc.wall_ms).max().expect("it is there");
    assert!(newest < START_MS + 5_000, "nobody has written anything since");
    let quiet_ms = other.coordinator_quiet_ms(end_ms).expect("it was heard");
    assert!(quiet_ms < 10_000, "{quiet_ms}");
    // It is gone: nothing comes any more.
    for now_ms in (end_ms..end_ms + 60_000).step_by(1_000) {
        turn(&mut other, now_ms);
    }
    assert_eq!(other.coordinator_quiet_ms(end_ms + 60_000), Some(quiet_ms + 60_000));
}

/// Who coordinates is said while some cannot hear it: then somebody seals who does not coordinate any more, and does not know.
#[test]
fn d29_a_seal_makes_nothing_stable_before_everybody_has_passed_it() {
    let mut owner = open(MemoryFeedLog::default(), 1, START_MS);
    let [mut first, mut other] = [1, 2].map(|number| node(number, 1, (MemoryFeedLog::default(), 1), START_MS));
    let all = [owner.node(), first.node(), other.node()];
    [&mut owner, &mut first, &mut other].into_iter().for_each(|peer| peer.remember(all, START_MS));
    let coordinates = |coordinator| Command {
        scope: Scope::Register(Register::Coordinator),
        body: Body::Register(register::Body::DesignateCoordinator { coordinator }),
        ..word()
    };
    for said in [enrol(1), enrol(2), coordinates(first.node())] {
        owner.handle_command(said, START_MS).expect("it is there");
    }
    all_converse([&mut owner, &mut first, &mut other], START_MS..START_MS + 10_000);
    // Nobody hears the owner for a while.
    owner.handle_command(coordinates(owner.node()), START_MS + 11_000).expect("it is there");
    drop(turn(&mut owner, START_MS + 11_000));
    converse(&mut first, &mut other, START_MS + 11_000..START_MS + 60_000);
    assert_eq!((seals(&first), seals(&other)), (1, 1), "{:?}", first.unsealed());
    assert_eq!(other.fold().stable_upto(), None, "the owner may have said something before it");

    all_converse([&mut owner, &mut first, &mut other], START_MS + 60_000..START_MS + 130_000);
    let registers = other.fold().registers().expect("it is there");
    assert!(registers.seals().all().iter().all(|seal| seal.at.node == owner.node()), "and it had");
    assert!(other.fold().stable_upto().is_some(), "{:?}", owner.unsealed());
    assert_eq!(owner.fold().state_hash(), other.fold().state_hash());
}
