//! One peer over its commits and restarts: what it may say when, and what it holds to afterwards.
//!
//! The simulated mesh has all of this too, but only a kill in the few milliseconds of a write, or a clock that was set back at the
//! right moment, shows what is wrong there. Here the moment is chosen.

use rand_pcg::{Pcg64Mcg, rand_core::SeedableRng as _};
use relaymesh_core::{
    feed::{FeedId, FeedLog, MemoryFeedLog},
    hlc::Hlc,
    id::NodeId,
    name::Name,
    op::{Body, Scope},
    peer::{Channel, Command, Config, Peer, Start},
    register::Register,
    sign::Signer,
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
    let rngs = [1, 2, 3].map(Pcg64Mcg::seed_from_u64);
    let (root, config) = (signer(0).public_key(), Config::default());
    Peer::open(Start { signer: signer(0), root, origin_epoch: 1, life, log, config, rngs }, now_ms)
}

fn feed() -> FeedId {
    FeedId { origin: NodeId::of_key(&signer(0).public_key()), origin_epoch: 1 }
}

/// Something that the owner may say.
fn word() -> Command {
    Command {
        author: name("owner"),
        source: name("test"),
        namespace: name("default"),
        scope: Scope::Register(Register::Settings),
        causal_deps: Vec::new(),
        body: Body::SetSetting { name: name("a"), value: Some("1".to_owned()) },
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
    peer.remember([NodeId::of_key(&signer(1).public_key())], START_MS);
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
