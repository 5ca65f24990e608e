//! Peers that lie, flood and send rubbish: they cost a known amount, and stop nobody else.

use super::{
    world::{START_MS, World},
    *,
};
use crate::feed::{FeedLog as _, Place, Run, SignedHead, tests::Author};
use relaymesh_bus::sign::Signature;
use relaymesh_core::hash::Hash;

/// Node 2 of three sends this to node 0, as often as said, while the others work.
fn work_beside(world: &mut World, times: u64, frame: impl Fn(u64) -> Vec<u8>) {
    for turn in 0..20 {
        world.write(1, 5);
        for nth in 0..times {
            let bytes = frame(turn * times + nth);
            world.send(2, 0, bytes);
        }
        world.run(100);
        assert_eq!(world.seq(0, 1), world.seq(1, 1), "turn {turn}");
    }
}

#[test]
fn rubbish_is_counted_and_stops_nobody() {
    let mut world = World::of(3, 1);
    work_beside(&mut world, 50, |nth| vec![1, nth as u8, (nth >> 8) as u8, 7, 7, 7]);
    let counters = world.nodes[0].sync.counters();
    let liar = world.id(2);
    let status = world.nodes[0].sync.peers(&world.nodes[0].log).into_iter().find(|peer| peer.peer == liar).unwrap();
    assert!(status.malformed > 900, "{status:?}");
    assert_eq!(status.malformed, counters.malformed);
    assert!(world.refused.iter().all(|refused| matches!(refused, Refused::Malformed { .. })));
}

#[test]
fn a_flood_is_not_read_beyond_the_quota() {
    let quota = Quota { frames: 100, bytes: 1 << 20, checks: 50, served_bytes: 1 << 20 };
    let mut world = World::with(3, 2, Config { quota, ..Config::default() });
    let promise = |nth| Frame::Frontier(Frontier { complete: None, heads: vec![Author::new(9).head(START_MS + nth)] });
    work_beside(&mut world, 200, |nth| promise(nth).encode());
    let counters = world.nodes[0].sync.counters();
    assert!(counters.flooded > 3_000, "{counters:?}");
    assert!(counters.accepted_runs < 500, "{counters:?}");
    assert!(world.refused.iter().any(|refused| matches!(refused, Refused::Flood { .. })));
}

#[test]
fn heads_that_nobody_signed_are_not_asked_for() {
    let mut world = World::of(3, 3);
    let forged = |nth: u64| {
        let mut author = Author::new(9);
        author.write(3, START_MS, &nth.to_string());
        SignedHead { signature: Signature([nth as u8; 64]), ..author.head(START_MS + 3) }
    };
    let wants = world.nodes[0].sync.counters().wants;
    work_beside(&mut world, 5, |nth| Frame::Frontier(Frontier { complete: None, heads: vec![forged(nth)] }).encode());
    assert_eq!(world.nodes[0].sync.counters().malformed, 100);
    assert!(world.nodes[0].sync.counters().wants - wants <= 20, "only for what the others wrote");
}

#[test]
fn a_peer_that_promises_what_it_does_not_give_is_passed_over() {
    let mut world = World::of(3, 4);
    world.cut_off(0);
    world.write(1, 500);
    world.run(3_000);
    // Node 2 is silent from now on: it offers what it has and gives nothing.
    world.cut.clear();
    world.cut.insert((1, 2));
    let head = world.nodes[2].log.tips(world.feed(1))[0].head;
    let silent = world.id(2);
    let frame = Frame::Frontier(Frontier { complete: None, heads: vec![head] }).encode();
    world.with_node(0, |sync, around| sync.handle_frame(silent, &frame, around)).unwrap();
    while world.nodes[0].sync.poll_transmit().is_some() {}
    world.cut.insert((0, 2));
    world.run(8_000);
    assert_eq!(world.seq(0, 1), 500);
    assert_eq!(world.nodes[0].sync.counters().timeouts, 1);
}

#[test]
fn a_bent_run_is_refused_and_somebody_else_is_asked() {
    let mut world = World::of(3, 5);
    world.run(100);
    let mut author = Author::new(9);
    let run = author.run(3, START_MS, "x");
    let bent = Run::new(run.after, vec![vec![1, 2, 3]; 3], run.head);
    world.nodes[1].log.append(run.clone()).unwrap();
    for from in [2, 1] {
        let (id, frame) =
            (world.id(from), Frame::Frontier(Frontier { complete: None, heads: vec![run.head] }).encode());
        world.with_node(0, |sync, around| sync.handle_frame(id, &frame, around)).unwrap();
    }
    let id = world.id(2);
    let frame = Frame::Run(bent).encode();
    world.with_node(0, |sync, around| sync.handle_frame(id, &frame, around)).unwrap();
    world.run(100);
    assert_eq!(world.nodes[0].sync.counters().refused, 1);
    assert_eq!(world.nodes[0].log.chain(author.feed()), author.chain);
}

#[test]
fn ops_of_strangers_are_refused_until_they_are_enrolled() {
    let mut world = World::of(3, 6);
    let enrolled: Vec<_> = (0..3).map(|index| world.id(index)).collect();
    for node in &mut world.nodes {
        node.door.only.extend(&enrolled);
    }
    let mut stranger = Author::new(9);
    world.nodes[0].log.append(stranger.run(3, START_MS, "x")).unwrap();
    world.write(0, 2);
    world.run(20_000);
    for at in 1..3 {
        assert_eq!(world.seq(at, 0), 2, "what it came with goes on");
        assert_eq!(world.nodes[at].log.epochs(stranger.feed().origin), 0);
        assert!(world.nodes[at].sync.counters().unknown_origins > 0);
    }
    let nobody = stranger.feed().origin;
    let told = world.with_node(0, |sync, around| sync.handle_frame(nobody, &[1], around));
    assert_eq!(told, Err(Refused::Stranger { from: nobody }));
    world.nodes.iter_mut().for_each(|node| node.door.only.extend([nobody]));
    world.run(20_000);
    world.assert_agreed(0..3);
    assert_eq!(world.nodes[2].log.chain(stranger.feed()), stranger.chain, "offered again, and taken");
}

#[test]
fn whoever_asks_for_too_much_is_served_so_much_and_no_more() {
    let quota = Quota { served_bytes: 100_000, ..Config::default().quota };
    let mut world = World::with(3, 7, Config { quota, ..Config::default() });
    world.write(0, 1_000);
    world.run(5_000);
    let target = world.feed(0).head(world.nodes[0].author.place());
    let served = world.nodes[0].sync.counters().served_runs;
    let want = Frame::Want(Want { target, locator: Vec::new(), until_ms: u64::MAX }).encode();
    for _ in 0..500 {
        world.send(2, 0, want.clone());
    }
    world.run(10);
    let more = world.nodes[0].sync.counters().served_runs - served;
    assert!((1..=2).contains(&more), "{more} runs of 100,000 bytes");
}

#[test]
fn a_locator_of_lies_is_answered_from_the_start() {
    let mut world = World::of(2, 8);
    world.write(0, 10);
    world.run(3_000);
    let target = world.feed(0).head(world.nodes[0].author.place());
    let lies = (0..LOCATOR_MAX as u64).map(|nth| Place { seq: u64::MAX - nth, hash: Hash::default() }).collect();
    let (id, frame) = (world.id(1), Frame::Want(Want { target, locator: lies, until_ms: 0 }).encode());
    world.with_node(0, |sync, around| sync.handle_frame(id, &frame, around)).unwrap();
    let answer = world.nodes[0].sync.poll_transmit().unwrap();
    let Ok(Frame::Run(run)) = Frame::decode(&answer.bytes) else { panic!("{answer:?}") };
    assert_eq!((run.after.seq, run.len()), (0, 10));
}

#[test]
fn only_so_many_feeds_are_remembered_and_the_rest_comes_later() {
    let config = Config { wanted_feeds_max: 8, ..Config::default() };
    let mut world = World::with(2, 9, config);
    world.run(10);
    let mut authors: Vec<Author> = (50..90).map(Author::new).collect();
    let heads = authors.iter_mut().map(|author| {
        let run = author.run(2, START_MS, "x");
        world.nodes[1].log.append(run.clone()).unwrap();
        run.head
    });
    let (heads, from) = (heads.collect(), world.id(1));
    let frame = Frame::Frontier(Frontier { complete: None, heads }).encode();
    world.with_node(0, |sync, around| sync.handle_frame(from, &frame, around)).unwrap();
    assert_eq!(world.nodes[0].sync.counters().dropped, 40 - 8);
    world.run(60_000);
    world.assert_agreed(0..2);
}
